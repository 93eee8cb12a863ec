/**
 * Which due times of a schedule are to be fired now, and what becomes of those that were missed.
 *
 * A time is missed when a later one is due already, or when it is a minute late: no engine was open.
 * Without the minute, `'skip'` would lose a job whose process was held up for a moment.
 */
import type { Schedule } from '../../kernel/index.ts'
import { Heap } from '../../store/ready/indexed-queue.ts'
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
  readonly id: string
  definition: string
  /** Null: it cannot be read. */
  read: ReadSchedule | null
  /** What `nextAt` was computed for. */
  base: number
  /** Infinity: never. */
  nextAt: number
  /** Where it stands in the heap. */
  slot: number
}

class HeapByTime extends Heap<CachedSchedule> {
  constructor() {
    super((a, b) => a.nextAt < b.nextAt)
  }

  protected override noteSlot(item: CachedSchedule, slot: number): void {
    item.slot = slot
  }
}

/**
 * What was read of schedules: their texts are parsed once, and their next times computed once. It may be
 * old: what is due by it is read again BEFORE it is fired.
 */
export class ScheduleCache {
  readonly #onError: (error: Error) => void
  readonly #cached = new Map<string, CachedSchedule>()
  readonly #byTime = new HeapByTime()

  constructor(onError: (error: Error) => void) {
    this.#onError = onError
  }

  /** When something is due next; Infinity: never. */
  get nextAt(): number {
    return this.#byTime.items[0]?.nextAt ?? Infinity
  }

  /** Throws `UnreadableSchedule`. Null: it was removed. */
  read(schedule: Schedule): ReadSchedule | null {
    const known = this.#cached.get(schedule.id)
    if (known !== undefined && known.definition === schedule.definition && known.read !== null)
      return known.read
    const stored = readSchedule(schedule)
    if (stored === null) return null
    return { stored, timetable: readTimetable(schedule.id, stored) }
  }

  /** The ids of those that were due, as they were read last, in order. */
  idsDue(now: number): string[] {
    const { items } = this.#byTime
    const found: string[] = []
    // What stands below one that is not due is not due, either.
    const open = [0]
    for (let slot = open.pop(); slot !== undefined; slot = open.pop()) {
      const item = items[slot]
      if (item === undefined || item.nextAt > now) continue
      found.push(item.id)
      open.push(2 * slot + 1, 2 * slot + 2)
    }
    return found.toSorted()
  }

  /** What is due of a schedule, as it is now; null: nothing. */
  due(schedule: Schedule, now: number): Due | null {
    const known = this.update(schedule)
    if (known === null || known.read === null || known.nextAt > now) return null
    const { stored, timetable } = known.read
    const due = dueTimes(stored, timetable, known.base, now)
    return due === null ? null : { id: schedule.id, stored, ...due }
  }

  /** A schedule as it is now. `onError` is told once of one that cannot be read. */
  update(schedule: Schedule): CachedSchedule | null {
    const { id, definition } = schedule
    if (definition === null) {
      this.remove(id)
      return null
    }
    const known = this.#cached.get(id) ?? this.#add(id)
    if (known.definition !== definition) {
      known.read = this.#readOrTell(schedule)
      known.definition = definition
      known.base = NOT_COMPUTED
    }
    this.#updateTime(known, schedule)
    return known
  }

  remove(id: string): void {
    const known = this.#cached.get(id)
    if (known === undefined) return
    this.#cached.delete(id)
    this.#byTime.removeAt(known.slot)
  }

  /** Drops those that are not among these. */
  keepOnly(ids: ReadonlySet<string>): void {
    for (const id of this.#cached.keys()) if (!ids.has(id)) this.remove(id)
  }

  #add(id: string): CachedSchedule {
    const slot = 0
    const added = { id, definition: '', read: null, base: NOT_COMPUTED, nextAt: Infinity, slot }
    this.#cached.set(id, added)
    this.#byTime.push(added)
    return added
  }

  #updateTime(known: CachedSchedule, { firedTick }: Schedule): void {
    if (known.read === null || known.read.stored.paused !== null) known.nextAt = Infinity
    else {
      const base = baseOf(known.read.stored, firedTick)
      if (known.base === base) return
      known.base = base
      known.nextAt = known.read.timetable.after(base) ?? Infinity
    }
    this.#byTime.movedAt(known.slot)
  }

  #readOrTell(schedule: Schedule): ReadSchedule | null {
    try {
      return this.read(schedule)
    } catch (error) {
      this.#onError(error as Error)
      return null
    }
  }
}

const NOT_COMPUTED = -1

/** It was set on a system that knows more time zones, or by a version that reads more cron. */
function readTimetable(id: string, { timing }: StoredSchedule): Timetable {
  try {
    return timetableOf(timing, 'it')
  } catch (error) {
    throw new UnreadableSchedule(id, (error as Error).message.replace(/\.$/, ''), error)
  }
}
