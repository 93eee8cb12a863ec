/**
 * A schedule as it stands in the log: one JSON text, which the kernel does not look into.
 *
 * It holds everything that firing needs, the job included, so that any process can fire any
 * schedule without knowing its definition. The same terms give the same text again: setting a
 * schedule at every start of a program writes nothing.
 */
import type { JobSpec, Schedule } from '../../kernel/index.ts'
import { UnreadableSchedule } from '../errors.ts'
import type { ScheduleTiming } from './timetable.ts'

/** What becomes of due times that passed while no engine was open. */
export type Missed = 'skip' | 'once' | 'all'

export interface StoredScheduleChange {
  readonly at: number
  readonly by: string
  readonly reason: string
}

export interface StoredSchedule {
  readonly timing: ScheduleTiming
  readonly missed: Missed
  /** Only times after this one count: when it was set, its timing changed, or it was resumed. */
  readonly since: number
  readonly paused: StoredScheduleChange | null
  /** The newest one. */
  readonly resumed: StoredScheduleChange | null
  /** The job of each due time, but for `schedule`. */
  readonly spec: JobSpec
}

const FORMAT = 1

export function scheduleText({
  timing,
  missed,
  since,
  paused,
  resumed,
  spec,
}: StoredSchedule): string {
  return JSON.stringify({ format: FORMAT, timing, missed, since, paused, resumed, spec })
}

/** Null: it was removed. Throws `UnreadableSchedule` for what this version did not write. */
export function readSchedule({ id, definition }: Schedule): StoredSchedule | null {
  if (definition === null) return null
  const { format, ...stored } = parse(id, definition)
  if (format === FORMAT) return stored
  throw new UnreadableSchedule(
    id,
    `it is of format ${String(format)}, and this version knows ${FORMAT}`,
  )
}

function parse(id: string, definition: string): StoredSchedule & { readonly format: unknown } {
  let read: unknown
  try {
    read = JSON.parse(definition)
  } catch (error) {
    throw new UnreadableSchedule(id, 'it is not JSON', error)
  }
  if (typeof read !== 'object' || read === null) {
    throw new UnreadableSchedule(id, 'it is no object')
  }
  return read as StoredSchedule & { format: unknown }
}
