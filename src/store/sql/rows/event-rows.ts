/**
 * Events and baselines as they are stored, and what is wrong with an event by itself: its checksum must
 * be right, and its columns must say what its record says.
 *
 * A fold begins at a baseline if the events before it do not lead to the state, or must not count. A
 * baseline holds up to and including the position `through`; of several the last one counts.
 * - `job`, `queue`, `schedule`: rows as they were in the store that this one was copied from. Events
 *   before are history: they can be read, and nothing follows from them.
 * - `kept`: rows of a job whose events are damaged, and were given up. The job was kept.
 * - `gone`: the job was given up.
 * - `schedule` also stands for the schedule's events that were removed because they are old.
 */
import type { Entry } from '../../../kernel/index.ts'
import type { Row, Value } from '../connection.ts'
import type { Records } from './records.ts'
import { CorruptRecord } from './records.ts'

/**
 * How far events were removed because they are old: up to `through`, those of jobs that were forgotten by then
 * and those of schedules may be gone, and no others.
 */
export interface HistoryMark {
  readonly through: number
  /** Events up to there are older than this time; some may be a little younger. */
  readonly olderThan: number
  /** Up to here the round that removes them has come; it is over when that is `through`. */
  readonly passed: number
}

export function historyMark(row: Row | undefined): HistoryMark {
  const [through = 0, olderThan = 0, passed = 0] = (row ?? []) as readonly number[]
  return { through, olderThan, passed }
}

export interface EventRow {
  readonly position: number
  readonly job: string | null
  /** Position of the entry before it of the same row. */
  readonly before: number | null
  readonly type: string
  readonly at: number
  readonly record: Uint8Array
}

export function eventRow(row: Row): EventRow {
  const [position, job, before, type, at, record] = row
  return {
    position: position as number,
    job: job as string | null,
    before: before as number | null,
    type: type as string,
    at: at as number,
    record: record as Uint8Array,
  }
}

export type BaselineKind = 'job' | 'kept' | 'gone' | 'queue' | 'schedule'

export interface Baseline {
  readonly kind: BaselineKind
  readonly name: string
  readonly stage: number
  readonly segment: number
  readonly through: number
  readonly lastPosition: number
  readonly record: Uint8Array
}

export function baseline(row: Row): Baseline {
  const [kind, name, stage, segment, through, lastPosition, record] = row
  return {
    kind: kind as BaselineKind,
    name: name as string,
    stage: stage as number,
    segment: segment as number,
    through: through as number,
    lastPosition: lastPosition as number,
    record: record as Uint8Array,
  }
}

export function baselineColumns(one: Baseline): Row {
  const { kind, name, stage, segment, through, lastPosition, record } = one
  return [kind, name, stage, segment, through, lastPosition, record]
}

/** Those that count: the ones that go furthest. */
export function newestOf(baselines: readonly Baseline[]): readonly Baseline[] {
  const through = Math.max(...baselines.map((one) => one.through))
  return baselines.filter((one) => one.through === through)
}

/** Something that is wrong with an event, or with what all of them lead to. */
export interface EventProblem {
  readonly what: string
  readonly position: number | null
}

export interface ReadEvent {
  /** Null: it cannot be read. */
  readonly entry: Entry | null
  readonly wrong: readonly string[]
}

/** Throws for an entry of a newer version: that is no damage. */
export function readEvent(row: EventRow, records: Records): ReadEvent {
  let entry: Entry
  try {
    entry = records.entry(row.record, row.position)
  } catch (error) {
    if (!(error instanceof CorruptRecord)) throw error
    return { entry: null, wrong: [`${row.type}: ${error.why}`] }
  }
  const said = { job: 'job' in entry ? entry.job : null, type: entry.type, at: entry.at }
  const wrong = (['job', 'type', 'at'] as const).flatMap((column) =>
    row[column] === said[column]
      ? []
      : [`${column} is ${shown(row[column])}, and its record says ${shown(said[column])}`],
  )
  return { entry, wrong }
}

/** A value in words. */
export function shown(value: Value | undefined): string {
  if (typeof value === 'string') return `'${value}'`
  if (value === null || value === undefined) return 'missing'
  return value instanceof Uint8Array ? `${value.length} bytes` : String(value)
}
