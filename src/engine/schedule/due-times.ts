/**
 * Which due times of a schedule are to be fired now, and what becomes of those that were missed.
 *
 * A time is missed when a later one is due already, or when it is a minute late: no engine was open.
 * Without the minute, `'skip'` would lose a job whose process was held up for a moment.
 */
import type { Schedule } from '../../kernel/index.ts'
import { UnreadableSchedule } from '../errors.ts'
import type { StoredSchedule } from './stored-schedule.ts'
import { readSchedule } from './stored-schedule.ts'
import type { Timetable } from './timetable.ts'
import { timetableOf } from './timetable.ts'

/** How late a time may be and still count as on time. */
export const ON_TIME_MS = 60_000
/** Of one round: a million that were missed must not hold up everything else. */
export const MOST_TIMES = 100

interface DueTimes {
  /** Each gets a job, oldest first. */
  readonly times: readonly number[]
  /** To be recorded when their jobs are in: it and all before it count as fired. */
  readonly record: number
}

export interface Due extends DueTimes {
  readonly id: string
  readonly stored: StoredSchedule
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

export interface ReadSchedule {
  readonly stored: StoredSchedule
  readonly timetable: Timetable
}

interface CachedSchedule {
  readonly definition: string | null
  /** Null: it cannot be read. */
  readonly read: ReadSchedule | null
  /** What `nextAt` was computed for. */
  base: number
  nextAt: number
}

/**
 * What was read of schedules: their texts are parsed once, and their next times computed once. Every
 * round compares it with what the store says.
 */
export class ScheduleCache {
  readonly #onError: (error: Error) => void
  #cached = new Map<string, CachedSchedule>()

  constructor(onError: (error: Error) => void) {
    this.#onError = onError
  }

  /** When something is due next; Infinity: never. */
  get nextAt(): number {
    let next = Infinity
    for (const { nextAt } of this.#cached.values()) next = Math.min(next, nextAt)
    return next
  }

  /** Throws `UnreadableSchedule`. Null: it was removed. */
  read(schedule: Schedule): ReadSchedule | null {
    const known = this.#cached.get(schedule.id)
    if (known?.definition === schedule.definition && known.read !== null) return known.read
    const stored = readSchedule(schedule)
    if (stored === null) return null
    return { stored, timetable: readTimetable(schedule.id, stored) }
  }

  /** What is due of it now; null: nothing. */
  due(schedule: Schedule, now: number): Due | null {
    const known = this.#entryOf(schedule)
    if (known.read === null) return null
    const { stored, timetable } = known.read
    if (stored.paused !== null) return null
    const base = baseOf(stored, schedule.firedTick)
    if (known.base !== base) {
      known.base = base
      known.nextAt = timetable.after(base) ?? Infinity
    }
    if (known.nextAt > now) return null
    const due = dueTimes(stored, timetable, base, now)
    return due === null ? null : { id: schedule.id, stored, ...due }
  }

  /** Drops those that are not among these. */
  keepOnly(ids: ReadonlySet<string>): void {
    for (const id of this.#cached.keys()) if (!ids.has(id)) this.#cached.delete(id)
  }

  /** `onError` is told once of a schedule that cannot be read. */
  #entryOf(schedule: Schedule): CachedSchedule {
    const { id, definition } = schedule
    const before = this.#cached.get(id)
    if (before !== undefined && before.definition === definition) return before
    let read: ReadSchedule | null = null
    try {
      read = this.read(schedule)
    } catch (error) {
      this.#onError(error as Error)
    }
    const known = { definition, read, base: -1, nextAt: Infinity }
    this.#cached.set(id, known)
    return known
  }
}

/** It was set on a system that knows more time zones, or by a version that reads more cron. */
function readTimetable(id: string, { timing }: StoredSchedule): Timetable {
  try {
    return timetableOf(timing, 'it')
  } catch (error) {
    throw new UnreadableSchedule(id, (error as Error).message.replace(/\.$/, ''), error)
  }
}
