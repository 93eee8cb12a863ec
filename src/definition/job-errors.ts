/**
 * How a job ended that has no result: what a client is thrown that asks for it, and a handler that called it.
 */
import type { Failure, JobState } from '../kernel/index.ts'
import { PawlError } from '../kernel/index.ts'

/** Where in a pipeline. `segment` null: the stage runs once. */
export interface FailedAt {
  readonly stage: string
  readonly segment: number | null
}

/** What went wrong last, and where. */
interface LastFailure {
  readonly error: Failure | null
  readonly at: FailedAt | null
}

/**
 * - cancelled: a client or an operator ended it, or discarded it;
 * - deadline: its deadline passed before it was committed;
 * - forced: an operator set it to FAILED;
 * - start-by: no worker took it in time;
 * - terminal: its error is one that no retry can help;
 * - retries: they are used up, and it does not go into quarantine;
 * - stopped: none of these is on record.
 */
export type FailedWhy =
  | 'cancelled'
  | 'deadline'
  | 'forced'
  | 'start-by'
  | 'terminal'
  | 'retries'
  | 'stopped'

/** For messages. */
export function placeOf(at: FailedAt | null): string {
  if (at === null) return ''
  return ` in stage '${at.stage}'${at.segment === null ? '' : `, segment ${at.segment}`}`
}

/** The job is over, and has no result. */
export class JobFailed extends PawlError {
  readonly failure: Failure | null
  readonly why: FailedWhy

  /** `at`: which task of a pipeline. */
  constructor(
    job: string,
    type: string,
    { error: failure, at }: LastFailure,
    {
      why,
      by,
      reason,
      message: text,
    }: {
      readonly why: FailedWhy
      readonly by: string | null
      readonly reason: string | null
      readonly message: string
    },
  ) {
    const message = `Job ${job} (${type}) failed${placeOf(at)}. ${text}`
    super('JobFailed', 'rejected', message, { job, type, failure, at, why, by, reason })
    this.failure = failure
    this.why = why
  }
}

/** The job was cancelled. */
export class JobWasCancelled extends PawlError {
  constructor(job: string, type: string, by: string, reason: string) {
    super('JobWasCancelled', 'rejected', `Job ${job} (${type}) was cancelled by ${by}: ${reason}`, {
      job,
      type,
      by,
      reason,
    })
  }
}

/** The job was not committed by its deadline. */
export class JobDeadlinePassed extends PawlError {
  /** What went wrong last, if something did. */
  readonly failure: Failure | null

  constructor(job: string, type: string, { error: failure, at }: LastFailure) {
    const last = failure === null ? '' : ` Before that: ${failure.code}: ${failure.message}`
    const message = `Job ${job} (${type}) was not committed by its deadline.${last}`
    super('JobDeadlinePassed', 'rejected', message, { job, type, failure, at })
    this.failure = failure
  }
}

/** What the job was given, and resulted in, is gone. */
export class JobWasErased extends PawlError {
  constructor(
    job: string,
    type: string,
    state: JobState,
    erased: { readonly at: number; readonly by: string; readonly reason: string } | null,
  ) {
    const when = erased === null ? null : new Date(erased.at)
    const how =
      erased === null ? '' : ` by ${erased.by} at ${when?.toISOString()} (${erased.reason})`
    super(
      'JobWasErased',
      'rejected',
      `Job ${job} ('${type}') ${state}, and was erased${how}: what it was given and made is gone.`,
      { job, state, by: erased?.by ?? null, reason: erased?.reason ?? null, at: when },
    )
  }
}
