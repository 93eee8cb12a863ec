/**
 * The places in line of a ready-index, all in one table. A place is a row: a task, and four
 * numbers. Rows are numbered; whoever takes one links it to the next of its own (`lane.ts`).
 *
 * One table for all lanes, because ten thousand lanes with arrays of their own are ten thousand
 * times what the processor has to fetch. Here a lane's next place is one row, rows that came one
 * after the other stand beside each other, and the garbage collector has one array to look at.
 *
 * A row is taken, or free. Rows that were given back last are taken first: they are still at hand.
 */
import type { Task } from '../../kernel/index.ts'

/** Instead of a row: there is none. */
export const NO_SLOT = -1

/** The numbers of a row. */
const TIME = 0
const NUMBER = 1
/** That the task was at: a place is for one attempt. */
const ATTEMPT = 2
/** The next row of the lane, or the next one that is free. */
const NEXT = 3
const NUMBERS = 4

const FEWEST_ROWS = 32

export class SlotTable {
  #tasks: (Task | null)[] = []
  #numbers = new Float64Array(FEWEST_ROWS * NUMBERS)
  #free = NO_SLOT
  #taken = 0

  /** Places that are taken, and those that there is memory for. */
  get taken(): number {
    return this.#taken
  }

  get rows(): number {
    return this.#numbers.length / NUMBERS
  }

  /** The row of a new place, which is linked to none. */
  take(task: Task, time: number, number: number): number {
    const row = this.#freeRow()
    const at = row * NUMBERS
    this.#tasks[row] = task
    this.#numbers[at + TIME] = time
    this.#numbers[at + NUMBER] = number
    this.#numbers[at + ATTEMPT] = task.attempt
    this.#numbers[at + NEXT] = NO_SLOT
    this.#taken += 1
    return row
  }

  giveBack(row: number): void {
    this.#taken -= 1
    if (this.#taken === 0 && this.#tasks.length > FEWEST_ROWS) return this.#clear()
    this.#tasks[row] = null
    this.#numbers[row * NUMBERS + NEXT] = this.#free
    this.#free = row
  }

  task(row: number): Task {
    return this.#tasks[row] as Task
  }

  time(row: number): number {
    return this.#numbers[row * NUMBERS + TIME] as number
  }

  number(row: number): number {
    return this.#numbers[row * NUMBERS + NUMBER] as number
  }

  next(row: number): number {
    return this.#numbers[row * NUMBERS + NEXT] as number
  }

  link(row: number, next: number): void {
    this.#numbers[row * NUMBERS + NEXT] = next
  }

  /** Whether the task still waits there. One that was granted and came back has another place. */
  isLive(row: number): boolean {
    const task = this.#tasks[row] as Task
    return task.state === 'WAITING' && task.attempt === this.#numbers[row * NUMBERS + ATTEMPT]
  }

  #freeRow(): number {
    const row = this.#free
    if (row !== NO_SLOT) {
      this.#free = this.next(row)
      return row
    }
    const rows = this.#tasks.length
    if (rows * NUMBERS === this.#numbers.length) {
      const numbers = new Float64Array(rows * 2 * NUMBERS)
      numbers.set(this.#numbers)
      this.#numbers = numbers
    }
    this.#tasks.push(null)
    return rows
  }

  /** Nobody waits: what a great many needed is given back. */
  #clear(): void {
    this.#tasks = []
    this.#free = NO_SLOT
    this.#numbers = new Float64Array(FEWEST_ROWS * NUMBERS)
  }
}
