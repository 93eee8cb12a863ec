/**
 * How many jobs may wait in a queue, for clients of this engine: a submit beyond that is refused with
 * `QueueFull`, BEFORE anything is sent.
 *
 * It goes by a count that the store gives, at most a second old, and by what this engine itself has submitted
 * since. A count that says no is read again, unless it is of this very moment: workers may have taken many jobs
 * meanwhile. Nothing here is exact, and `decide` never reads it: other processes submit at the same time.
 */
import type { JobSpec, SubmitJob } from '../../kernel/index.ts'
import { InvalidDefinition } from '../../definition/index.ts'
import type { Timing } from '../../store/clock.ts'
import type { Store } from '../../store/index.ts'
import { QueueFull } from '../errors.ts'

/** Of each queue, or of those that are named. */
export type MaxWaiting = number | { readonly [queue: string]: number }

const OLDEST_COUNT_MS = 1_000
/** A count that says no is not read again within this time, however many submits are refused. */
const REFUSING_MS = 50
/** What is in a transaction of the user's is not in a count until it is committed: it counts for so long. */
const IN_TRANSACTION_MS = 5_000
/** Queues whose counts are remembered. */
const MOST_QUEUES = 1_000

/** How many jobs of a submit would wait in each queue. */
export type JobsByQueue = ReadonlyMap<string, number>

interface CountedQueue {
  /** As the store said last. */
  ready: number
  readAt: number
  /** Of this engine, since it was opened: let through, and those of them that were answered. */
  admitted: number
  answered: number
  /** Those that the count of the store has: answered BEFORE it was read. */
  counted: number
  reading: Promise<void> | null
}

export class WaitingBounds {
  readonly #store: Store
  readonly #timing: Timing
  readonly #bounds: MaxWaiting
  readonly #queues = new Map<string, CountedQueue>()

  constructor(store: Store, timing: Timing, bounds: MaxWaiting) {
    this.#store = store
    this.#timing = timing
    this.#bounds = bounds
  }

  /** Throws `QueueFull`: then none of them may be submitted. Else `answered` is called once they are. */
  async admit(jobs: JobsByQueue): Promise<void> {
    for (const [queue, count] of jobs) await this.#refresh(queue, count)
    // In one turn from here on: what others were let through meanwhile is counted.
    for (const [queue, count] of jobs) {
      const bound = this.#boundOf(queue)
      const waiting = waitingIn(this.#of(queue))
      if (bound !== null && waiting + count > bound) {
        throw new QueueFull(queue, bound, waiting, count)
      }
    }
    for (const [queue, count] of jobs) this.#of(queue).admitted += count
  }

  /** Whether they are in or not: they are no longer on their way, unless a transaction must be committed first. */
  answered(jobs: JobsByQueue, isInTransaction: boolean): void {
    const note = (): void => {
      for (const [queue, count] of jobs) this.#of(queue).answered += count
    }
    if (isInTransaction) this.#timing.after(IN_TRANSACTION_MS, note)
    else note()
  }

  async #refresh(queue: string, count: number): Promise<void> {
    const bound = this.#boundOf(queue)
    if (bound === null) return
    const counted = this.#of(queue)
    const ageMs = this.#timing.now() - counted.readAt
    const isFull = waitingIn(counted) + count > bound
    if (ageMs < (isFull ? REFUSING_MS : OLDEST_COUNT_MS)) return
    counted.reading ??= this.#read(queue, counted)
    await counted.reading
  }

  async #read(queue: string, counted: CountedQueue): Promise<void> {
    const { answered } = counted
    try {
      const { ready } = await this.#store.query({ kind: 'queue', queue })
      Object.assign(counted, { ready, counted: answered, readAt: this.#timing.now() })
    } finally {
      counted.reading = null
    }
  }

  #boundOf(queue: string): number | null {
    if (typeof this.#bounds === 'number') return this.#bounds
    return Object.hasOwn(this.#bounds, queue) ? (this.#bounds[queue] as number) : null
  }

  #of(queue: string): CountedQueue {
    const known = this.#queues.get(queue)
    if (known !== undefined) return known
    if (this.#queues.size >= MOST_QUEUES) this.#forgetIdle()
    const made = {
      ready: 0,
      readAt: -Infinity,
      admitted: 0,
      answered: 0,
      counted: 0,
      reading: null,
    }
    this.#queues.set(queue, made)
    return made
  }

  #forgetIdle(): void {
    for (const [queue, { admitted, answered, reading }] of this.#queues) {
      if (admitted === answered && reading === null) this.#queues.delete(queue)
    }
  }
}

function waitingIn({ ready, admitted, counted }: CountedQueue): number {
  return ready + admitted - counted
}

/** Where the tasks wait that begin with the jobs: one for each such stage of a pipeline. */
export function jobsByQueue(commands: readonly SubmitJob[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const { spec } of commands) addToQueues(counts, spec)
  return counts
}

export function addToQueues(counts: Map<string, number>, { policy, stages }: JobSpec): void {
  const first = (stages ?? []).filter(({ after, onFailure }) => after.length === 0 && !onFailure)
  const queues = policy === null ? first.map((stage) => stage.policy.queue) : [policy.queue]
  for (const queue of queues) counts.set(queue, (counts.get(queue) ?? 0) + 1)
}

export function checkedMaxWaiting(given: unknown): MaxWaiting {
  const bounds: readonly unknown[] =
    typeof given === 'object' && given !== null ? Object.values(given) : [given]
  for (const bound of bounds) {
    if (Number.isSafeInteger(bound) && (bound as number) >= 1) continue
    throw new InvalidDefinition(
      `\`maxWaiting\` is a whole number from 1, for each queue, or such numbers by the names of queues, not ${String(bound)}.`,
    )
  }
  return given as MaxWaiting
}
