/**
 * The memory of the naive model: for every job and task, queue and schedule, the plain list of
 * the commands that were accepted, with their time. Nothing else is kept.
 *
 * There are no versions, no entries and no state: `readTask` (in `naive-task.ts`) and
 * `naive-derive.ts` work everything out from these lists, from the start, when asked.
 */
import type { Command, CommandOf, CommandType, JobSpec } from '../../../src/kernel/index.ts'

export interface Fact {
  readonly at: number
  readonly command: Command
  /** How the callee had ended by then whose end it told; null: it told of none. */
  readonly answer?: string | null
}

export interface TaskHistory {
  readonly stage: number
  readonly segment: number
  readonly openedAt: number
  /** The stage's `each` gave no list: the task was FAILED when it was opened. */
  readonly bornFailed: boolean
  /** What was sent to it before its stage was opened. */
  readonly sentBefore: readonly Fact[]
  readonly facts: Fact[]
}

export interface JobHistory {
  readonly id: string
  readonly spec: JobSpec
  readonly submittedAt: number
  readonly facts: Fact[]
  readonly tasks: TaskHistory[]
  /** Not among the facts: it changes what was, and nothing that will be. */
  readonly erased: Fact | null
  /** Counts how often any of these lists changed: what was read before may be out of date. */
  changes: number
}

const DATA = new Set(['input', 'output', 'value', 'metadata', 'schema', 'ask', 'answer'])
const WORDS = new Set(['reason', 'message', 'stack'])

/** What was said, without what it was said about. */
function blank<T>(said: T, isError = false): T {
  if (Array.isArray(said)) return said.map((one) => blank(one as unknown)) as T
  if (typeof said !== 'object' || said === null) return said
  const fields = Object.entries(said).map(([field, value]) => {
    if (typeof value !== 'string') return [field, blank(value as unknown, field === 'error')]
    if (DATA.has(field)) return [field, 'null']
    return [field, WORDS.has(field) && (field === 'reason' || isError) ? '' : value]
  })
  return Object.fromEntries(fields) as T
}

/** As if it had been submitted, and everything had been said, without data; what was recorded is lost. */
export function erasedHistory(job: JobHistory, erased: Fact): JobHistory {
  return {
    ...job,
    spec: { ...blank(job.spec), steps: [] },
    erased,
    facts: blank(job.facts),
    tasks: job.tasks.map((task) => blank(task)),
    changes: job.changes + 1,
  }
}

export class Histories {
  readonly jobs = new Map<string, JobHistory>()
  readonly queues = new Map<string, Fact[]>()
  readonly schedules = new Map<string, Fact[]>()
}

export function isPlain(job: JobHistory): boolean {
  return job.spec.stages === null
}

export function findTask(job: JobHistory, stage: number, segment: number): TaskHistory | undefined {
  return job.tasks.find((task) => task.stage === stage && task.segment === segment)
}

/** The newest submit of it: the first one, or one that replaced it. */
function submitted(job: JobHistory): { at: number; delayMs: number; dueAt: number | null } {
  const replaced = last(job.facts, 'ReplaceJob')
  return replaced === undefined
    ? { at: job.submittedAt, delayMs: job.spec.delayMs, dueAt: job.spec.dueAt }
    : { at: replaced.at, delayMs: replaced.command.delayMs, dueAt: replaced.command.dueAt }
}

/** What it is to be done with. */
export function jobInput(job: JobHistory): string {
  return last(job.facts, 'ReplaceJob')?.command.input ?? job.spec.input
}

/** Not before this time. */
export function jobDueAt(job: JobHistory): number {
  const { at, delayMs, dueAt } = submitted(job)
  return Math.max(at + delayMs, dueAt ?? 0)
}

/** Nothing begins from this time on. */
export function jobDeadline(job: JobHistory): number {
  const { deadlineAt, deadlineMs } = job.spec
  return Math.min(
    deadlineAt ?? Infinity,
    deadlineMs === null ? Infinity : submitted(job).at + deadlineMs,
  )
}

/** All accepted commands of one type. */
export function facts<T extends CommandType>(
  history: readonly Fact[],
  type: T,
): { readonly at: number; readonly command: CommandOf<T> }[] {
  return history.filter((fact) => fact.command.type === type) as {
    at: number
    command: CommandOf<T>
  }[]
}

export function last<T extends CommandType>(
  history: readonly Fact[],
  ...types: readonly T[]
): { readonly at: number; readonly command: CommandOf<T> } | undefined {
  return history.findLast((fact) => (types as readonly string[]).includes(fact.command.type)) as
    | { at: number; command: CommandOf<T> }
    | undefined
}

export interface QueueReading {
  readonly paused: boolean
  readonly concurrency: number | null
  readonly rate: CommandOf<'ConfigureQueue'>['rate']
  readonly ageingMs: number | null
}

export function readQueue(histories: Histories, name: string): QueueReading {
  const history = histories.queues.get(name) ?? []
  const configured = last(history, 'ConfigureQueue')?.command
  return {
    paused: last(history, 'PauseQueue', 'ResumeQueue')?.command.type === 'PauseQueue',
    concurrency: configured?.concurrency ?? null,
    rate: configured?.rate ?? null,
    ageingMs: configured?.ageingMs ?? null,
  }
}

export interface ScheduleReading {
  readonly known: boolean
  readonly changes: number
  readonly definition: string | null
  readonly firedTick: number
}

export function readSchedule(histories: Histories, id: string): ScheduleReading {
  const history = histories.schedules.get(id) ?? []
  const said = last(history, 'SetSchedule', 'RemoveSchedule')?.command
  return {
    known: history.length > 0,
    changes: history.length,
    definition: said?.type === 'SetSchedule' ? said.definition : null,
    firedTick: Math.max(-1, ...facts(history, 'FireSchedule').map((fact) => fact.command.tick)),
  }
}
