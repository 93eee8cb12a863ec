/**
 * A queue of tasks, ordered by a time and, within it, by a number.
 *
 * Tasks nearly always come in order, so a queue has two parts:
 * - a run: a linked list of tasks that came in order. To append and to take the first is O(1).
 * - a heap of tasks that came out of order; O(log n).
 * The head is the smaller of the two firsts.
 *
 * A task that leaves from the middle is removed later. The caller says `discard`; the slot of the
 * task stays, as garbage, until it comes to the head (`trim`), or until more than half of the
 * queue is garbage. A slot is for one attempt: a task that was granted and came back has another
 * one, and the old one stays garbage even if the task waits for the same time again. So does the slot of a
 * task that was rescheduled: it waits under another number.
 *
 * After `discard` the head is live. After `pop` it may be garbage, until `trim`: to look, the queue
 * has to fetch the task, and a caller may never need it.
 *
 * The slots of many queues are rows of one table (`TaskSlots`), a task and four numbers each. A
 * million small objects would make garbage collections slow, and ten thousand queues with arrays
 * of their own would be ten thousand times what the processor has to fetch.
 */
import type { Task } from '../../kernel/index.ts'
import { Heap } from './indexed-queue.ts'

/** Whether a task still waits for this time, under this number, if it is at the same attempt. */
export type IsLive = (task: Task, time: number, number: number) => boolean

/** Below this much garbage a sweep is not worth its while. */
const LITTLE_GARBAGE = 32

const NO_SLOT = -1
/** The numbers of a slot. */
const TIME = 0
const NUMBER = 1
/** That the task was at. */
const ATTEMPT = 2
/** The next slot of the run, or the next one that is free. */
const NEXT = 3
const NUMBERS = 4

const FEWEST_SLOTS = 32
/** A table of so many is kept while no task waits: that many leases come and go all the time. */
const KEPT_SLOTS = 512

/** The table. A slot that was freed last is used first: it is still in the cache. */
export class TaskSlots {
  readonly #isLive: IsLive
  #tasks: (Task | null)[] = []
  #numbers = new Float64Array(FEWEST_SLOTS * NUMBERS)
  #free = NO_SLOT
  #used = 0

  constructor(isLive: IsLive) {
    this.#isLive = isLive
  }

  get used(): number {
    return this.#used
  }

  /** How many slots there is memory for. */
  get capacity(): number {
    return this.#numbers.length / NUMBERS
  }

  add(task: Task, time: number, number: number): number {
    const slot = this.#freeSlot()
    const at = slot * NUMBERS
    this.#tasks[slot] = task
    this.#numbers[at + TIME] = time
    this.#numbers[at + NUMBER] = number
    this.#numbers[at + ATTEMPT] = task.attempt
    this.#numbers[at + NEXT] = NO_SLOT
    this.#used += 1
    return slot
  }

  free(slot: number): void {
    this.#used -= 1
    if (this.#used === 0 && this.#tasks.length > KEPT_SLOTS) return this.#clear()
    this.#tasks[slot] = null
    this.#numbers[slot * NUMBERS + NEXT] = this.#free
    this.#free = slot
  }

  task(slot: number): Task {
    return this.#tasks[slot] as Task
  }

  time(slot: number): number {
    return this.#numbers[slot * NUMBERS + TIME] as number
  }

  number(slot: number): number {
    return this.#numbers[slot * NUMBERS + NUMBER] as number
  }

  next(slot: number): number {
    return this.#numbers[slot * NUMBERS + NEXT] as number
  }

  link(slot: number, next: number): void {
    this.#numbers[slot * NUMBERS + NEXT] = next
  }

  isLive(slot: number): boolean {
    const task = this.#tasks[slot] as Task
    if (task.attempt !== this.#numbers[slot * NUMBERS + ATTEMPT]) return false
    return this.#isLive(task, this.time(slot), this.number(slot))
  }

  readonly isBefore = (a: number, b: number): boolean => {
    const timeA = this.time(a)
    const timeB = this.time(b)
    return timeA < timeB || (timeA === timeB && this.number(a) < this.number(b))
  }

  #freeSlot(): number {
    const slot = this.#free
    if (slot !== NO_SLOT) {
      this.#free = this.next(slot)
      return slot
    }
    const slots = this.#tasks.length
    if (slots === this.capacity) {
      const numbers = new Float64Array(slots * 2 * NUMBERS)
      numbers.set(this.#numbers)
      this.#numbers = numbers
    }
    this.#tasks.push(null)
    return slots
  }

  /** No task waits: gives back the memory that a great many needed. */
  #clear(): void {
    this.#tasks = []
    this.#free = NO_SLOT
    this.#numbers = new Float64Array(FEWEST_SLOTS * NUMBERS)
  }
}

export class TaskQueue {
  readonly #slots: TaskSlots
  #first = NO_SLOT
  #last = NO_SLOT
  /** Slots in the run. */
  #inRun = 0
  /** Slots of tasks that came out of order; null while there was none. */
  #heap: Heap<number> | null = null
  /** How many slots are garbage, or more. */
  #garbage = 0

  constructor(slots: TaskSlots) {
    this.#slots = slots
  }

  /** Slots in use, garbage included. */
  get size(): number {
    return this.#inRun + (this.#heap?.items.length ?? 0)
  }

  get isEmpty(): boolean {
    return this.#head === NO_SLOT
  }

  /** Only while the queue is not empty. */
  get headTask(): Task {
    return this.#slots.task(this.#head)
  }

  /** Infinity while the queue is empty. */
  get headTime(): number {
    const head = this.#head
    return head === NO_SLOT ? Infinity : this.#slots.time(head)
  }

  get headNumber(): number {
    const head = this.#head
    return head === NO_SLOT ? Infinity : this.#slots.number(head)
  }

  /** Whether the head may be another one now. */
  push(task: Task, time: number, number: number): boolean {
    const slot = this.#slots.add(task, time, number)
    if (this.#last === NO_SLOT || !this.#slots.isBefore(slot, this.#last)) {
      this.#append(slot)
      return this.#first === slot
    }
    this.#heap ??= new Heap(this.#slots.isBefore)
    this.#heap.push(slot)
    return true
  }

  pop(): Task {
    const task = this.#slots.task(this.#head)
    this.#dropHead()
    return task
  }

  /** Drops garbage from the head. Whether there was any. */
  trim(): boolean {
    let isOther = false
    for (let head = this.#head; head !== NO_SLOT; head = this.#head) {
      if (this.#slots.isLive(head)) break
      this.#dropHead()
      if (this.#garbage > 0) this.#garbage -= 1
      isOther = true
    }
    return isOther
  }

  /** AFTER a task of this queue stopped waiting: its slot is garbage from now on. */
  discard(): void {
    this.#garbage += 1
    this.trim()
    if (this.#garbage > LITTLE_GARBAGE && this.#garbage * 2 > this.size) this.#sweep()
  }

  /** No task of it waits: all of it is garbage. */
  clear(): void {
    while (this.#head !== NO_SLOT) this.#dropHead()
    this.#heap = null
    this.#garbage = 0
  }

  /** Adds up to `most` live tasks whose time has come to `found`; in no order, and none leaves. */
  collect(until: number, most: number, found: Task[]): void {
    const slots = this.#slots
    for (let slot = this.#first; slot !== NO_SLOT; slot = slots.next(slot)) {
      if (found.length >= most || slots.time(slot) > until) break
      if (slots.isLive(slot)) found.push(slots.task(slot))
    }
    const others = this.#heap?.items ?? []
    if (others.length === 0 || slots.time(others[0] as number) > until) return
    for (const slot of others) {
      if (found.length >= most) return
      if (slots.time(slot) <= until && slots.isLive(slot)) found.push(slots.task(slot))
    }
  }

  get #head(): number {
    const top = this.#heap?.items[0] ?? NO_SLOT
    if (top === NO_SLOT) return this.#first
    return this.#first === NO_SLOT || this.#slots.isBefore(top, this.#first) ? top : this.#first
  }

  #append(slot: number): void {
    if (this.#last === NO_SLOT) this.#first = slot
    else this.#slots.link(this.#last, slot)
    this.#last = slot
    this.#inRun += 1
  }

  #dropHead(): void {
    const head = this.#head
    if (head === this.#first) {
      this.#first = this.#slots.next(head)
      if (this.#first === NO_SLOT) this.#last = NO_SLOT
      this.#inRun -= 1
    } else {
      this.#heap?.removeAt(0)
    }
    this.#slots.free(head)
  }

  /** Makes one run of what is live. */
  #sweep(): void {
    const slots = this.#slots
    const all = [...(this.#heap?.items ?? [])]
    for (let slot = this.#first; slot !== NO_SLOT; slot = slots.next(slot)) all.push(slot)
    this.#first = this.#last = NO_SLOT
    this.#inRun = this.#garbage = 0
    this.#heap = null
    const live = all.filter((slot) => slots.isLive(slot))
    live.sort((a, b) => (slots.isBefore(a, b) ? -1 : 1))
    for (const slot of all) if (!slots.isLive(slot)) slots.free(slot)
    for (const slot of live) {
      slots.link(slot, NO_SLOT)
      this.#append(slot)
    }
  }
}
