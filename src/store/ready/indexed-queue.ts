/**
 * A priority queue whose members know where they are, so that one whose rank changed can be
 * moved, and any can be removed.
 *
 * Members nearly always come in order: a group that was served goes to the end of the round, and
 * a list whose first task was taken has a later one. So a queue has two parts:
 * - a run: a linked list of members that came in order. To append, remove or take the first is
 *   O(1), however many there are.
 * - a heap of members that came out of order; O(log n).
 * The first member of the queue is the smaller of the two firsts.
 */
import type { Place } from '../../kernel/index.ts'
import { compareOrder } from '../../kernel/index.ts'
import { Heap } from './heap.ts'

/** Only the queue writes these fields. A member is in one queue at a time. */
export interface QueueMember extends Place {
  /** `NOT_QUEUED`, `IN_RUN`, or its slot in the heap. */
  slot: number
  /** Its neighbours in the run. */
  previous: QueueMember | null
  next: QueueMember | null
}

export const NOT_QUEUED = -1
const IN_RUN = -2

/** Counted so that a test can show how little is done. All queues of an index share one count. */
export interface Effort {
  /** Comparisons of two members. */
  comparisons: number
}

export class IndexedQueue<T extends QueueMember> extends Heap<T> {
  readonly #effort: Effort
  #runFirst: T | null = null
  #runLast: T | null = null
  #first: T | null = null

  constructor(effort: Effort) {
    super()
    this.#effort = effort
  }

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
      this.resift(member, member.slot)
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

  protected override isBefore(a: T, b: T): boolean {
    this.#effort.comparisons += 1
    return compareOrder(a, b) < 0
  }

  protected override noteSlot(member: T, slot: number): void {
    member.slot = slot
  }
}
