/**
 * Tells a handler to stop, once, and why:
 *
 * - lease-lost: another worker may have the job by now. Nothing the handler reports will count.
 * - cancelled: the job was cancelled, or an operator forced it to another state.
 * - revoked: its lease was taken away. It may run again.
 * - timed-out: this attempt took longer than the job's `timeout`.
 * - stalled: the handler said nothing for too long, and its definition says `recover`.
 * - shutdown: the worker is stopping, and its time to finish is over. The job will run again.
 * - suspended: the handler waits for something. The job runs again from the top when the wait is over.
 *
 * The signal is made only when a handler reads it: most never do.
 */
import { PawlError } from '../kernel/index.ts'

export type AbortReason =
  | 'lease-lost'
  | 'cancelled'
  | 'revoked'
  | 'timed-out'
  | 'stalled'
  | 'shutdown'
  | 'suspended'

/** Who had it stopped, and why, as the log has it. */
export interface StoppedBy {
  readonly by: string
  readonly why: string
}

const WORDS: Readonly<Record<AbortReason, string>> = {
  'lease-lost': 'its lease was lost, so another worker may have it: stop, nothing more will count',
  cancelled: 'the job was cancelled: stop, nothing more will count',
  revoked: 'its lease was taken away, and it may run again: stop, nothing more will count',
  'timed-out': "this attempt took longer than the job's timeout",
  stalled: 'nothing was heard of it for too long: it will run again',
  shutdown: 'the worker is stopping: the job will run again elsewhere',
  suspended: 'it waits, and runs again from the top when the wait is over: stop what still runs',
}

/** The reason of a handler's `signal`. */
export class Aborted extends PawlError {
  readonly reason: AbortReason
  /** Who cancelled, forced or revoked it; null: neither a person nor a program did, or it is not known. */
  readonly by: string | null
  /** The reason that they gave. */
  readonly why: string | null

  constructor(job: string, reason: AbortReason, stopped: StoppedBy | null = null) {
    const { by, why } = stopped ?? { by: null, why: null }
    const who = stopped === null ? '' : ` (by ${by}: ${why})`
    super('Aborted', 'retryable', `Job ${job}: ${WORDS[reason]}${who}.`, { job, reason, by, why })
    this.reason = reason
    this.by = by
    this.why = why
  }
}

export class AbortHandle {
  readonly #job: string
  #reason: AbortReason | null = null
  #by: StoppedBy | null = null
  #controller: AbortController | null = null
  /** Called once, AFTER the signal was given. */
  onStop: (reason: AbortReason) => void = () => undefined

  constructor(job: string) {
    this.#job = job
  }

  get reason(): AbortReason | null {
    return this.#reason
  }

  get by(): StoppedBy | null {
    return this.#by
  }

  get signal(): AbortSignal {
    if (this.#controller === null) {
      this.#controller = new AbortController()
      if (this.#reason !== null) this.#controller.abort(this.aborted())
    }
    return this.#controller.signal
  }

  /** `by`: who asked for it, if it was asked for. */
  stop(reason: AbortReason, by: StoppedBy | null = null): void {
    if (this.#reason !== null) return
    this.#reason = reason
    this.#by = by
    this.#controller?.abort(this.aborted())
    this.onStop(reason)
  }

  /** What a handler is to throw, or is thrown at it: also BEFORE it is told, if it is known not to count. */
  aborted(): Aborted {
    return new Aborted(this.#job, this.#reason ?? 'lease-lost', this.#by)
  }

  throwIfStopped(): void {
    if (this.#reason !== null) throw this.aborted()
  }
}
