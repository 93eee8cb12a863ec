/**
 * The leases that are held: when each runs out, and which request of which worker got it.
 *
 * Only the newest request of a worker is remembered: a worker asks again when it got no
 * answer, and never asks for the one before.
 */
import type { Lease, Task } from '../../kernel/index.ts'
import { TaskQueue, TaskSlots } from '../ready/task-queue.ts'

/** Beyond this many workers those that hold nothing are forgotten, oldest first. */
const MOST_WORKERS = 10_000

interface ClaimedRequest {
  number: number
  tasks: Task[]
}

export class HeldLeases {
  readonly #expiry = new TaskQueue(new TaskSlots((task, at) => task.lease?.expiresAt === at))
  readonly #byWorker = new Map<string, ClaimedRequest>()
  #pushed = 0
  #count = 0

  get count(): number {
    return this.#count
  }

  granted(task: Task, lease: Lease): void {
    this.#count += 1
    this.#expireAt(task, lease.expiresAt)
    const request = this.#byWorker.get(lease.worker)
    if (request === undefined) {
      this.#byWorker.set(lease.worker, { number: lease.request, tasks: [task] })
      if (this.#byWorker.size > MOST_WORKERS) this.#forgetIdleWorker()
    } else if (request.number === lease.request) {
      request.tasks.push(task)
    } else if (request.number < lease.request) {
      request.number = lease.request
      request.tasks = [task]
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
    if (known === undefined || known.number < request) return null
    return known.number === request
      ? known.tasks.filter((task) => holds(task, worker, request))
      : []
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
    for (const [worker, { number, tasks }] of this.#byWorker) {
      if (!tasks.some((task) => holds(task, worker, number))) {
        this.#byWorker.delete(worker)
        return
      }
      looked += 1
      if (looked === 8) return
    }
  }
}

function holds({ lease }: Task, worker: string, request: number): boolean {
  return lease !== null && lease.worker === worker && lease.request === request
}
