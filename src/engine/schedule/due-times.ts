/**
 * Which due times of a schedule are to be fired now, and what becomes of those that were missed.
 *
 * A time is missed when a later one is due already, or when it is a minute late: nobody was
 * there. Without the minute, a job whose process was held up for a moment would be lost to
 * `'skip'`.
 */
import type { StoredSchedule } from './stored-schedule.ts'
import type { Timetable } from './timetable.ts'

/** How late a time may be and still count as on time. */
export const ON_TIME_MS = 60_000
/** Of one look: a million that were missed must not hold up everything else. */
export const MOST_TIMES = 100

export interface DueTimes {
  /** Each gets a job, oldest first. */
  readonly times: readonly number[]
  /** To be recorded when their jobs are in: it and all before it count as fired. */
  readonly record: number
}

/** Times up to this one are over, fired or not. */
export function baseOf({ since }: StoredSchedule, firedTick: number | null): number {
  return Math.max(since, firedTick ?? 0)
}

/** Null: nothing is due. */
export function dueTimes(
  { missed }: StoredSchedule,
  timetable: Timetable,
  base: number,
  now: number,
): DueTimes | null {
  const newest = timetable.upTo(now)
  if (newest === null || newest <= base) return null
  switch (missed) {
    case 'all':
      return all(timetable, base, newest)
    case 'once':
      return { times: [newest], record: newest }
    case 'skip':
      return { times: now - newest > ON_TIME_MS ? [] : [newest], record: newest }
  }
}

function all(timetable: Timetable, base: number, newest: number): DueTimes {
  const times: number[] = []
  let last = base
  while (last < newest && times.length < MOST_TIMES) {
    last = timetable.after(last) ?? newest
    times.push(last)
  }
  return { times, record: last }
}
