/**
 * Why a job is FAILED, in one place: `get`, `result()` and `explain` say the same.
 */
import type { FailedWhy } from '../definition/index.ts'
import { isLost } from '../kernel/index.ts'
import type { Outcome, Queries } from '../store/index.ts'
import { byWhom, lossIn, lossText, sentence } from './lost-lease.ts'

export interface FailureReason {
  readonly why: FailedWhy
  /** Who cancelled or forced it, and why. */
  readonly by: string | null
  readonly reason: string | null
  /** Of a pipeline: the stage that is to blame, and the segment (null: the stage runs once). */
  readonly stage: string | null
  readonly segment: number | null
  /** All of it, for people. */
  readonly message: string
}

/** Of a job that is FAILED. */
export async function failureReason(
  store: Queries,
  job: string,
  outcome: Outcome,
): Promise<FailureReason> {
  const { cancelled, cause, at } = outcome
  const where = { stage: at?.stage ?? null, segment: at?.segment ?? null }
  if (cancelled !== null) {
    const { by, reason } = cancelled
    const whole = { by, reason, stage: null, segment: null }
    if (cancelled.deadline) {
      return { why: 'deadline', ...whole, message: 'Its deadline passed before it was committed.' }
    }
    const message = sentence(`It was cancelled ${byWhom(cancelled)}`)
    return { why: 'cancelled', ...whole, message }
  }
  const { why = 'stopped', by = null, reason = null } = cause ?? {}
  // A store that fails now has nothing to do with how the job ended.
  const loss = why === 'retries' ? await lossIn(store, job, outcome).catch(() => null) : null
  return { why, by, reason, ...where, message: messageOf(outcome, loss) }
}

function messageOf(outcome: Outcome, loss: string | null): string {
  const { cause } = outcome
  switch (cause?.why) {
    case 'forced':
      return sentence(`It was forced to FAILED by ${cause.by}: ${cause.reason}`)
    case 'start-by':
      return 'No worker took it before its start-by time.'
    case 'terminal':
      return `${sentence(lastErrorText(outcome, loss))} Its error is terminal.`
    case 'retries':
      return `${sentence(lastErrorText(outcome, loss))} Its retries are used up.`
    case undefined:
      return lastErrorText(outcome, loss)
  }
}

/** What went wrong last. `loss`: what the log says of a lost lease; an error of the task is then older. */
export function lastErrorText(
  { error, endedBy }: Pick<Outcome, 'error' | 'endedBy'>,
  loss: string | null,
): string {
  if (error === null) return lossText(endedBy, loss)
  const failed = `${error.code}: ${error.message}`
  return isLost(endedBy) ? `${lossText(endedBy, loss)} Before that: ${failed}` : failed
}
