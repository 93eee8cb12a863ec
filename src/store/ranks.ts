/**
 * A heap whose members know where they stand, so that one that changed can be moved or
 * taken out in O(log n). Counts its steps, so that a test can show how little it does.
 */
import type { Place } from '../kernel/index.ts'
import { compareOrder } from '../kernel/index.ts'

export interface Ranked extends Place {
  /** Where it stands in its heap; -1 while it is in none. Only the heap writes it. */
  slot: number
}

/** How much work the heaps did; shared by all heaps of an index. */
export interface Effort {
  /** Comparisons of two members. */
  comparisons: number
}

export class Ranks<T extends Ranked> {
  readonly #members: T[] = []
  readonly #effort: Effort

  constructor(effort: Effort) {
    this.#effort = effort
  }

  get size(): number {
    return this.#members.length
  }

  get first(): T | undefined {
    return this.#members[0]
  }

  add(member: T): void {
    member.slot = this.#members.length
    this.#members.push(member)
    this.#up(member)
  }

  remove(member: T): void {
    const { slot } = member
    const last = this.#members.pop() as T
    member.slot = -1
    if (last === member) return
    this.#members[slot] = last
    last.slot = slot
    this.moved(last)
  }

  /** The member's rank changed: it finds its place again. */
  moved(member: T): void {
    if (this.#members.length === 1) return
    this.#up(member)
    this.#down(member)
  }

  *[Symbol.iterator](): IterableIterator<T> {
    yield* this.#members
  }

  #up(member: T): void {
    let { slot } = member
    while (slot > 0) {
      const above = (slot - 1) >> 1
      const other = this.#members[above] as T
      if (!this.#before(member, other)) break
      this.#members[slot] = other
      other.slot = slot
      slot = above
    }
    this.#members[slot] = member
    member.slot = slot
  }

  #down(member: T): void {
    let { slot } = member
    const size = this.#members.length
    for (;;) {
      const left = 2 * slot + 1
      if (left >= size) break
      const right = left + 1
      const below =
        right < size && this.#before(this.#members[right] as T, this.#members[left] as T)
          ? right
          : left
      const other = this.#members[below] as T
      if (!this.#before(other, member)) break
      this.#members[slot] = other
      other.slot = slot
      slot = below
    }
    this.#members[slot] = member
    member.slot = slot
  }

  #before(a: T, b: T): boolean {
    this.#effort.comparisons += 1
    return compareOrder(a, b) < 0
  }
}
