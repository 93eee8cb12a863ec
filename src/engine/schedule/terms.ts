/**
 * What a developer says about a schedule, checked and made into what is stored.
 */
import type {
  AnyJob,
  ChildOptions,
  Duration,
  GivenOf,
  SubmitDefaults,
} from '../../definition/index.ts'
import { inputOf, InvalidDefinition, specOf, toMs } from '../../definition/index.ts'
import type { JobSpec } from '../../kernel/index.ts'
import { invalidFields, invalidShape, LIMITS } from '../../kernel/index.ts'
import type { Missed, StoredSchedule } from './stored-schedule.ts'
import type { ScheduleTiming } from './timetable.ts'
import { timetableOf } from './timetable.ts'

/** How the jobs of a schedule are submitted, and when. */
export interface ScheduleOptions extends Omit<ChildOptions, 'at' | 'delay' | 'deadline'> {
  /** Each job must be committed within this time of its submit, or it fails. Default: as its definition says. */
  readonly deadline?: Duration
  /** Minute, hour, day, month and weekday; with six fields, the first is seconds. */
  readonly cron?: string
  /** Where the cron text is read, such as `'Europe/Berlin'`. Default `'UTC'`. */
  readonly timezone?: string
  /** At equal distances, from 1970 or from `start`. */
  readonly every?: Duration
  /**
   * What becomes of times that passed while no engine was open: `'once'` (default) runs the
   * newest, `'all'` runs each, `'skip'` none.
   */
  readonly missed?: Missed
  /** Nothing is due before. */
  readonly start?: Date | number
  /** Nothing is due after. */
  readonly end?: Date | number
}

/** By the wall clock somewhere, or at equal distances. */
type When =
  | { readonly cron: string; readonly every?: undefined }
  | { readonly every: Duration; readonly cron?: undefined; readonly timezone?: undefined }

export type ScheduleTerms<J extends AnyJob> = ScheduleOptions &
  When & { readonly job: J } & (GivenOf<J> extends undefined
    ? { readonly input?: undefined }
    : { readonly input: GivenOf<J> })

/** The same terms give the same. */
type CheckedTerms = Pick<StoredSchedule, 'timing' | 'missed' | 'spec'>

const MISSED: ReadonlySet<unknown> = new Set<Missed>(['skip', 'once', 'all'])
const SHORTEST_MS = 1_000

/** Whatever its job. */
type AnyTerms = ScheduleOptions & { readonly job: AnyJob; readonly input?: unknown }

/** `defaults`: for what the definition of the job does not say. */
export async function checkTerms(
  id: string,
  terms: AnyTerms,
  now: number,
  defaults: SubmitDefaults,
): Promise<CheckedTerms> {
  const what = `schedule '${id}'`
  const { job, input, cron, timezone, every, missed = 'once', start, end, ...options } = terms
  if (!MISSED.has(missed)) {
    throw new InvalidDefinition(`\`missed\` of ${what} must be 'skip', 'once' or 'all'.`, {
      missed,
    })
  }
  if (typeof (job as AnyJob | undefined)?.name !== 'string') {
    throw new InvalidDefinition(`\`job\` of ${what} must be a definition, such as job('…') gives.`)
  }
  const timing = timingOf({ cron, timezone, every, start, end }, what)
  assertComes(timing, now, what)
  const text = await inputOf(job, input)
  return { timing, missed, spec: templateOf(job, input, text, options, defaults, what) }
}

type Given = {
  readonly [K in 'cron' | 'timezone' | 'every' | 'start' | 'end']: ScheduleOptions[K] | undefined
}

function timingOf({ cron, timezone, every, start, end }: Given, what: string): ScheduleTiming {
  if ((cron === undefined) === (every === undefined)) {
    throw new InvalidDefinition(`Give ${what} either \`cron\` or \`every\`.`)
  }
  if (every !== undefined && timezone !== undefined) {
    throw new InvalidDefinition(
      `An interval has no time zone: \`timezone\` of ${what} needs \`cron\`.`,
    )
  }
  const bounds = { start: timeOf(start, '`start`', what), end: timeOf(end, '`end`', what) }
  if (bounds.start !== null && bounds.end !== null && bounds.start > bounds.end) {
    throw new InvalidDefinition(`The \`end\` of ${what} is before its \`start\`.`)
  }
  return {
    cron: cron ?? null,
    timezone: cron === undefined ? null : (timezone ?? 'UTC'),
    everyMs: every === undefined ? null : intervalOf(every, what),
    ...bounds,
  }
}

function intervalOf(every: Duration, what: string): number {
  const ms = toMs(every, `\`every\` of ${what}`)
  if (ms >= SHORTEST_MS && ms <= LIMITS.delayMs) return ms
  throw new InvalidDefinition(
    `\`every\` of ${what} must be from one second to ten years, not ${String(every)}.`,
    { every },
  )
}

function timeOf(given: Date | number | undefined, name: string, what: string): number | null {
  if (given === undefined) return null
  const ms = Number(given)
  if (Number.isSafeInteger(ms) && ms >= 0) return ms
  throw new InvalidDefinition(
    `${name} of ${what} must be a date, or milliseconds since 1970, not ${String(given)}.`,
  )
}

/** Also what cannot be read is found here. An `end` that has passed is no mistake. */
function assertComes(timing: ScheduleTiming, now: number, what: string): void {
  const unbounded = timetableOf({ ...timing, start: null, end: null }, what)
  if (unbounded.after(now) !== null) return
  throw new InvalidDefinition(`The \`cron\` of ${what} names a time that never comes.`, {
    cron: timing.cron,
  })
}

function templateOf(
  job: AnyJob,
  given: unknown,
  input: string,
  options: ChildOptions,
  defaults: SubmitDefaults,
  what: string,
): JobSpec {
  if (options.key !== undefined && options.unique !== true) {
    throw new InvalidDefinition(
      `The \`key\` of ${what} would stand for its first job for ever: say \`unique: true\`, and a time is skipped while the job of an earlier one is not over.`,
    )
  }
  if (options.at !== undefined || options.delay !== undefined) {
    throw new InvalidDefinition(
      `A job of ${what} is due at its time: \`at\` and \`delay\` say nothing here.`,
    )
  }
  if ((options.deadline as unknown) instanceof Date) {
    throw new InvalidDefinition(
      `The \`deadline\` of ${what} is a duration from each submit: a date would be the same for all of its jobs.`,
    )
  }
  const spec = specOf(job, given, input, options, defaults)
  // The authority would refuse every job of it: better now than at the first due time.
  const wrong = invalidFields(spec) ?? invalidShape(spec)
  if (wrong !== null) throw new InvalidDefinition(`The job of ${what}: ${wrong.message}`)
  return spec
}
