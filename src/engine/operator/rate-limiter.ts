/**
 * Sends many commands one batch after the other, no more than so many in a period, spread evenly.
 */
import type { Duration } from '../../definition/index.ts'
import { toMs } from '../../definition/index.ts'
import type { Timing } from '../../store/clock.ts'
import { assertWhole } from '../whole-number.ts'

export interface RateOptions {
  readonly count: number
  readonly per: Duration
}

/** How long one batch may be ahead of the rate. */
const BATCH_MS = 100

export class RateLimiter {
  /** How many at once. */
  readonly batch: number
  readonly #timing: Timing
  readonly #msEach: number
  #freeAt = 0

  constructor(timing: Timing, most: number, rate?: RateOptions) {
    this.#timing = timing
    if (rate !== undefined) assertWhole(rate.count, 'The count of a rate')
    const perMs = rate === undefined ? 0 : toMs(rate.per, 'The period of a rate')
    this.#msEach = rate === undefined ? 0 : perMs / rate.count
    const atOnce = this.#msEach === 0 ? most : Math.floor(BATCH_MS / this.#msEach)
    this.batch = Math.min(most, Math.max(1, atOnce))
  }

  /** Waits until so many more may be sent, or until the signal is aborted. */
  async waitFor(count: number, signal: AbortSignal): Promise<void> {
    const now = this.#timing.now()
    const waitMs = this.#freeAt - now
    this.#freeAt = Math.max(now, this.#freeAt) + count * this.#msEach
    if (waitMs <= 0 || signal.aborted) return
    await new Promise<void>((resolve) => {
      const done = (): void => {
        timer.cancel()
        signal.removeEventListener('abort', done)
        resolve()
      }
      const timer = this.#timing.after(waitMs, done, true)
      signal.addEventListener('abort', done)
    })
  }
}
