/**
 * Why a handler should stop: the reason of its `signal`.
 *
 * - lease-lost: the job may be with another worker by now. Nothing it reports will count.
 * - cancelled: the job was cancelled, or taken out of its hands by an operator.
 * - timed-out: this attempt took longer than the job's `timeout`.
 * - stalled: nothing was heard of it for too long, and its definition says that it is to be tried
 *   again then.
 * - shutdown: the worker is stopping, and its time to finish is over. The job will run again.
 */
import { PawlError } from '../../kernel/index.ts'

export type AbortReason = 'lease-lost' | 'cancelled' | 'timed-out' | 'stalled' | 'shutdown'

const WORDS: Readonly<Record<AbortReason, string>> = {
  'lease-lost': 'its lease was lost, so another worker may have it: stop, nothing more will count',
  cancelled: 'the job was cancelled: stop, nothing more will count',
  'timed-out': "this attempt took longer than the job's timeout",
  stalled: 'nothing was heard of it for too long: it will run again',
  shutdown: 'the worker is stopping: the job will run again elsewhere',
}

export class Aborted extends PawlError {
  readonly reason: AbortReason

  constructor(job: string, reason: AbortReason) {
    super('Aborted', 'retryable', `Job ${job}: ${WORDS[reason]}.`, { job, reason })
    this.reason = reason
  }
}
