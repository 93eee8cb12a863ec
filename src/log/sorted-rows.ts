/**
 * Rows in the order of a number that each of them has, however they came. Those that are new
 * are put in order among themselves and then in between: asking often costs little.
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
    fresh.sort((a, b) => this.#by(a) - this.#by(b) || a - b)
    this.#rows = this.#merged(known, fresh)
    return this.#rows
  }

  #merged(known: Uint32Array, fresh: Uint32Array): Uint32Array {
    const rows = new Uint32Array(known.length + fresh.length)
    let k = 0
    let f = 0
    for (let i = 0; i < rows.length; i++) {
      const takesKnown =
        f === fresh.length ||
        (k < known.length && this.#by(known[k] as number) <= this.#by(fresh[f] as number))
      rows[i] = (takesKnown ? known[k++] : fresh[f++]) as number
    }
    return rows
  }
}
