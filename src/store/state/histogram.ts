/**
 * How often a whole number was how large: counts in buckets that double, so that adding one
 * costs a few nanoseconds and memory is fixed.
 */

import type { Distribution } from '../store.ts'

/** The last one has no upper bound. */
const BUCKETS = 32
const LARGEST = 2 ** 31 - 1

/** The largest number of each bucket: 0, 1, 3, 7, 15 and so on; of the last, Infinity. */
export const BOUNDS: readonly number[] = Array.from({ length: BUCKETS }, (_, i) =>
  i === BUCKETS - 1 ? Infinity : 2 ** i - 1,
)

export class Histogram {
  readonly #counts = new Float64Array(BUCKETS)
  #count = 0
  #sum = 0

  /** What is below 0 counts as 0. */
  add(value: number): void {
    const whole = value > 0 ? (value < LARGEST ? Math.floor(value) : LARGEST) : 0
    const bucket = 32 - Math.clz32(whole)
    this.#counts[bucket] = (this.#counts[bucket] as number) + 1
    this.#count += 1
    this.#sum += whole
  }

  get distribution(): Distribution {
    return { count: this.#count, sum: this.#sum, bounds: BOUNDS, counts: [...this.#counts] }
  }
}
