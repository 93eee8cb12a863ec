/**
 * A sorted set whose members know where they stand, so that one that changed can be moved or
 * taken out. Counts its steps, so that a test can show how little it does.
 *
 * Members nearly always come in order: a group that was served goes to the end of the round, a
 * lane whose head was taken has a later one. So it is two things, as a line of tasks is:
 * - a run: a ring of members that came in order, with holes where some were taken out; joining
 *   its end, leaving it, and taking the first is O(1), however many there are;
 * - a heap for those that came out of order; O(log n).
 * The first is the smaller of the two firsts.
 */
import type { Place } from '../../kernel/index.ts'
import { compareOrder } from '../../kernel/index.ts'

export interface QueueMember extends Place {
  /** Where it stands in its set: see `NOT_QUEUED`. Only the set writes it. */
  slot: number
}

/** Its slot while a member is in no set. From 0 on: its place in the heap. Below: in the run. */
export const NOT_QUEUED = -1
const RUN = -2

const SMALLEST_RING = 8
/** Cells are counted anew before their numbers get too large to be cheap. */
const MOST_CELLS = 2 ** 30

/** How much work the sets did; shared by all sets of an index. */
export interface Effort {
  /** Comparisons of two members. */
  comparisons: number
}

export class IndexedQueue<T extends QueueMember> {
  readonly #effort: Effort
  /** Cells from `#from` up to `#to`, counted from the beginning of time. */
  #ring: (T | null)[] = []
  #from = 0
  #to = 0
  #inRun = 0
  readonly #heap: T[] = []
  #first: T | undefined = undefined

  constructor(effort: Effort) {
    this.#effort = effort
  }

  get size(): number {
    return this.#inRun + this.#heap.length
  }

  get first(): T | undefined {
    return this.#first
  }

  add(member: T): void {
    this.#enter(member)
    this.#findFirst()
  }

  remove(member: T): void {
    this.#leave(member)
    this.#findFirst()
  }

  /** The member's rank changed: it finds its place again. */
  moved(member: T): void {
    if (this.size === 1) return
    if (member.slot >= 0) {
      this.#up(member)
      this.#down(member)
    } else if (!this.#isInOrder(RUN - member.slot)) {
      this.#leave(member)
      this.#enter(member)
    }
    this.#findFirst()
  }

  *[Symbol.iterator](): IterableIterator<T> {
    for (let at = this.#from; at < this.#to; at++) {
      const member = this.#cell(at)
      if (member !== null) yield member
    }
    yield* this.#heap
  }

  #findFirst(): void {
    const run = this.#inRun === 0 ? undefined : (this.#cell(this.#from) as T)
    const [heap] = this.#heap
    if (run === undefined || heap === undefined) this.#first = run ?? heap
    else this.#first = this.#before(heap, run) ? heap : run
  }

  #enter(member: T): void {
    if (this.#inRun > 0 && this.#before(member, this.#cell(this.#to - 1) as T)) {
      member.slot = this.#heap.length
      this.#heap.push(member)
      this.#up(member)
      return
    }
    const isFull = this.#to - this.#from === this.#ring.length
    if (isFull || this.#to === MOST_CELLS) this.#renew(isFull)
    this.#ring[this.#to & (this.#ring.length - 1)] = member
    member.slot = RUN - this.#to
    this.#to += 1
    this.#inRun += 1
  }

  #leave(member: T): void {
    const { slot } = member
    member.slot = NOT_QUEUED
    if (slot >= 0) return this.#leaveHeap(member, slot)
    this.#ring[(RUN - slot) & (this.#ring.length - 1)] = null
    this.#inRun -= 1
    // Both ends are members, so that neither is ever looked for.
    while (this.#from < this.#to && this.#cell(this.#from) === null) this.#from += 1
    while (this.#from < this.#to && this.#cell(this.#to - 1) === null) this.#to -= 1
  }

  #leaveHeap(member: T, slot: number): void {
    const last = this.#heap.pop() as T
    if (last === member) return
    this.#heap[slot] = last
    last.slot = slot
    this.#up(last)
    this.#down(last)
  }

  #cell(at: number): T | null {
    return this.#ring[at & (this.#ring.length - 1)] as T | null
  }

  /** Whether a member of the run may stay where it is. At a hole nobody looks further. */
  #isInOrder(at: number): boolean {
    const member = this.#cell(at) as T
    if (at > this.#from) {
      const before = this.#cell(at - 1)
      if (before === null || this.#before(member, before)) return false
    }
    if (at + 1 === this.#to) return true
    const after = this.#cell(at + 1)
    return after !== null && !this.#before(after, member)
  }

  /** Without holes, and larger if that makes too little room. */
  #renew(isFull: boolean): void {
    const members: T[] = []
    for (let at = this.#from; at < this.#to; at++) {
      const member = this.#cell(at)
      if (member !== null) members.push(member)
    }
    const old = this.#ring.length
    const isTooSmall = isFull && members.length * 2 >= old
    const size = isTooSmall ? Math.max(SMALLEST_RING, old * 2) : old
    this.#ring = Array.from({ length: size }, () => null)
    this.#from = 0
    this.#to = 0
    for (const member of members) {
      this.#ring[this.#to] = member
      member.slot = RUN - this.#to
      this.#to += 1
    }
  }

  #up(member: T): void {
    let { slot } = member
    while (slot > 0) {
      const above = (slot - 1) >> 1
      const other = this.#heap[above] as T
      if (!this.#before(member, other)) break
      this.#heap[slot] = other
      other.slot = slot
      slot = above
    }
    this.#heap[slot] = member
    member.slot = slot
  }

  #down(member: T): void {
    let { slot } = member
    const size = this.#heap.length
    for (;;) {
      const left = 2 * slot + 1
      if (left >= size) break
      const right = left + 1
      const below =
        right < size && this.#before(this.#heap[right] as T, this.#heap[left] as T) ? right : left
      const other = this.#heap[below] as T
      if (!this.#before(other, member)) break
      this.#heap[slot] = other
      other.slot = slot
      slot = below
    }
    this.#heap[slot] = member
    member.slot = slot
  }

  #before(a: T, b: T): boolean {
    this.#effort.comparisons += 1
    return compareOrder(a, b) < 0
  }
}
