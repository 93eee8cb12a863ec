/**
 * A line of tasks, ordered by a time and, within it, by the order of arrival.
 *
 * Tasks nearly always arrive in order, so a line is two things:
 * - a run: a ring of tasks that came in order; joining its end and leaving its head is O(1);
 * - a heap for those that came out of order; O(log n) both ways.
 * The head is the smaller of the two heads.
 *
 * Leaving from the middle is lazy. Whoever takes a task away says `discard`; the place stays,
 * is skipped when it comes to the head, and is swept out with the others once more than half
 * of the line is such garbage. So the head is always live, and nothing is ever searched for.
 * A place is for one attempt: a task that was granted and came back has a new one, and its old
 * place stays garbage even if it waits for the same time again.
 *
 * Places are kept in two arrays, one of tasks and one of numbers: a million small objects are
 * what makes a garbage collector slow. There are few lines; many lanes share one table (`places.ts`).
 */
import type { Task } from '../../kernel/index.ts'

/** Whether the task still stands in line for this time, if it is at the attempt that it was at. */
export type StillThere = (task: Task, at: number) => boolean

const SMALLEST_RING = 8
/** Below this a sweep is not worth its while. */
const FEW = 32

/** The numbers of a place: its time, its place within it, the attempt that the task was at. */
const TIME = 0
const PLACE = 1
const ATTEMPT = 2
const NUMBERS = 3

export class TaskQueue {
  readonly #isLive: StillThere
  #tasks: (Task | null)[] = []
  #numbers: number[] = []
  #first = 0
  #count = 0
  readonly #heapTasks: Task[] = []
  readonly #heapNumbers: number[] = []
  #stale = 0
  #headInHeap = false

  constructor(isLive: StillThere) {
    this.#isLive = isLive
  }

  /** Places taken, garbage included. */
  get size(): number {
    return this.#count + this.#heapTasks.length
  }

  get isEmpty(): boolean {
    return this.#count === 0 && this.#heapTasks.length === 0
  }

  /** Only while the line is not empty. */
  get headTask(): Task {
    return (this.#headInHeap ? this.#heapTasks[0] : this.#tasks[this.#first]) as Task
  }

  get headTime(): number {
    return (
      this.#headInHeap ? this.#heapNumbers[TIME] : this.#numbers[this.#first * NUMBERS + TIME]
    ) as number
  }

  get headPlace(): number {
    return (
      this.#headInHeap ? this.#heapNumbers[PLACE] : this.#numbers[this.#first * NUMBERS + PLACE]
    ) as number
  }

  push(task: Task, time: number, place: number): void {
    if (this.#count === 0 || !this.#beforeLast(time, place)) {
      if (this.#count === this.#tasks.length) this.#resize(this.#tasks.length * 2)
      this.#append(task, time, place)
    } else {
      this.#heapPush(task, time, place)
    }
    this.#findHead()
  }

  /** Takes the head out. What comes to the head instead is live. */
  pop(): Task {
    const task = this.headTask
    this.#dropHead()
    this.#trim()
    return task
  }

  /** A task of this line left it: its place is garbage from now on. */
  discard(): void {
    this.#stale += 1
    this.#trim()
    if (this.#stale > FEW && this.#stale * 2 > this.size) this.#sweep()
  }

  /** Adds up to `most` live tasks whose time has come to `found`; in no order, and none leaves. */
  collect(until: number, most: number, found: Task[]): void {
    const mask = this.#tasks.length - 1
    for (let i = 0; i < this.#count && found.length < most; i++) {
      const slot = (this.#first + i) & mask
      if ((this.#numbers[slot * NUMBERS + TIME] as number) > until) break
      const task = this.#tasks[slot] as Task
      if (this.#isPlaceOf(task, this.#numbers, slot)) found.push(task)
    }
    this.#collectHeap(0, until, most, found)
  }

  #collectHeap(index: number, until: number, most: number, found: Task[]): void {
    if (index >= this.#heapTasks.length || found.length >= most) return
    if ((this.#heapNumbers[index * NUMBERS + TIME] as number) > until) return
    const task = this.#heapTasks[index] as Task
    if (this.#isPlaceOf(task, this.#heapNumbers, index)) found.push(task)
    this.#collectHeap(2 * index + 1, until, most, found)
    this.#collectHeap(2 * index + 2, until, most, found)
  }

  /** Whether a place still counts. */
  #isPlaceOf(task: Task, numbers: readonly number[], slot: number): boolean {
    const at = slot * NUMBERS
    return (
      task.attempt === numbers[at + ATTEMPT] && this.#isLive(task, numbers[at + TIME] as number)
    )
  }

  #trim(): void {
    this.#findHead()
    while (!this.isEmpty && !this.#headIsLive()) {
      this.#dropHead()
      this.#findHead()
      if (this.#stale > 0) this.#stale -= 1
    }
  }

  #headIsLive(): boolean {
    return this.#headInHeap
      ? this.#isPlaceOf(this.#heapTasks[0] as Task, this.#heapNumbers, 0)
      : this.#isPlaceOf(this.#tasks[this.#first] as Task, this.#numbers, this.#first)
  }

  #findHead(): void {
    if (this.#heapTasks.length === 0) {
      this.#headInHeap = false
      return
    }
    const at = this.#first * NUMBERS
    const time = this.#heapNumbers[TIME] as number
    const place = this.#heapNumbers[PLACE] as number
    this.#headInHeap =
      this.#count === 0 ||
      time < (this.#numbers[at + TIME] as number) ||
      (time === this.#numbers[at + TIME] && place < (this.#numbers[at + PLACE] as number))
  }

  #dropHead(): void {
    if (this.#headInHeap) return this.#heapPop()
    this.#tasks[this.#first] = null
    this.#first = (this.#first + 1) & (this.#tasks.length - 1)
    this.#count -= 1
  }

  #beforeLast(time: number, place: number): boolean {
    const at = ((this.#first + this.#count - 1) & (this.#tasks.length - 1)) * NUMBERS
    const lastTime = this.#numbers[at + TIME] as number
    return time < lastTime || (time === lastTime && place < (this.#numbers[at + PLACE] as number))
  }

  /** There is room. */
  #append(task: Task, time: number, place: number): void {
    const slot = (this.#first + this.#count) & (this.#tasks.length - 1)
    const at = slot * NUMBERS
    this.#tasks[slot] = task
    this.#numbers[at + TIME] = time
    this.#numbers[at + PLACE] = place
    this.#numbers[at + ATTEMPT] = task.attempt
    this.#count += 1
  }

  /** A ring of at least so many places, with what is in it. */
  #resize(least: number): void {
    const [old, oldNumbers] = [this.#tasks, this.#numbers]
    let size = SMALLEST_RING
    while (size < least) size *= 2
    const tasks: (Task | null)[] = []
    tasks.length = size
    tasks.fill(null)
    // Not whole from the beginning: arrays of small integers would be made anew with the first time.
    const numbers: number[] = []
    numbers.length = size * NUMBERS
    numbers.fill(0.5)
    for (let i = 0; i < this.#count; i++) {
      const slot = (this.#first + i) & (old.length - 1)
      tasks[i] = old[slot] as Task
      for (let n = 0; n < NUMBERS; n++) {
        numbers[i * NUMBERS + n] = oldNumbers[slot * NUMBERS + n] as number
      }
    }
    this.#tasks = tasks
    this.#numbers = numbers
    this.#first = 0
  }

  #heapPush(task: Task, time: number, place: number): void {
    let index = this.#heapTasks.length
    this.#heapTasks.push(task)
    this.#heapNumbers.push(time, place, task.attempt)
    while (index > 0) {
      const parent = (index - 1) >> 1
      if (!this.#heapBefore(index, parent)) return
      this.#heapSwap(index, parent)
      index = parent
    }
  }

  #heapPop(): void {
    const last = this.#heapTasks.length - 1
    this.#heapSwap(0, last)
    this.#heapTasks.pop()
    this.#heapNumbers.length = last * NUMBERS
    let index = 0
    for (;;) {
      const left = 2 * index + 1
      if (left >= last) return
      const right = left + 1
      const child = right < last && this.#heapBefore(right, left) ? right : left
      if (!this.#heapBefore(child, index)) return
      this.#heapSwap(index, child)
      index = child
    }
  }

  #heapBefore(a: number, b: number): boolean {
    const numbers = this.#heapNumbers
    const timeA = numbers[a * NUMBERS + TIME] as number
    const timeB = numbers[b * NUMBERS + TIME] as number
    if (timeA !== timeB) return timeA < timeB
    return (numbers[a * NUMBERS + PLACE] as number) < (numbers[b * NUMBERS + PLACE] as number)
  }

  #heapSwap(a: number, b: number): void {
    const task = this.#heapTasks[a] as Task
    this.#heapTasks[a] = this.#heapTasks[b] as Task
    this.#heapTasks[b] = task
    const numbers = this.#heapNumbers
    for (let n = 0; n < NUMBERS; n++) {
      const number = numbers[a * NUMBERS + n] as number
      numbers[a * NUMBERS + n] = numbers[b * NUMBERS + n] as number
      numbers[b * NUMBERS + n] = number
    }
  }

  /** Rebuilds the line from its live places, which makes room as well. */
  #sweep(): void {
    const live: { task: Task; time: number; place: number }[] = []
    const keep = (task: Task, numbers: readonly number[], slot: number): void => {
      if (!this.#isPlaceOf(task, numbers, slot)) return
      const at = slot * NUMBERS
      live.push({ task, time: numbers[at + TIME] as number, place: numbers[at + PLACE] as number })
    }
    for (let i = 0; i < this.#count; i++) {
      const slot = (this.#first + i) & (this.#tasks.length - 1)
      keep(this.#tasks[slot] as Task, this.#numbers, slot)
    }
    this.#heapTasks.forEach((task, i) => keep(task, this.#heapNumbers, i))
    live.sort((a, b) => a.time - b.time || a.place - b.place)
    this.#count = 0
    this.#heapTasks.length = 0
    this.#heapNumbers.length = 0
    this.#stale = 0
    this.#first = 0
    // Room for twice what there is: it had as much garbage, and will have it again.
    const needed = Math.max(SMALLEST_RING, 2 * live.length)
    if (this.#tasks.length < needed || this.#tasks.length > 4 * needed) this.#resize(needed)
    else this.#tasks.fill(null)
    for (const { task, time, place } of live) this.#append(task, time, place)
    this.#findHead()
  }
}
