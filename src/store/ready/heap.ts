/**
 * A binary heap in an array. A subclass says which of two items comes first, and may note the
 * slot of each item, by which it removes one from the middle.
 */
export abstract class Heap<T> {
  protected readonly items: T[] = []

  protected abstract isBefore(a: T, b: T): boolean

  protected abstract noteSlot(item: T, slot: number): void

  protected push(item: T): void {
    this.items.push(item)
    this.#siftUp(item, this.items.length - 1)
  }

  protected removeAt(slot: number): void {
    const last = this.items.pop() as T
    if (slot < this.items.length) this.resift(last, slot)
  }

  /** Puts an item in this slot, or above or below it, as its rank demands. */
  protected resift(item: T, slot: number): void {
    this.#siftDown(item, this.#siftUp(item, slot))
  }

  #siftUp(item: T, from: number): number {
    let slot = from
    while (slot > 0) {
      const above = (slot - 1) >> 1
      const other = this.items[above] as T
      if (!this.isBefore(item, other)) break
      this.#set(slot, other)
      slot = above
    }
    this.#set(slot, item)
    return slot
  }

  #siftDown(item: T, from: number): void {
    const { items } = this
    let slot = from
    for (;;) {
      let below = 2 * slot + 1
      if (below >= items.length) break
      const right = below + 1
      if (right < items.length && this.isBefore(items[right] as T, items[below] as T)) below = right
      const other = items[below] as T
      if (!this.isBefore(other, item)) break
      this.#set(slot, other)
      slot = below
    }
    this.#set(slot, item)
  }

  #set(slot: number, item: T): void {
    this.items[slot] = item
    this.noteSlot(item, slot)
  }
}
