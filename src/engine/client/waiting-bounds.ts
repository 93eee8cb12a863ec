/**
 * How many jobs may wait in a queue, for clients of this engine: a submit beyond that is refused with
 * `QueueFull`, BEFORE anything is sent.
 *
 * It goes by a count that the store gives, at most a second old, and by what this engine itself has submitted
 * since. A count that says no is read again, unless it is of this very moment: workers may have taken many jobs
 * meanwhile. Nothing here is exact, and `decide` never reads it: other processes submit at the same time.
 *
 * A job whose id or key is known is no more work, and is answered as the first time, however full the queue is.
 * Only when there is no room for all, the store is asked which of them these are.
 */
import type { JobSpec } from '../../kernel/index.ts'
import { isFinal } from '../../kernel/index.ts'
import { InvalidDefinition } from '../../definition/index.ts'
import type { Timing } from '../../store/clock.ts'
import type { Store } from '../../store/index.ts'
import { QueueFull } from '../errors.ts'
import type { Refusals } from '../refusals.ts'

/** Of each queue, or of those that are named. */
export type MaxWaiting = number | { readonly [queue: string]: number }

const OLDEST_COUNT_MS = 1_000
/** A count that says no is not read again within this time, however many submits are refused. */
const REFUSING_MS = 50
/** What is in a transaction of the user's is not in a count until it is committed: it counts for so long. */
const IN_TRANSACTION_MS = 5_000
/** Jobs that had a unique key before, and are over, come first. */
const MOST_WITH_KEY = 1_000
/** Queues whose counts are remembered. */
const MOST_QUEUES = 1_000

/** A job that may have been submitted before. */
interface NamedJob {
  /** Null: it was made for this submit. */
  readonly id: string | null
  readonly type: string
  readonly key: string | null
  readonly unique: boolean
  readonly queues: readonly string[]
}

/** How many jobs of a submit would wait in each queue: one for each stage that a pipeline begins with. */
export class JobsToAdmit {
  readonly byQueue = new Map<string, number>()
  named: NamedJob[] = []
  /** How many jobs these are, repeats included. */
  total = 0

  /** `id`: as the caller gave it; null: it was made for this submit. */
  add(id: string | null, { type, key, unique, policy, stages }: JobSpec): void {
    const first = (stages ?? []).filter(({ after, onFailure }) => after.length === 0 && !onFailure)
    const queues = policy === null ? first.map((stage) => stage.policy.queue) : [policy.queue]
    this.total += 1
    this.#count(queues, 1)
    if (id !== null || key !== null) this.named.push({ id, type, key, unique, queues })
  }

  /** It is known: it does not wait once more. */
  leaveOut({ queues }: NamedJob): void {
    this.#count(queues, -1)
  }

  #count(queues: readonly string[], by: number): void {
    for (const queue of queues) this.byQueue.set(queue, (this.byQueue.get(queue) ?? 0) + by)
  }
}

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
  readonly #refusals: Refusals
  readonly #queues = new Map<string, CountedQueue>()

  constructor(store: Store, timing: Timing, bounds: MaxWaiting, refusals: Refusals) {
    this.#store = store
    this.#timing = timing
    this.#bounds = bounds
    this.#refusals = refusals
  }

  /** Throws `QueueFull`: then none of them may be submitted. Else `answered` is called once they are. */
  async admit(jobs: JobsToAdmit): Promise<void> {
    for (const [queue, count] of jobs.byQueue) await this.#refresh(queue, count)
    if (this.#refusal(jobs) !== null) await this.#leaveOutRepeats(jobs)
    // In one turn from here on: what others were let through meanwhile is counted.
    const refusal = this.#refusal(jobs)
    if (refusal !== null) throw this.#refusals.note('SubmitJob', null, refusal, jobs.total)
    for (const [queue, count] of jobs.byQueue) this.#of(queue).admitted += count
  }

  /** Null: there is room for all. */
  #refusal({ byQueue }: JobsToAdmit): QueueFull | null {
    for (const [queue, count] of byQueue) {
      const bound = this.#boundOf(queue)
      const waiting = waitingIn(this.#of(queue))
      if (bound !== null && count > 0 && waiting + count > bound) {
        return new QueueFull(queue, bound, waiting, count)
      }
    }
    return null
  }

  async #leaveOutRepeats(jobs: JobsToAdmit): Promise<void> {
    const { named } = jobs
    jobs.named = []
    for (const one of named) if (await this.#isKnown(one)) jobs.leaveOut(one)
  }

  async #isKnown({ id, type, key, unique }: NamedJob): Promise<boolean> {
    if (id !== null && (await this.#store.query({ kind: 'outcome', job: id })) !== null) return true
    if (key === null) return false
    const { jobs } = await this.#store.query({ kind: 'jobs', type, key, limit: MOST_WITH_KEY })
    // A unique key is free again once its job is over.
    return jobs.some(({ state }) => !unique || !isFinal(state))
  }

  /** Whether they are in or not: they are no longer on their way, unless a transaction must be committed first. */
  answered({ byQueue }: JobsToAdmit, isInTransaction: boolean): void {
    const note = (): void => {
      for (const [queue, count] of byQueue) this.#of(queue).answered += count
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

/** Null: any number may wait. */
export function waitingBounds(
  parts: {
    readonly store: Store
    readonly timing: Timing
    readonly maxWaiting?: MaxWaiting | undefined
  },
  refusals: Refusals,
): WaitingBounds | null {
  const { store, timing, maxWaiting } = parts
  return maxWaiting === undefined ? null : new WaitingBounds(store, timing, maxWaiting, refusals)
}
