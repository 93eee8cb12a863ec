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
 * Places are kept in parallel arrays of numbers, because a million small objects are what
 * makes a garbage collector slow.
 */
import type { Task } from '../kernel/index.ts'

/** Whether the task still stands in line for this time, if it is at the attempt that it was at. */
export type StillThere = (task: Task, at: number) => boolean

const SMALLEST_RING = 8
/** Below this a sweep is not worth its while. */
const FEW = 32

export class Line {
  readonly #isLive: StillThere
  #tasks: (Task | null)[] = []
  #times: number[] = []
  #places: number[] = []
  #attempts: number[] = []
  #first = 0
  #count = 0
  readonly #heapTasks: Task[] = []
  readonly #heapTimes: number[] = []
  readonly #heapPlaces: number[] = []
  readonly #heapAttempts: number[] = []
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
    return (this.#headInHeap ? this.#heapTimes[0] : this.#times[this.#first]) as number
  }

  get headPlace(): number {
    return (this.#headInHeap ? this.#heapPlaces[0] : this.#places[this.#first]) as number
  }

  push(task: Task, time: number, place: number): void {
    if (this.#count === 0 || !this.#beforeLast(time, place)) {
      this.#append(task, time, place, task.attempt)
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
      const time = this.#times[slot] as number
      if (time > until) break
      const task = this.#tasks[slot] as Task
      if (task.attempt === this.#attempts[slot] && this.#isLive(task, time)) found.push(task)
    }
    this.#collectHeap(0, until, most, found)
  }

  #collectHeap(index: number, until: number, most: number, found: Task[]): void {
    if (index >= this.#heapTasks.length || found.length >= most) return
    const time = this.#heapTimes[index] as number
    if (time > until) return
    const task = this.#heapTasks[index] as Task
    if (task.attempt === this.#heapAttempts[index] && this.#isLive(task, time)) found.push(task)
    this.#collectHeap(2 * index + 1, until, most, found)
    this.#collectHeap(2 * index + 2, until, most, found)
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
    const task = this.headTask
    const attempt = this.#headInHeap ? this.#heapAttempts[0] : this.#attempts[this.#first]
    return task.attempt === attempt && this.#isLive(task, this.headTime)
  }

  #findHead(): void {
    if (this.#heapTasks.length === 0) {
      this.#headInHeap = false
      return
    }
    const time = this.#heapTimes[0] as number
    const place = this.#heapPlaces[0] as number
    this.#headInHeap =
      this.#count === 0 ||
      time < (this.#times[this.#first] as number) ||
      (time === this.#times[this.#first] && place < (this.#places[this.#first] as number))
  }

  #dropHead(): void {
    if (this.#headInHeap) return this.#heapPop()
    this.#tasks[this.#first] = null
    this.#first = (this.#first + 1) & (this.#tasks.length - 1)
    this.#count -= 1
  }

  #beforeLast(time: number, place: number): boolean {
    const last = (this.#first + this.#count - 1) & (this.#tasks.length - 1)
    const lastTime = this.#times[last] as number
    return time < lastTime || (time === lastTime && place < (this.#places[last] as number))
  }

  #append(task: Task, time: number, place: number, attempt: number): void {
    if (this.#count === this.#tasks.length) this.#grow()
    const slot = (this.#first + this.#count) & (this.#tasks.length - 1)
    this.#tasks[slot] = task
    this.#times[slot] = time
    this.#places[slot] = place
    this.#attempts[slot] = attempt
    this.#count += 1
  }

  #grow(): void {
    const old = this.#tasks.length
    const size = Math.max(SMALLEST_RING, old * 2)
    const tasks: (Task | null)[] = Array.from({ length: size }, () => null)
    const times: number[] = Array.from({ length: size }, () => 0.5)
    const places: number[] = Array.from({ length: size }, () => 0)
    const attempts: number[] = Array.from({ length: size }, () => 0)
    for (let i = 0; i < this.#count; i++) {
      const slot = (this.#first + i) & (old - 1)
      tasks[i] = this.#tasks[slot] as Task
      times[i] = this.#times[slot] as number
      places[i] = this.#places[slot] as number
      attempts[i] = this.#attempts[slot] as number
    }
    this.#tasks = tasks
    this.#times = times
    this.#places = places
    this.#attempts = attempts
    this.#first = 0
  }

  #heapPush(task: Task, time: number, place: number): void {
    let index = this.#heapTasks.length
    this.#heapTasks.push(task)
    this.#heapTimes.push(time)
    this.#heapPlaces.push(place)
    this.#heapAttempts.push(task.attempt)
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
    this.#heapTimes.pop()
    this.#heapPlaces.pop()
    this.#heapAttempts.pop()
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
    const timeA = this.#heapTimes[a] as number
    const timeB = this.#heapTimes[b] as number
    return (
      timeA < timeB ||
      (timeA === timeB && (this.#heapPlaces[a] as number) < (this.#heapPlaces[b] as number))
    )
  }

  #heapSwap(a: number, b: number): void {
    const task = this.#heapTasks[a] as Task
    const time = this.#heapTimes[a] as number
    const place = this.#heapPlaces[a] as number
    const attempt = this.#heapAttempts[a] as number
    this.#heapTasks[a] = this.#heapTasks[b] as Task
    this.#heapTimes[a] = this.#heapTimes[b] as number
    this.#heapPlaces[a] = this.#heapPlaces[b] as number
    this.#heapAttempts[a] = this.#heapAttempts[b] as number
    this.#heapTasks[b] = task
    this.#heapTimes[b] = time
    this.#heapPlaces[b] = place
    this.#heapAttempts[b] = attempt
  }

  /** Rebuilds the line from its live places, which makes room as well. */
  #sweep(): void {
    const live: { task: Task; time: number; place: number }[] = []
    const keep = (task: Task, time: number, place: number, attempt: number): void => {
      if (task.attempt === attempt && this.#isLive(task, time)) live.push({ task, time, place })
    }
    for (let i = 0; i < this.#count; i++) {
      const slot = (this.#first + i) & (this.#tasks.length - 1)
      const [time, place] = [this.#times[slot] as number, this.#places[slot] as number]
      keep(this.#tasks[slot] as Task, time, place, this.#attempts[slot] as number)
    }
    this.#heapTasks.forEach((task, i) => {
      const [time, place] = [this.#heapTimes[i] as number, this.#heapPlaces[i] as number]
      keep(task, time, place, this.#heapAttempts[i] as number)
    })
    live.sort((a, b) => a.time - b.time || a.place - b.place)
    this.#tasks = []
    this.#times = []
    this.#places = []
    this.#attempts = []
    this.#first = 0
    this.#count = 0
    this.#heapTasks.length = 0
    this.#heapTimes.length = 0
    this.#heapPlaces.length = 0
    this.#heapAttempts.length = 0
    this.#stale = 0
    for (const { task, time, place } of live) this.#append(task, time, place, task.attempt)
    this.#findHead()
  }
}
