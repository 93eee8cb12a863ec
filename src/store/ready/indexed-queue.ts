/**
 * Two priority queues. The caller says which of two members comes first.
 *
 * `Heap`: a binary heap in an array.
 *
 * `IndexedQueue`: its members know where they are, so that one whose rank changed can be moved, and
 * any can be removed. Members nearly always come in order: a group that was served goes to the end
 * of the round, and a list whose first task was taken has a later one. So the queue has two parts:
 * - a run: a linked list of members that came in order. To append, remove or take the first is
 *   O(1), however many there are.
 * - a heap of members that came out of order; O(log n).
 * Its first member is the smaller of the two firsts.
 */
export type IsBefore<T> = (a: T, b: T) => boolean

export class Heap<T> {
  readonly items: T[] = []
  protected readonly isBefore: IsBefore<T>

  constructor(isBefore: IsBefore<T>) {
    this.isBefore = isBefore
  }

  push(item: T): void {
    this.items.push(item)
    this.#siftUp(item, this.items.length - 1)
  }

  removeAt(slot: number): void {
    const last = this.items.pop() as T
    if (slot < this.items.length) this.#sift(last, slot)
  }

  /** The rank of the item in this slot changed. */
  movedAt(slot: number): void {
    this.#sift(this.items[slot] as T, slot)
  }

  /** A subclass that removes from the middle notes where its items are. */
  protected noteSlot(_item: T, _slot: number): void {}

  #sift(item: T, slot: number): void {
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

/** Only the queue writes these fields. A member is in one queue at a time. */
export interface QueueMember {
  /** `NOT_QUEUED`, `IN_RUN`, or its slot in the heap. */
  slot: number
  /** Its neighbours in the run. */
  previous: QueueMember | null
  next: QueueMember | null
}

export const NOT_QUEUED = -1
const IN_RUN = -2

export class IndexedQueue<T extends QueueMember> extends Heap<T> {
  #runFirst: T | null = null
  #runLast: T | null = null
  #first: T | null = null

  get first(): T | null {
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

  /** The member's rank changed. */
  moved(member: T): void {
    if (member.slot !== IN_RUN) {
      this.movedAt(member.slot)
    } else if (!this.#isInOrder(member)) {
      this.#leave(member)
      this.#enter(member)
    }
    this.#findFirst()
  }

  #findFirst(): void {
    const run = this.#runFirst
    const [top] = this.items
    if (run === null || top === undefined) this.#first = run ?? top ?? null
    else this.#first = this.isBefore(top, run) ? top : run
  }

  #isInOrder(member: T): boolean {
    const { previous, next } = member
    if (previous !== null && this.isBefore(member, previous as T)) return false
    return next === null || !this.isBefore(next as T, member)
  }

  #enter(member: T): void {
    const last = this.#runLast
    if (last !== null && this.isBefore(member, last)) return this.push(member)
    if (last === null) this.#runFirst = member
    else last.next = member
    member.previous = last
    member.slot = IN_RUN
    this.#runLast = member
  }

  #leave(member: T): void {
    const { slot, previous, next } = member
    member.slot = NOT_QUEUED
    if (slot !== IN_RUN) return this.removeAt(slot)
    member.previous = null
    member.next = null
    if (previous === null) this.#runFirst = next as T | null
    else previous.next = next
    if (next === null) this.#runLast = previous as T | null
    else next.previous = previous
  }

  protected override noteSlot(member: T, slot: number): void {
    member.slot = slot
  }
}
