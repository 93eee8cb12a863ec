/**
 * A filter of hashes: says of a hash that it was surely never added, or that it may have been.
 *
 * Nearly every id that comes is new. Without the filter each of the racks would be asked for it,
 * and each look into a table of millions waits for memory; with it there is one such look. Three
 * bits of one word stand for a hash, so about one in a hundred new ones passes all the same.
 */

/** At least so many bits for each hash that is expected. */
const BITS = 16
const WORD_BITS = 32
const FEWEST_WORDS = 1_024
/** Spreads hashes that are near each other. */
const SPREAD = 0x9e_37_79_b1

export class HashFilter {
  /** The newest first. */
  readonly #sheets: Sheet[]

  /** More than were expected may be added: they stand on another sheet, four times as large. */
  constructor(expected: number) {
    this.#sheets = [new Sheet(expected)]
  }

  add(hash: number): void {
    const newest = this.#sheets[0] as Sheet
    newest.add(hash)
    if (newest.isFull) this.#sheets.unshift(new Sheet(4 * newest.expected))
  }

  mayHave(hash: number): boolean {
    const sheets = this.#sheets
    for (let i = 0; i < sheets.length; i++) if ((sheets[i] as Sheet).mayHave(hash)) return true
    return false
  }
}

class Sheet {
  /** At least as many as were said. */
  readonly expected: number
  readonly #words: Int32Array
  readonly #shift: number
  #added = 0

  constructor(expected: number) {
    let words = FEWEST_WORDS
    while (words * WORD_BITS < expected * BITS) words *= 2
    this.expected = (words * WORD_BITS) / BITS
    this.#words = new Int32Array(words)
    this.#shift = WORD_BITS - Math.log2(words)
  }

  get isFull(): boolean {
    return this.#added >= this.expected
  }

  add(hash: number): void {
    const word = Math.imul(hash, SPREAD) >>> this.#shift
    this.#words[word] = (this.#words[word] as number) | bitsOf(hash)
    this.#added += 1
  }

  mayHave(hash: number): boolean {
    const bits = bitsOf(hash)
    return ((this.#words[Math.imul(hash, SPREAD) >>> this.#shift] as number) & bits) === bits
  }
}

function bitsOf(hash: number): number {
  return (1 << hash) | (1 << (hash >>> 5)) | (1 << (hash >>> 10))
}
