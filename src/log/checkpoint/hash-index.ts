/**
 * Hashes of ids and keys: how they are made, rows found by them, and a filter that knows which were
 * never there. Hashes may be the same for two texts, so the caller compares what it finds.
 */

/** No row, and no hash. */
export const NONE = 0

/** FNV-1a over UTF-16 units; never 0. */
export function hashText(text: string): number {
  let hash = 0x81_1c_9d_c5
  for (let i = 0; i < text.length; i++) {
    hash = Math.imul(hash ^ text.charCodeAt(i), 0x01_00_01_93)
  }
  return hash >>> 0 || 1
}

/** A key belongs to a type. */
export function hashKey(type: string, key: string): number {
  return hashText(`${type.length}:${type}${key}`)
}

/** How many slots a hash table of so many rows has: a power of two. */
export function slotsFor(rows: number): number {
  let slots = 8
  while (slots < rows * 2) slots *= 2
  return slots
}

/** Open addressing: row + 1 at the hash, or in the next slot that is free. */
export function insertRow(slots: Uint32Array, hash: number, row: number): void {
  let slot = hash & (slots.length - 1)
  while (slots[slot] !== NONE) slot = (slot + 1) & (slots.length - 1)
  slots[slot] = row + 1
}

/** A row that has the hash and `isIt`; -1: none. */
export function findRow(
  slots: Uint32Array,
  hash: number,
  hashOf: (row: number) => number,
  isIt: (row: number) => boolean,
): number {
  const mask = slots.length - 1
  for (let slot = hash & mask; slots[slot] !== NONE; slot = (slot + 1) & mask) {
    const row = (slots[slot] as number) - 1
    if (hashOf(row) === hash && isIt(row)) return row
  }
  return -1
}

/** Finds rows of a growing table. Rows that came since the last search are indexed by the next one. */
export class HashIndex {
  readonly #hashOf: (row: number) => number
  #slots = new Uint32Array(0)
  #indexed = 0

  constructor(hashOf: (row: number) => number) {
    this.#hashOf = hashOf
  }

  /** Among the first so many rows, one that has the hash and `isIt`; -1: none. */
  find(hash: number, rows: number, isIt: (row: number) => boolean): number {
    this.#indexRows(rows)
    return findRow(this.#slots, hash, this.#hashOf, isIt)
  }

  #indexRows(rows: number): void {
    const slots = slotsFor(rows)
    if (slots > this.#slots.length) {
      this.#slots = new Uint32Array(slots)
      this.#indexed = 0
    }
    for (; this.#indexed < rows; this.#indexed++) {
      const hash = this.#hashOf(this.#indexed)
      if (hash !== NONE) insertRow(this.#slots, hash, this.#indexed)
    }
  }
}

/** At least so many bits of a filter for each hash that is expected. */
const BITS = 16
const WORD_BITS = 32
const FEWEST_WORDS = 1_024
/** Spreads hashes that are near each other. */
const SPREAD = 0x9e_37_79_b1

/**
 * Says of a hash that it was surely never added, or that it may have been.
 *
 * Nearly every id that is submitted is new. Without the filter each table of finished jobs would be
 * searched for it, and each search in an index of millions waits for memory; with it there is one such
 * wait. Three bits of one word stand for a hash, so about one in a hundred new ones passes all the same.
 */
export class HashFilter {
  /** The newest first. */
  readonly #layers: FilterLayer[]

  /** If more are added than were expected, another layer takes them, four times as large. */
  constructor(expected: number) {
    this.#layers = [new FilterLayer(expected)]
  }

  add(hash: number): void {
    const newest = this.#layers[0] as FilterLayer
    newest.add(hash)
    if (newest.isFull) this.#layers.unshift(new FilterLayer(4 * newest.expected))
  }

  mayHave(hash: number): boolean {
    const layers = this.#layers
    for (let i = 0; i < layers.length; i++) {
      if ((layers[i] as FilterLayer).mayHave(hash)) return true
    }
    return false
  }
}

class FilterLayer {
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
