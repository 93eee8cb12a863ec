/**
 * Numbers by time: of each of the newest periods so many. Memory is taken once, and what is older is forgotten as time goes on.
 */
export interface RingTerms {
  readonly periodMs: number
  /** How many periods are kept. */
  readonly length: number
  /** How many numbers each has. */
  readonly width: number
  /** What a number is BEFORE anything is noted. */
  readonly empty: number
}

export class TimeRing {
  readonly periodMs: number
  readonly #length: number
  readonly #width: number
  readonly #empty: number
  readonly #numbers: Float64Array
  /** The newest period, counted from 1970; null: none yet. */
  #newest: number | null = null

  constructor({ periodMs, length, width, empty }: RingTerms) {
    this.periodMs = periodMs
    this.#length = length
    this.#width = width
    this.#empty = empty
    this.#numbers = new Float64Array(length * width).fill(empty)
  }

  periodOf(time: number): number {
    return Math.floor(time / this.periodMs)
  }

  /** Makes room for a period that is newer than all before. `onGone` is told of each that is forgotten for it, BEFORE it is. */
  advance(
    period: number,
    onGone: (period: number, numbers: Float64Array) => void = () => {},
  ): void {
    const newest = this.#newest ?? period - 1
    for (let next = newest + 1; next <= period; next++) {
      const gone = next - this.#length
      const numbers = this.#at(next)
      if (this.#newest !== null && gone <= newest) onGone(gone, numbers)
      numbers.fill(this.#empty)
      // All that was there is gone: what is between is as empty.
      if (next - newest >= this.#length) break
    }
    this.#newest = Math.max(newest, period)
  }

  /** Null: it is forgotten, or still to come. */
  of(period: number): Float64Array | null {
    const newest = this.#newest ?? -Infinity
    return period > newest || period <= newest - this.#length ? null : this.#at(period)
  }

  /** Those that are kept, the oldest first. */
  *periods(): IterableIterator<readonly [period: number, numbers: Float64Array]> {
    if (this.#newest === null) return
    for (let period = this.#newest - this.#length + 1; period <= this.#newest; period++) {
      yield [period, this.#at(period)]
    }
  }

  #at(period: number): Float64Array {
    const place = (((period % this.#length) + this.#length) % this.#length) * this.#width
    return this.#numbers.subarray(place, place + this.#width)
  }
}
