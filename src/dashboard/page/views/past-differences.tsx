/**
 * What is different between two moments: jobs by state, by type and by queue, and what was written between them.
 */
import type { JobState } from '../../../kernel/index.ts'
import type { AnswerOf, PastCountsOf } from '../api.ts'
import { call } from '../api.ts'
import { countText } from '../duration-text.ts'
import { ONCE, useLive } from '../live.ts'
import { Cell, Problem, State, Table, Text, Time, Waiting } from '../parts.tsx'
import type { RouteParameters } from '../route.ts'
import { linkTo } from '../route.ts'
import { STATES } from './filter-text.ts'
import type { EntryThen } from './past-entries.tsx'
import type { PastMoment } from './past-moment.ts'
import { nowMoment } from './past-moment.ts'

export type PastCounts = AnswerOf<'past.counts'>

/** Of more, what was written between two moments is not read. */
const MOST_BETWEEN = 5_000
/** The server gives no more at once. */
const PAGE = 1_000
const MOST_JOBS = 12

interface DifferencesProps {
  readonly counts: PastCounts
  /** Null: now. */
  readonly other: PastMoment | null
  readonly parameters: RouteParameters
}

export function Differences({ counts, other, parameters }: DifferencesProps) {
  const ask = (ended: AbortSignal) => call('past.counts', other ?? nowMoment(), ended)
  const { data, problem } = useLive(JSON.stringify(['other', other]), ask, ONCE)
  // In the order of the log, whichever the reader chose first.
  const [first, second] =
    data === null || data.position >= counts.position ? [counts, data] : [data, counts]
  const [early, late] = other === null ? ['Then', 'Now'] : ['Earlier', 'Later']
  return (
    <section aria-labelledby="changed">
      <h2 id="changed">{other === null ? 'Then and now' : 'Between the two moments'}</h2>
      {other !== null && data !== null && (
        <p>
          Compared with entry {countText(data.position)}, <Time at={data.time} />.{' '}
          <a href={linkTo('past', { ...parameters, with: null })}>Compare with now</a>
        </p>
      )}
      <Problem problem={problem} />
      {second === null ? (
        problem === null && <Waiting />
      ) : (
        <>
          <StateTable first={first} second={second} names={[early, late]} parameters={parameters} />
          <Moved title="By type" first={first.types} second={second.types} />
          <Moved title="By queue" first={first.queues} second={second.queues} />
          <Between from={first.position} through={second.position} />
        </>
      )}
    </section>
  )
}

interface StateTableProps {
  readonly first: PastCounts
  readonly second: PastCounts
  readonly names: readonly (string | undefined)[]
  readonly parameters: RouteParameters
}

function StateTable({ first, second, names, parameters }: StateTableProps) {
  const [early = '', late = ''] = names
  return (
    <Table label="Jobs by state" columns={['State', early, late, 'Difference']}>
      {STATES.map((state) => {
        const [before, after] = [first.states[state], second.states[state]]
        return (
          <tr key={state}>
            <Cell of="State">
              <a href={linkTo('past', { ...parameters, state })}>
                <State state={state} />
              </a>
            </Cell>
            <Cell of={early} number>
              {countText(before)}
            </Cell>
            <Cell of={late} number>
              {countText(after)}
            </Cell>
            <Cell of="Difference" number>
              <span class={before === after ? 'none' : 'moved'}>{signed(after - before)}</span>
            </Cell>
          </tr>
        )
      })}
    </Table>
  )
}

function signed(difference: number): string {
  if (difference === 0) return '0'
  return difference > 0 ? `+${countText(difference)}` : `−${countText(-difference)}`
}

interface MovedProps {
  readonly title: string
  readonly first: readonly PastCountsOf[]
  readonly second: readonly PastCountsOf[]
}

/** Only what is different. */
function Moved({ title, first, second }: MovedProps) {
  const names = [...new Set([...first, ...second].map(({ name }) => name))]
  const rows = names.flatMap((name) => {
    const moves = movesOf(statesOf(first, name), statesOf(second, name))
    return moves.length === 0 ? [] : [{ name, moves }]
  })
  if (rows.length === 0) return null
  return (
    <div class="moves">
      <h3>{title}</h3>
      <ul>
        {rows.map(({ name, moves }) => (
          <li key={name}>
            <Text text={name} most={60} />{' '}
            {moves.map(({ state, by }) => (
              <span key={state} class="move">
                <State state={state} /> {signed(by)}
              </span>
            ))}
          </li>
        ))}
      </ul>
    </div>
  )
}

function statesOf(all: readonly PastCountsOf[], name: string): PastCountsOf['states'] | undefined {
  return all.find((one) => one.name === name)?.states
}

function movesOf(
  before: PastCountsOf['states'] | undefined,
  after: PastCountsOf['states'] | undefined,
): { state: JobState; by: number }[] {
  return STATES.flatMap((state) => {
    const by = (after?.[state] ?? 0) - (before?.[state] ?? 0)
    return by === 0 ? [] : [{ state, by }]
  })
}

/** How many there are, only the server knows: positions are not one behind the other. One more than are shown is enough. */
async function entriesBetween(
  from: number,
  through: number,
  ended: AbortSignal,
): Promise<readonly EntryThen[]> {
  const found: EntryThen[] = []
  for (let after = from; after < through && found.length <= MOST_BETWEEN;) {
    const { entries, next } = await call('past.entries', { after, through, limit: PAGE }, ended)
    found.push(...entries)
    after = next ?? through
  }
  return found
}

/** Entries that were written between them, by what they say, and the jobs that most of them are about. */
function Between({ from, through }: { readonly from: number; readonly through: number }) {
  const ask = (ended: AbortSignal) => entriesBetween(from, through, ended)
  const { data, problem } = useLive(JSON.stringify(['between', from, through]), ask, ONCE)
  if (through === from) return null
  if (data === null) return problem === null ? <Waiting /> : <Problem problem={problem} />
  if (data.length > MOST_BETWEEN) {
    return (
      <p class="aside">
        More than {countText(MOST_BETWEEN)} entries were written between them: too many to read
        here.
      </p>
    )
  }
  const types = ranked(data.map(({ type }) => type))
  const jobs = ranked(data.flatMap(({ job }) => job ?? []))
  return (
    <div class="moves">
      <h3>Written between them: {countText(data.length)} entries</h3>
      <p class="types">
        {types.map(([type, count]) => (
          <span key={type} class="move">
            {type} <b>{countText(count)}</b>
          </span>
        ))}
      </p>
      {jobs.length > 0 && (
        <p class="types">
          About {countText(jobs.length)} {jobs.length === 1 ? 'job' : 'jobs'}:{' '}
          {jobs.slice(0, MOST_JOBS).map(([job, count]) => (
            <span key={job} class="move">
              <a
                class="id"
                href={linkTo('past', { job, position: String(through), with: `p${from}` })}
              >
                <Text text={job} most={24} />
              </a>{' '}
              <b>{countText(count)}</b>
            </span>
          ))}
          {jobs.length > MOST_JOBS && ' and others'}
        </p>
      )}
    </div>
  )
}

/** The most frequent first. */
function ranked(names: readonly string[]): [name: string, count: number][] {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  return [...counts].toSorted(([, a], [, b]) => b - a)
}
