/**
 * The leases that are held: when each runs out, and which request of which worker got it.
 *
 * Only the two newest requests of a worker are remembered: a worker asks again when it got no answer, has
 * at most two claims under way, and never asks for an older one.
 */
import type { Lease, Task } from '../../kernel/index.ts'
import { TaskQueue, TaskSlots } from '../ready/task-queue.ts'

/** Beyond this many workers those that hold nothing are forgotten, oldest first. */
const MOST_WORKERS = 10_000

interface ClaimedRequest {
  readonly number: number
  readonly tasks: Task[]
}

/** The second has the lower number. */
interface WorkerRequests {
  newest: ClaimedRequest
  before: ClaimedRequest | null
}

export class HeldLeases {
  readonly #expiry = new TaskQueue(new TaskSlots((task, at) => task.lease?.expiresAt === at))
  readonly #byWorker = new Map<string, WorkerRequests>()
  #pushed = 0
  #count = 0

  get count(): number {
    return this.#count
  }

  granted(task: Task, lease: Lease): void {
    this.#count += 1
    this.#expireAt(task, lease.expiresAt)
    const { worker, request: number } = lease
    const known = this.#byWorker.get(worker)
    if (known === undefined) {
      this.#byWorker.set(worker, { newest: { number, tasks: [task] }, before: null })
      if (this.#byWorker.size > MOST_WORKERS) this.#forgetIdleWorker()
    } else if (known.newest.number < number) {
      known.before = known.newest
      known.newest = { number, tasks: [task] }
    } else {
      requestOf(known, number)?.tasks.push(task)
    }
  }

  extended(task: Task, lease: Lease): void {
    this.#expiry.discard()
    this.#expireAt(task, lease.expiresAt)
  }

  ended(): void {
    this.#count -= 1
    this.#expiry.discard()
  }

  /** The tasks that a request got and its worker still holds; null if it got none. */
  ofRequest(worker: string, request: number): Task[] | null {
    const known = this.#byWorker.get(worker)
    if (known === undefined || known.newest.number < request) return null
    const tasks = requestOf(known, request)?.tasks ?? []
    return tasks.filter((task) => holds(task, worker, request))
  }

  /** Every task that holds a lease, once; in no order. */
  all(): readonly Task[] {
    const found: Task[] = []
    this.#expiry.collect(Infinity, Infinity, found)
    return found
  }

  /** Adds tasks whose lease ran out. */
  collectExpired(now: number, most: number, found: Task[]): void {
    this.#expiry.collect(now, most, found)
  }

  #expireAt(task: Task, at: number): void {
    this.#pushed += 1
    this.#expiry.push(task, at, this.#pushed)
  }

  #forgetIdleWorker(): void {
    let looked = 0
    for (const [worker, { newest, before }] of this.#byWorker) {
      if (!isHeld(worker, newest) && (before === null || !isHeld(worker, before))) {
        this.#byWorker.delete(worker)
        return
      }
      looked += 1
      if (looked === 8) return
    }
  }
}

function requestOf({ newest, before }: WorkerRequests, number: number): ClaimedRequest | null {
  if (newest.number === number) return newest
  return before?.number === number ? before : null
}

function isHeld(worker: string, { number, tasks }: ClaimedRequest): boolean {
  return tasks.some((task) => holds(task, worker, number))
}

function holds({ lease }: Task, worker: string, request: number): boolean {
  return lease !== null && lease.worker === worker && lease.request === request
}
