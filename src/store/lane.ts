/**
 * A lane: the ready tasks of a channel that have the same limits, so that what stops the
 * first of them stops all of them.
 *
 * One line per priority, highest first, ordered by due time and submission. The lane's own
 * rank is that of its head. A lane is empty, or it stands in exactly one group.
 */
import type { Task } from '../kernel/index.ts'
import type { Gate } from './gate.ts'
import type { Group } from './group.ts'
import { Line } from './line.ts'
import type { Ranked } from './ranks.ts'

interface Bucket {
  readonly priority: number
  readonly line: Line
}

/** A task that left WAITING, or that is to wait for another time, is not where it was. */
function stillReady(task: Task, dueAt: number): boolean {
  return task.state === 'WAITING' && task.dueAt === dueAt
}

export class Lane implements Ranked {
  slot = -1
  /** The head's rank; meaningless while the lane is empty. */
  priority = 0
  dueAt = 0
  submission = 0
  /** Highest priority first. None is empty, but for the one that an empty lane keeps. */
  readonly #buckets: Bucket[] = []
  readonly gates: readonly Gate[]
  /** Where the lane stands: behind one of its gates. */
  group: Group | null = null

  constructor(gates: readonly Gate[]) {
    this.gates = gates
  }

  get isEmpty(): boolean {
    const first = this.#buckets[0]
    return first === undefined || first.line.isEmpty
  }

  /** Only while the lane is not empty. */
  get head(): Task {
    return (this.#buckets[0] as Bucket).line.headTask
  }

  /** Places taken, garbage included. */
  get size(): number {
    return this.#buckets.reduce((sum, { line }) => sum + line.size, 0)
  }

  /** Whether the head is another one now. */
  push(task: Task, priority: number, dueAt: number, submission: number): boolean {
    const index = this.#find(priority)
    let bucket = this.#buckets[index]
    if (bucket === undefined || bucket.priority !== priority) {
      bucket = { priority, line: new Line(stillReady) }
      if (this.isEmpty) this.#buckets.length = 0
      this.#buckets.splice(Math.min(index, this.#buckets.length), 0, bucket)
    }
    bucket.line.push(task, dueAt, submission)
    return this.#rank()
  }

  pop(): Task {
    const { line } = this.#buckets[0] as Bucket
    const task = line.pop()
    this.#dropIfEmpty(0)
    this.#rank()
    return task
  }

  /** A task of this priority is no longer ready. Whether the head is another one now. */
  discard(priority: number): boolean {
    const index = this.#find(priority)
    const bucket = this.#buckets[index]
    if (bucket === undefined || bucket.priority !== priority) return false
    bucket.line.discard()
    this.#dropIfEmpty(index)
    return this.#rank()
  }

  /** The lane stops at the first of its gates that is closed. */
  closedGate(): Gate | null {
    for (const gate of this.gates) if (gate.isClosed) return gate
    return null
  }

  #dropIfEmpty(index: number): void {
    if (this.#buckets.length > 1 && this.#buckets[index]?.line.isEmpty === true) {
      this.#buckets.splice(index, 1)
    }
  }

  /** The index of the first bucket whose priority is not higher. */
  #find(priority: number): number {
    let low = 0
    let high = this.#buckets.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.#buckets[middle] as Bucket).priority > priority) low = middle + 1
      else high = middle
    }
    return low
  }

  #rank(): boolean {
    const first = this.#buckets[0]
    if (first === undefined || first.line.isEmpty) return true
    const { headTime, headPlace } = first.line
    if (headPlace === this.submission && headTime === this.dueAt) return false
    this.priority = first.priority
    this.dueAt = headTime
    this.submission = headPlace
    return true
  }
}
