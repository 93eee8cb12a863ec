/**
 * Rows in the order of a number that each of them has, and how a place in such an order is found.
 */

/** How many of an ascending list are no larger than a value: the place behind it. */
export function countUpTo(value: number, length: number, nth: (n: number) => number): number {
  let low = 0
  let high = length
  while (low < high) {
    const middle = (low + high) >> 1
    if (nth(middle) <= value) low = middle + 1
    else high = middle
  }
  return low
}

/** So many steps for each row, and the rows are not nearly in order. */
const NEARLY = 32

/**
 * Rows that are added nearly in order. Those that are new are sorted among themselves and then merged,
 * so a caller that asks often pays little.
 */
export class SortedRows {
  readonly #by: (row: number) => number
  #rows: Uint32Array = new Uint32Array(0)

  constructor(by: (row: number) => number) {
    this.#by = by
  }

  /** The first so many rows in order. Never fewer than before. */
  upTo(count: number): Uint32Array {
    const known = this.#rows
    if (known.length === count) return known
    const fresh = Uint32Array.from({ length: count - known.length }, (_, i) => known.length + i)
    if (!this.#sortNearly(fresh)) fresh.sort((a, b) => this.#by(a) - this.#by(b) || a - b)
    this.#rows = this.#merge(known, fresh)
    return this.#rows
  }

  /** False: it took too long, and they are not in order. */
  #sortNearly(rows: Uint32Array): boolean {
    let left = NEARLY * rows.length
    for (let i = 1; i < rows.length; i++) {
      const row = rows[i] as number
      const value = this.#by(row)
      let at = i
      for (; at > 0 && this.#by(rows[at - 1] as number) > value; at--) {
        rows[at] = rows[at - 1] as number
        left -= 1
      }
      rows[at] = row
      if (left < 0) return false
    }
    return true
  }

  #merge(known: Uint32Array, fresh: Uint32Array): Uint32Array {
    const rows = new Uint32Array(known.length + fresh.length)
    // Most of what is known stays where it is.
    const first = this.#by(fresh[0] as number)
    let k = countUpTo(first, known.length, (n) => this.#by(known[n] as number))
    rows.set(known.subarray(0, k))
    let f = 0
    for (let i = k; i < rows.length; i++) {
      const takesKnown =
        f === fresh.length ||
        (k < known.length && this.#by(known[k] as number) <= this.#by(fresh[f] as number))
      rows[i] = (takesKnown ? known[k++] : fresh[f++]) as number
    }
    return rows
  }
}
