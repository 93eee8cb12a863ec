/**
 * Tells a handler to stop, once. The signal is made only if somebody asks for it: most
 * handlers never look.
 */
import type { AbortReason } from './aborted.ts'
import { Aborted } from './aborted.ts'

const NOBODY = (): void => undefined

export class AbortHandle {
  readonly #job: string
  #reason: AbortReason | null = null
  #controller: AbortController | null = null
  /** Called once, AFTER the signal was given. */
  onStop: (reason: AbortReason) => void = NOBODY

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
