/**
 * When a schedule is due: arithmetic on times, and nothing else. It reads no clock.
 *
 * Two kinds. A cron text is read in a time zone, by the wall clock there. An interval is a grid
 * of equal distances from 1970, or from `start`: no zone and no daylight saving touches it.
 */
import { Cron } from 'croner'
import { InvalidDefinition } from '../../definition/index.ts'

/** Plain data, as it is stored. `start` and `end` are due themselves, if they are on the grid. */
export interface ScheduleTiming {
  readonly cron: string | null
  readonly timezone: string | null
  readonly everyMs: number | null
  readonly start: number | null
  readonly end: number | null
}

export interface Timetable {
  /** The first due time after this one; null: there is none any more. */
  after(ms: number): number | null
  /** The newest due time up to this one; null: there was none. */
  upTo(ms: number): number | null
}

/** Throws `InvalidDefinition` for a cron text or a zone that cannot be read. */
export function timetableOf(timing: ScheduleTiming, what: string): Timetable {
  const { cron, timezone, everyMs, start, end } = timing
  const whole =
    cron === null
      ? interval(everyMs as number, start ?? 0)
      : cronTimes(cron, timezone ?? 'UTC', what)
  return {
    after(ms) {
      const next = whole.after(start === null ? ms : Math.max(ms, start - 1))
      return next === null || (end !== null && next > end) ? null : next
    },
    upTo(ms) {
      const last = whole.upTo(end === null ? ms : Math.min(ms, end))
      return last === null || (start !== null && last < start) ? null : last
    },
  }
}

function interval(everyMs: number, from: number): Timetable {
  const upTo = (ms: number): number => from + Math.floor((ms - from) / everyMs) * everyMs
  return { after: (ms) => upTo(ms) + everyMs, upTo }
}

const SECOND_MS = 1_000

/** Cron knows whole seconds only: what is between two of them belongs to the first. */
function cronTimes(text: string, timezone: string, what: string): Timetable {
  const cron = (): Cron => cachedCron(text, timezone, what)
  cron()
  return {
    after: (ms) => cron().nextRun(new Date(ms))?.getTime() ?? null,
    upTo(ms) {
      const justAfter = Math.floor(ms / SECOND_MS) * SECOND_MS + SECOND_MS
      return cron().previousRuns(1, new Date(justAfter))[0]?.getTime() ?? null
    },
  }
}

/** One takes 83 kB and half a millisecond: thousands of schedules must not have one each. */
const MOST_CRONS = 256
const crons = new Map<string, Cron>()

/** The oldest makes room. A schedule that needs it again reads its text again. */
function cachedCron(text: string, timezone: string, what: string): Cron {
  const key = `${timezone} ${text}`
  const known = crons.get(key)
  if (known !== undefined) return known
  assertZone(timezone, what)
  const cron = read(text, timezone, what)
  crons.set(key, cron)
  const [oldest] = crons.keys()
  if (crons.size > MOST_CRONS && oldest !== undefined) crons.delete(oldest)
  return cron
}

function assertZone(timezone: string, what: string): void {
  try {
    Intl.DateTimeFormat('en', { timeZone: timezone })
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw new InvalidDefinition(
      `The \`timezone\` of ${what} is '${timezone}', which this system does not know: give a name such as 'Europe/Berlin' or 'UTC'.`,
      { timezone },
    )
  }
}

function read(text: string, timezone: string, what: string): Cron {
  let cron: Cron
  try {
    cron = new Cron(text, { timezone, mode: '5-or-6-parts' })
  } catch (error) {
    const why = (error as Error).message.replace(/^CronPattern: /, '').replace(/\.$/, '')
    throw unreadable(text, what, why)
  }
  if (cron.getOnce() !== null) throw unreadable(text, what, 'a date is not a cron text')
  // It stands for the moment at which it is read: another one in every process.
  if (text.includes('?')) throw unreadable(text, what, "'?' is not taken")
  return cron
}

function unreadable(cron: string, what: string, why: string): InvalidDefinition {
  return new InvalidDefinition(
    `The \`cron\` of ${what} cannot be read: ${why}. Give five fields (minute, hour, day, month, weekday), as in '30 2 * * 1-5', or six, with seconds first.`,
    { cron },
  )
}
