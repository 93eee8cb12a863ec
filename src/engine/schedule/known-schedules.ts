/**
 * What was read of schedules: their texts are parsed once, and their next times computed once.
 *
 * Only for speed. It is compared with what the store says at every look, and can be thrown away.
 */
import type { Schedule } from '../../kernel/index.ts'
import { UnreadableSchedule } from '../errors.ts'
import type { Due } from './firing.ts'
import { baseOf, dueTimes } from './due-times.ts'
import type { StoredSchedule } from './stored-schedule.ts'
import { readSchedule } from './stored-schedule.ts'
import type { Timetable } from './timetable.ts'
import { timetableOf } from './timetable.ts'

export interface ReadSchedule {
  readonly stored: StoredSchedule
  readonly timetable: Timetable
}

interface KnownSchedule {
  readonly definition: string | null
  /** Null: it cannot be read. */
  readonly read: ReadSchedule | null
  /** What `nextAt` was computed for. */
  base: number
  nextAt: number
}

export class KnownSchedules {
  readonly #onError: (error: Error) => void
  #known = new Map<string, KnownSchedule>()

  constructor(onError: (error: Error) => void) {
    this.#onError = onError
  }

  /** When something is due next; Infinity: never. */
  get nextAt(): number {
    let next = Infinity
    for (const { nextAt } of this.#known.values()) next = Math.min(next, nextAt)
    return next
  }

  /** Throws `UnreadableSchedule`. Null: it was removed. */
  read(schedule: Schedule): ReadSchedule | null {
    const known = this.#known.get(schedule.id)
    if (known?.definition === schedule.definition && known.read !== null) return known.read
    const stored = readSchedule(schedule)
    if (stored === null) return null
    return { stored, timetable: readTimetable(schedule.id, stored) }
  }

  /** What is due of it now; null: nothing. */
  due(schedule: Schedule, now: number): Due | null {
    const known = this.#knownOf(schedule)
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

  /** Those that are not among these are gone. */
  keep(ids: ReadonlySet<string>): void {
    for (const id of this.#known.keys()) if (!ids.has(id)) this.#known.delete(id)
  }

  /** What cannot be read is told of once, and not fired. */
  #knownOf(schedule: Schedule): KnownSchedule {
    const { id, definition } = schedule
    const before = this.#known.get(id)
    if (before !== undefined && before.definition === definition) return before
    let read: ReadSchedule | null = null
    try {
      read = this.read(schedule)
    } catch (error) {
      this.#onError(error as Error)
    }
    const known = { definition, read, base: -1, nextAt: Infinity }
    this.#known.set(id, known)
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
