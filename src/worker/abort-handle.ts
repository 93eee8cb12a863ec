/**
 * Tells a handler to stop, once, and why:
 *
 * - lease-lost: another worker may have the job by now. Nothing the handler reports will count.
 * - cancelled: the job was cancelled, or an operator took it away.
 * - timed-out: this attempt took longer than the job's `timeout`.
 * - stalled: the handler said nothing for too long, and its definition says `recover`.
 * - shutdown: the worker is stopping, and its time to finish is over. The job will run again.
 *
 * The signal is made only when a handler reads it: most never do.
 */
import { PawlError } from '../kernel/index.ts'

export type AbortReason = 'lease-lost' | 'cancelled' | 'timed-out' | 'stalled' | 'shutdown'

const WORDS: Readonly<Record<AbortReason, string>> = {
  'lease-lost': 'its lease was lost, so another worker may have it: stop, nothing more will count',
  cancelled: 'the job was cancelled: stop, nothing more will count',
  'timed-out': "this attempt took longer than the job's timeout",
  stalled: 'nothing was heard of it for too long: it will run again',
  shutdown: 'the worker is stopping: the job will run again elsewhere',
}

/** The reason of a handler's `signal`. */
export class Aborted extends PawlError {
  readonly reason: AbortReason

  constructor(job: string, reason: AbortReason) {
    super('Aborted', 'retryable', `Job ${job}: ${WORDS[reason]}.`, { job, reason })
    this.reason = reason
  }
}

export class AbortHandle {
  readonly #job: string
  #reason: AbortReason | null = null
  #controller: AbortController | null = null
  /** Called once, AFTER the signal was given. */
  onStop: (reason: AbortReason) => void = () => undefined

  constructor(job: string) {
    this.#job = job
  }

  get reason(): AbortReason | null {
    return this.#reason
  }

  get signal(): AbortSignal {
    if (this.#controller === null) {
      this.#controller = new AbortController()
      if (this.#reason !== null) this.#controller.abort(new Aborted(this.#job, this.#reason))
    }
    return this.#controller.signal
  }

  stop(reason: AbortReason): void {
    if (this.#reason !== null) return
    this.#reason = reason
    this.#controller?.abort(new Aborted(this.#job, reason))
    this.onStop(reason)
  }

  throwIfStopped(): void {
    if (this.#reason !== null) throw new Aborted(this.#job, this.#reason)
  }
}
