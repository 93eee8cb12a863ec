/**
 * Does something to many jobs, one batch after the other: no more than a rate allows, until a signal says to stop. What
 * is refused for a job is noted, and does not stop the rest.
 */
import type { Timing } from '../../store/clock.ts'
import type { RateOptions } from './rate-limiter.ts'
import { RateLimiter } from './rate-limiter.ts'

export interface PaceOptions {
  /** Says what would be done, and does nothing. */
  readonly dryRun?: boolean
  /** No more than so many jobs in a period. Default: as quickly as the store takes them. */
  readonly rate?: RateOptions
  /** Stops after the batch that is under way, and does not wait for the next. */
  readonly signal?: AbortSignal
}

/** Of an action for many jobs. */
export interface BulkReport {
  /** Jobs that the selection names or the filter matches. */
  readonly matched: number
  /** Of these: those that it was done to; with `dryRun`, those that it would be. */
  readonly done: number
  /** Of these: left as they were. */
  readonly left: number
  /** Why, of the first 20 that were left. */
  readonly problems: readonly { readonly id: string; readonly why: string }[]
  /** The ids of the first 5 that matched. */
  readonly samples: readonly string[]
  /** False: it was stopped by its signal, or the engine was closed. There may be more. */
  readonly isComplete: boolean
}

/** Of a job: null, or why it was left as it was. */
export type Refusal = string | null

/** Jobs at once. */
export const BATCH = 100
const MOST_PROBLEMS = 20
export const SAMPLES = 5

export class BatchRun {
  readonly #limiter: RateLimiter
  readonly #signal: AbortSignal
  readonly #isDry: boolean
  readonly #onProgress: ((report: BulkReport) => void) | undefined
  readonly #problems: { id: string; why: string }[] = []
  readonly #samples: string[] = []
  #matched = 0
  #done = 0
  #left = 0

  /** `closing`: aborted when the engine closes. */
  constructor(
    timing: Timing,
    closing: AbortSignal,
    options: PaceOptions,
    onProgress?: (report: BulkReport) => void,
  ) {
    const { signal, dryRun = false, rate } = options
    this.#limiter = new RateLimiter(timing, BATCH, rate)
    this.#signal = signal === undefined ? closing : AbortSignal.any([signal, closing])
    this.#isDry = dryRun
    this.#onProgress = onProgress
  }

  /** A job is left as it is. */
  leaveOut(id: string, why: string): void {
    this.#left += 1
    if (this.#problems.length < MOST_PROBLEMS) this.#problems.push({ id, why })
  }

  /** `act`: gives what became of each job of a batch. */
  async run<T extends { readonly id: string }>(
    pages: AsyncIterable<readonly T[]>,
    act: (batch: readonly T[], isDry: boolean) => Promise<readonly Refusal[]>,
  ): Promise<BulkReport> {
    for await (const page of pages) {
      for (let at = 0; at < page.length; at += this.#limiter.batch) {
        const batch = page.slice(at, at + this.#limiter.batch)
        if (!this.#isDry) await this.#limiter.waitFor(batch.length, this.#signal)
        if (this.#signal.aborted) return this.#report(false)
        this.#matched += batch.length
        const missing = SAMPLES - this.#samples.length
        this.#samples.push(...batch.slice(0, missing).map(({ id }) => id))
        const refusals = await act(batch, this.#isDry)
        refusals.forEach((why, i) => {
          if (why === null) this.#done += 1
          else this.leaveOut((batch[i] as T).id, why)
        })
        this.#onProgress?.(this.#report(true))
      }
      if (this.#signal.aborted) return this.#report(false)
    }
    return this.#report(true)
  }

  #report(isComplete: boolean): BulkReport {
    return {
      matched: this.#matched,
      done: this.#done,
      left: this.#left,
      problems: [...this.#problems],
      samples: [...this.#samples],
      isComplete,
    }
  }
}
