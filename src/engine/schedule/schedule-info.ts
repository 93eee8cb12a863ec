/**
 * A schedule as a client sees it.
 */
import type { ExactTexts } from '../../definition/index.ts'
import { exactPart, fromJson } from '../../definition/index.ts'
import type { Schedule } from '../../kernel/index.ts'
import type { UnreadableSchedule } from '../errors.ts'
import type { Missed, StoredSchedule, StoredScheduleChange } from './stored-schedule.ts'
import type { Timetable } from './timetable.ts'

export interface ScheduleInfo {
  readonly id: string
  /** The name of the job's definition. */
  readonly type: string
  readonly input: unknown
  /** Left out, unless JavaScript changed a number in the input: its JSON, as it is recorded. */
  readonly exact?: ExactTexts<'input'>
  readonly cron: string | null
  readonly timezone: string | null
  readonly everyMs: number | null
  readonly start: Date | null
  readonly end: Date | null
  readonly missed: Missed
  /** Null: it is not paused. */
  readonly paused: ScheduleChange | null
  /** When it was resumed last. */
  readonly resumed: ScheduleChange | null
  /** The newest time that was fired or skipped; null: none yet. */
  readonly lastTime: Date | null
  /** Null: it is paused, or it has come to its end. */
  readonly nextTime: Date | null
  /** Null: it is as it should be. */
  readonly unreadable: null
}

type KnownOfAny = 'id' | 'lastTime'

/** One that was not written by this version, or is damaged: of it no more is known than this. */
export type UnreadableScheduleInfo = Pick<ScheduleInfo, KnownOfAny> & {
  readonly [K in Exclude<keyof ScheduleInfo, KnownOfAny | 'unreadable' | 'exact'>]: null
} & {
  /** What is wrong with it. It is not fired. */
  readonly unreadable: UnreadableSchedule
}

export interface ScheduleChange {
  readonly at: Date
  readonly by: string
  readonly reason: string
}

export function scheduleInfo(
  { id, firedTick }: Pick<Schedule, 'id' | 'firedTick'>,
  stored: StoredSchedule,
  timetable: Timetable,
  now: number,
): ScheduleInfo {
  const { timing, missed, paused, resumed, spec } = stored
  const { cron, timezone, everyMs, start, end } = timing
  return {
    id,
    type: spec.type,
    input: fromJson(spec.input),
    ...exactPart({ input: spec.input }),
    cron,
    timezone,
    everyMs,
    start: dateOf(start),
    end: dateOf(end),
    missed,
    paused: changeOf(paused),
    resumed: changeOf(resumed),
    lastTime: dateOf(firedTick),
    nextTime: nextTimes(stored, timetable, now, 1)[0] ?? null,
    unreadable: null,
  }
}

export function unreadableInfo(
  { id, firedTick }: Pick<Schedule, 'id' | 'firedTick'>,
  unreadable: UnreadableSchedule,
): UnreadableScheduleInfo {
  return {
    id,
    type: null,
    input: null,
    cron: null,
    timezone: null,
    everyMs: null,
    start: null,
    end: null,
    missed: null,
    paused: null,
    resumed: null,
    lastTime: dateOf(firedTick),
    nextTime: null,
    unreadable,
  }
}

/** After now; none of a schedule that is paused. */
export function nextTimes(
  { paused }: StoredSchedule,
  timetable: Timetable,
  now: number,
  count: number,
): Date[] {
  const times: Date[] = []
  if (paused !== null) return times
  let last = now
  while (times.length < count) {
    const next = timetable.after(last)
    if (next === null) break
    times.push(new Date(next))
    last = next
  }
  return times
}

function dateOf(ms: number | null): Date | null {
  return ms === null ? null : new Date(ms)
}

function changeOf(stored: StoredScheduleChange | null): ScheduleChange | null {
  return stored === null ? null : { ...stored, at: new Date(stored.at) }
}
