/**
 * Draws the tables and diagrams of `docs/model.md` from the kernel's own tables.
 *
 * Nothing here knows a transition, a guard or a limit of its own. `write.ts` puts the result
 * into the page, and `model.test.ts` fails when the page says something else.
 */
import type { JobTable, Table } from '../../../src/kernel/index.ts'
import {
  EFFECT_TRANSITIONS,
  EXECUTION_TRANSITIONS,
  INVARIANTS,
  LIMITS,
  listGuards,
  PIPELINE_JOB_TRANSITIONS,
  PLAIN_JOB_TRANSITIONS,
  REJECTION_CODES,
  TASK_TRANSITIONS,
} from '../../../src/kernel/index.ts'
import { mono, table } from './blocks.ts'
import { GLOSSARY } from './glossary.ts'
import {
  COMMANDS,
  EFFECT_STATES,
  ENTRIES,
  EXECUTION_STATES,
  JOB_STATES,
  LIMIT_MEANINGS,
  REJECTIONS,
  STAGE_STATES,
  TASK_STATES,
} from './meanings.ts'
import { departureTable, sourceTables } from './source-tables.ts'
import { sourceWords } from './source-words.ts'

interface Move {
  readonly from: string
  readonly to: string
  readonly by: readonly string[]
}

function movesOf<S extends string>(transitions: Table<S>): Move[] {
  return Object.entries(transitions).flatMap(([from, targets]) =>
    Object.entries(targets as Readonly<Record<string, readonly string[]>>).map(([to, by]) => ({
      from,
      to,
      by,
    })),
  )
}

function jobMovesOf(transitions: JobTable): Move[] {
  return Object.entries(transitions).flatMap(([from, targets]) =>
    targets.map((to) => ({ from, to, by: [] })),
  )
}

/** `begins` says how records come to be: creating is not a transition, so no table has it. */
function diagram(moves: readonly Move[], begins: readonly Move[]): string {
  const all = new Set([...moves, ...begins].flatMap(({ from, to }) => [from, to]))
  const final = [...all].filter(
    (state) => state !== '[*]' && !moves.some(({ from }) => from === state),
  )
  const arrow = ({ from, to, by }: Move): string =>
    `    ${from} --> ${to}${by.length === 0 ? '' : `: ${by.join('<br/>')}`}`
  return [
    '```mermaid',
    'stateDiagram-v2',
    ...begins.map(arrow),
    ...moves.map(arrow),
    ...final.map((state) => `    ${state} --> [*]`),
    '```',
  ].join('\n')
}

function begin(to: string, ...by: string[]): Move {
  return { from: '[*]', to, by }
}

function stateTable(meanings: Readonly<Record<string, string>>): string {
  return table(
    ['State', 'Meaning'],
    Object.entries(meanings).map(([state, meaning]) => [mono(state), meaning]),
  )
}

function moveTable(moves: readonly Move[]): string {
  return table(
    ['From', 'To', 'By'],
    moves.map(({ from, to, by }) => [mono(from), mono(to), by.map(mono).join(', ')]),
  )
}

function jobMoveTable(transitions: JobTable): string {
  return table(
    ['From', 'To'],
    Object.entries(transitions).map(([from, to]) => [
      mono(from),
      to.length === 0 ? 'nothing: final' : to.map(mono).join(', '),
    ]),
  )
}

function commandTable(): string {
  return table(
    ['Command', 'Entry', 'Sent by', 'Already carried out when'],
    Object.entries(COMMANDS).map(([command, { entry, sender, nouns }]) => [
      mono(command),
      mono(entry),
      sender,
      nouns,
    ]),
  )
}

/** The guards in the order in which they are checked. */
function guardTable(): string {
  return table(
    ['Command', 'Guard', 'Kind', 'Holds when'],
    listGuards().map(({ id, kind, holds }) => {
      const [command, name] = id.includes('.') ? id.split('.') : ['every command', id]
      return [
        name === id ? (command as string) : mono(command as string),
        mono(name as string),
        kind,
        holds,
      ]
    }),
  )
}

function entryTable(): string {
  return table(
    ['Entry', 'Aggregate', 'What it says'],
    Object.entries(ENTRIES).map(([entry, { aggregate, says }]) => [mono(entry), aggregate, says]),
  )
}

/** The parts of `docs/model.md`, by the name in their marker. */
export function modelParts(): Readonly<Record<string, string>> {
  const task = movesOf(TASK_TRANSITIONS)
  const execution = movesOf(EXECUTION_TRANSITIONS)
  const effect = movesOf(EFFECT_TRANSITIONS)
  const created = [begin('WAITING', 'JobSubmitted', 'StageOpened'), begin('FAILED', 'StageOpened')]
  const submitted = [begin('CREATED'), begin('QUEUED')]
  return {
    'task-states': stateTable(TASK_STATES),
    'task-diagram': diagram(task, created),
    'task-transitions': moveTable(task),
    'execution-states': stateTable(EXECUTION_STATES),
    'execution-diagram': diagram(execution, [
      begin('LEASED', 'LeaseGranted'),
      begin('IN_PROGRESS', 'LeaseGranted, started'),
    ]),
    'execution-transitions': moveTable(execution),
    'effect-states': stateTable(EFFECT_STATES),
    'effect-diagram': diagram(effect, [begin('PROMISED', 'ExecutionCommitted')]),
    'effect-transitions': moveTable(effect),
    'stage-states': stateTable(STAGE_STATES),
    'job-states': stateTable(JOB_STATES),
    'plain-job-diagram': diagram(jobMovesOf(PLAIN_JOB_TRANSITIONS), submitted),
    'plain-job-transitions': jobMoveTable(PLAIN_JOB_TRANSITIONS),
    'pipeline-job-diagram': diagram(jobMovesOf(PIPELINE_JOB_TRANSITIONS), submitted),
    'pipeline-job-transitions': jobMoveTable(PIPELINE_JOB_TRANSITIONS),
    commands: commandTable(),
    guards: guardTable(),
    entries: entryTable(),
    rejections: table(
      ['Code', 'Meaning'],
      REJECTION_CODES.map((code) => [mono(code), REJECTIONS[code]]),
    ),
    invariants: table(
      ['Number', 'Always holds'],
      Object.entries(INVARIANTS).map(([number, says]) => [number, says]),
    ),
    limits: table(
      ['Limit', 'Most', 'Of what'],
      Object.entries(LIMITS).map(([limit, most]) => [
        mono(limit),
        most.toLocaleString('en-US'),
        LIMIT_MEANINGS[limit as keyof typeof LIMITS],
      ]),
    ),
    glossary: table(
      ['Word', 'Meaning', 'In the kernel'],
      GLOSSARY.map(([word, meaning, names]) => [word, meaning, names]),
    ),
    'source-words': table(
      ['Word', 'What its file says', 'File'],
      sourceWords().map(({ word, meaning, file }) => [word, meaning, mono(file)]),
    ),
    departures: departureTable(),
    sources: sourceTables(),
  }
}
