/**
 * A set of small tuples of whole numbers, numbered in the order they came: the states that
 * were seen. Exact (no state is mistaken for another) and compact, for tens of millions.
 */
export class TupleTable {
  readonly width: number
  #tuples = new Int32Array(1 << 12)
  #slots = new Int32Array(1 << 12).fill(-1)
  #size = 0

  constructor(width: number) {
    this.width = width
  }

  get size(): number {
    return this.#size
  }

  /** Copies a tuple out. */
  read(index: number, into: Int32Array): void {
    const from = index * this.width
    for (let i = 0; i < this.width; i++) into[i] = this.#tuples[from + i] as number
  }

  /** The number of the tuple; if it was not there, it is now, and `size` has grown. */
  add(tuple: ArrayLike<number>): number {
    if (this.#size * 2 >= this.#slots.length) this.#grow()
    const mask = this.#slots.length - 1
    let slot = this.#hash(tuple) & mask
    for (;;) {
      const index = this.#slots[slot] as number
      if (index < 0) break
      if (this.#equal(index, tuple)) return index
      slot = (slot + 1) & mask
    }
    this.#slots[slot] = this.#size
    this.#append(tuple)
    return this.#size++
  }

  #append(tuple: ArrayLike<number>): void {
    const at = this.#size * this.width
    if (at + this.width > this.#tuples.length) {
      const larger = new Int32Array(this.#tuples.length * 2)
      larger.set(this.#tuples)
      this.#tuples = larger
    }
    for (let i = 0; i < this.width; i++) this.#tuples[at + i] = tuple[i] as number
  }

  #equal(index: number, tuple: ArrayLike<number>): boolean {
    const at = index * this.width
    for (let i = 0; i < this.width; i++) if (this.#tuples[at + i] !== tuple[i]) return false
    return true
  }

  #hash(tuple: ArrayLike<number>): number {
    let hash = 0x811c9dc5
    for (let i = 0; i < this.width; i++) {
      hash = Math.imul(hash ^ (tuple[i] as number), 0x9e3779b1)
      hash ^= hash >>> 15
    }
    hash = Math.imul(hash, 0x85ebca6b)
    return (hash ^ (hash >>> 13)) >>> 0
  }

  #grow(): void {
    const slots = new Int32Array(this.#slots.length * 4).fill(-1)
    const mask = slots.length - 1
    const tuple = new Int32Array(this.width)
    for (let index = 0; index < this.#size; index++) {
      this.read(index, tuple)
      let slot = this.#hash(tuple) & mask
      while ((slots[slot] as number) >= 0) slot = (slot + 1) & mask
      slots[slot] = index
    }
    this.#slots = slots
  }
}
