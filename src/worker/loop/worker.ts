/**
 * A worker: takes jobs as long as it has room for them, and runs them.
 *
 * - working: claims whenever there is room and something may have come; keeps room for jobs that
 *   are granted with their submit, where the store does that.
 * - stopping: claims nothing more. What runs may finish until the deadline, then it is told
 *   to stop, and its leases are given back.
 * - stopped.
 *
 * It never decides anything: who owns a job, and how it ended, is what the store answers.
 */
import type { AnyJob, Runnable } from '../../definition/index.ts'
import { assertName, InvalidDefinition, isPipeline, toMs } from '../../definition/index.ts'
import type { ChannelName, Claimed, Reservation } from '../../store/index.ts'
import { FIRST_WITH_SUBMIT, StoreClosed, StoreEnded } from '../../store/index.ts'
import type { AttemptParts } from '../attempt/attempt.ts'
import { Attempt } from '../attempt/attempt.ts'
import { LeaseKeeper } from '../attempt/lease-keeper.ts'
import { newerJob, REST_MS, Resting } from './newer-version.ts'
import { newWorkerName } from '../random.ts'
import { SharedValues } from '../handler/shared-values.ts'
import { shutdown as onSignal } from './shutdown.ts'
import { runnableFor } from '../../definition/index.ts'
import type { Timer } from '../../store/clock.ts'
import type { WorkerOptions } from '../worker-options.ts'
import { DEFAULT_CONCURRENCY } from '../worker-options.ts'

export type WorkerParts = Omit<AttemptParts, 'keeper' | 'shared' | 'onHandled' | 'onOver'> & {
  readonly onStopped: () => void
  /** Makes a name that was never used before. For tests, which want the same one every time. */
  readonly nameWorker?: ((called?: string) => string) | undefined
}

const DEFAULT_POLL_MS = 50
const DEFAULT_SHARED_POLL_MS = 500
const DEFAULT_SHUTDOWN_MS = 10_000
const DEFAULT_SIGNALS: readonly NodeJS.Signals[] = ['SIGTERM']
/** After a claim that failed. */
const PAUSE_MS = 1_000

export class Worker {
  readonly name: string
  readonly concurrency: number
  readonly #parts: AttemptParts
  readonly #onStopped: () => void
  readonly #definitions: ReadonlyMap<string, AnyJob>
  readonly #channels: readonly ChannelName[]
  readonly #pollMs: number
  readonly #shutdownMs: number
  readonly #attempts = new Set<Attempt>()
  readonly #resting = new Resting()
  /** What is being given back: a process that ended before would let the leases run out. */
  readonly #givingBack = new Set<Promise<void>>()
  /** Places that handlers have, or that are kept for them. */
  #busy = 0
  /** Places that a claim asks for just now. */
  #asked = 0
  #reservations = 0
  #request = 0
  #withSubmit = FIRST_WITH_SUBMIT
  #isClaiming = false
  /** Something may have come since it looked, or there was more than it had room for. */
  #isWanted = false
  #isWakingSoon = false
  #timer: Timer | null = null
  #stopping: Promise<void> | null = null
  #onIdle: () => void = () => undefined

  constructor(parts: WorkerParts, definitions: readonly AnyJob[], options: WorkerOptions = {}) {
    const { concurrency = DEFAULT_CONCURRENCY, poll, shutdown } = options
    if (!Number.isSafeInteger(concurrency) || concurrency < 1) {
      throw new InvalidDefinition(`The concurrency of a worker must be a whole number from 1.`)
    }
    if (options.name !== undefined) assertName(options.name, 'A worker')
    this.name = (parts.nameWorker ?? newWorkerName)(options.name)
    this.concurrency = concurrency
    const keeper = new LeaseKeeper(parts.batcher, parts.timing)
    this.#parts = {
      ...parts,
      keeper,
      shared: new SharedValues(),
      onHandled: () => this.#handled(),
      onOver: (attempt) => this.#over(attempt),
    }
    this.#definitions = byName(definitions)
    this.#channels = channelsOf(definitions, options.queues)
    const usual = parts.store.onNews === undefined ? DEFAULT_POLL_MS : DEFAULT_SHARED_POLL_MS
    this.#pollMs = poll === undefined ? usual : toMs(poll, 'The poll of a worker')
    this.#shutdownMs =
      shutdown === undefined ? DEFAULT_SHUTDOWN_MS : toMs(shutdown, 'The shutdown of a worker')
    const unlisten = onSignal.add(this, options.signals ?? DEFAULT_SIGNALS)
    const leave = parts.store.standBy?.({
      reserve: (channel, most) => this.#reserve(channel, most),
    })
    this.#onStopped = () => {
      leave?.()
      parts.onStopped()
      unlisten()
    }
    this.wake()
  }

  /** How many jobs it has in hand. */
  get running(): number {
    return this.#attempts.size
  }

  /** Whether it would take another job now. */
  get hasRoom(): boolean {
    return this.#stopping === null && this.#busy < this.concurrency
  }

  /** `stage`: null for a plain job. */
  serves(type: string, queue: string, stage: string | null = null): boolean {
    return this.#channels.some(
      (one) => one.type === type && one.queue === queue && one.stage === stage,
    )
  }

  /** Something may have come. */
  wake(): void {
    if (this.#stopping !== null) return
    if (this.#isClaiming || this.#busy >= this.concurrency) {
      this.#isWanted = true
      return
    }
    this.#isClaiming = true
    void this.#claim()
  }

  /** Something happened to a job that it may have in hand; left out: to any of them. */
  lookAgain(job?: string): void {
    this.#parts.keeper.lookAgain(job)
  }

  /** Lets what runs finish, or gives it back when the time is over. Calling it twice is fine. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop()
    return this.#stopping
  }

  /** Drops everything at once and reports nothing, as a crash would. For tests. */
  async kill(): Promise<void> {
    this.#stopping ??= Promise.resolve()
    this.#timer?.cancel()
    for (const attempt of this.#attempts) attempt.die()
    await this.#parts.executor.close()
    this.#onStopped()
  }

  async #claim(): Promise<void> {
    let pauseMs: number | null = this.#pollMs
    try {
      do {
        this.#isWanted = false
        const channels = this.#resting.awake(this.#channels, this.#parts.timing.now())
        if (channels.length === 0) break
        const max = this.concurrency - this.#busy
        // BEFORE asking: the lease may begin any time from now on.
        const askedAt = this.#parts.timing.now()
        this.#request += 1
        this.#asked = max
        const claimed = await this.#parts.store.claim({
          worker: this.name,
          request: this.#request,
          channels,
          max,
          started: true,
        })
        if (this.#stopping === null) for (const one of claimed) this.#take(one, askedAt)
        else await Promise.allSettled(claimed.map((one) => this.#giveBack(one)))
        // AFTER they were taken: in between, nobody is to find room that there is not.
        this.#asked = 0
        if (claimed.length === max) this.#isWanted = true
      } while (this.#isWanted && this.#stopping === null && this.#busy < this.concurrency)
    } catch (error) {
      // A store that has ended stays so: there is nothing more to ask for.
      pauseMs = hasEnded(error) ? null : PAUSE_MS
      if (this.#stopping === null) this.#parts.onError(error as Error)
    } finally {
      this.#asked = 0
      this.#isClaiming = false
    }
    this.#timer?.cancel()
    if (this.#stopping !== null) return this.#lookIfIdle()
    if (pauseMs === null) return
    pauseMs = Math.min(pauseMs, this.#resting.leftMs(this.#parts.timing.now()))
    this.#timer = this.#parts.timing.after(pauseMs, () => this.wake(), true)
  }

  /** Keeps room for jobs that are about to be submitted, unless others wait for it. */
  #reserve({ queue, type, stage }: ChannelName, most: number): Reservation | null {
    if (this.#stopping !== null || this.#isWanted || this.#isWakingSoon) return null
    const places = Math.min(most, this.concurrency - this.#busy - this.#asked)
    if (places < 1 || !this.serves(type, queue, stage)) return null
    // BEFORE it is asked for: the lease may begin any time from now on.
    const askedAt = this.#parts.timing.now()
    if (this.#resting.awake([{ queue, type, stage }], askedAt).length === 0) return null
    this.#busy += places
    this.#reservations += 1
    return {
      worker: this.name,
      request: this.#withSubmit++,
      places,
      settle: (claimed) => this.#settle(places, claimed, askedAt),
    }
  }

  #settle(places: number, claimed: readonly Claimed[], askedAt: number): void {
    this.#makeRoom(places)
    this.#reservations -= 1
    for (const one of claimed) {
      if (this.#stopping === null) this.#take(one, askedAt)
      else this.#return(one)
    }
    this.#lookIfIdle()
  }

  #take(claimed: Claimed, askedAt: number): void {
    const { type, queue, stageName: stage } = claimed
    const definition = runnableFor(this.#definitions.get(type) as AnyJob, stage) as Runnable
    const newer = newerJob(definition, claimed, this.name)
    if (newer === null) return this.#begin(definition, claimed, askedAt)
    // BEFORE it is given back: that wakes whoever might take it.
    const until = this.#parts.timing.now() + REST_MS
    if (this.#resting.rest({ queue, type, stage }, until)) this.#parts.workerEvents.newer(newer)
    this.#return(claimed)
  }

  /** Gives it back, and is not idle before. */
  #return(claimed: Claimed): void {
    const giving = this.#giveBack(claimed)
      .catch((error: unknown) => this.#parts.onError(error as Error))
      .finally(() => {
        this.#givingBack.delete(giving)
        this.#lookIfIdle()
      })
    this.#givingBack.add(giving)
  }

  #begin(definition: Runnable, claimed: Claimed, askedAt: number): void {
    this.#busy += 1
    const attempt = new Attempt(this.#parts, definition, claimed, this.name)
    this.#attempts.add(attempt)
    void attempt.run(askedAt)
  }

  #handled(): void {
    this.#makeRoom(1)
  }

  /** One that had room has looked for everything that came. */
  #makeRoom(places: number): void {
    if (this.#busy >= this.concurrency && this.#isWanted) this.#wakeSoon()
    this.#busy -= places
  }

  #over(attempt: Attempt): void {
    this.#attempts.delete(attempt)
    this.#lookIfIdle()
  }

  /** Handlers that end together make room for one claim, not for one each. */
  #wakeSoon(): void {
    if (this.#isWakingSoon) return
    this.#isWakingSoon = true
    this.#parts.timing.soon(() => {
      this.#isWakingSoon = false
      this.wake()
    })
  }

  /** It came when the worker was already stopping, or it is of a version that it does not know. */
  async #giveBack({ job, stage, segment, lease }: Claimed): Promise<void> {
    const worker = this.name
    await this.#parts.batcher.send({ type: 'ReleaseLease', job, stage, segment, lease, worker })
  }

  #lookIfIdle(): void {
    const inHand = this.#attempts.size + this.#givingBack.size + this.#reservations
    if (inHand === 0 && !this.#isClaiming) this.#onIdle()
  }

  async #stop(): Promise<void> {
    this.#timer?.cancel()
    const { timing, executor } = this.#parts
    const deadline = timing.after(
      this.#shutdownMs,
      () => {
        for (const attempt of this.#attempts) attempt.stop('shutdown')
      },
      true,
    )
    await this.#idle()
    deadline.cancel()
    await executor.close()
    this.#onStopped()
  }

  #idle(): Promise<void> {
    return new Promise((resolve) => {
      this.#onIdle = resolve
      this.#lookIfIdle()
    })
  }
}

function hasEnded(error: unknown): boolean {
  return error instanceof StoreEnded || error instanceof StoreClosed
}

function byName(definitions: readonly AnyJob[]): ReadonlyMap<string, AnyJob> {
  const all = new Map<string, AnyJob>()
  for (const definition of definitions) {
    if (all.has(definition.name)) {
      throw new InvalidDefinition(
        `A worker was given two jobs named '${definition.name}': give it one of them.`,
      )
    }
    all.set(definition.name, definition)
  }
  if (all.size === 0) throw new InvalidDefinition('A worker needs at least one job to work on.')
  return all
}

/** A stage waits in its own queue: a worker that names queues takes of every stage what is there. */
function channelsOf(
  definitions: readonly AnyJob[],
  queues: readonly string[] | undefined,
): ChannelName[] {
  return definitions.flatMap((definition) => {
    const { name: type } = definition
    const parts = isPipeline(definition)
      ? definition.stages.map(({ stage, spec }) => ({ stage, queue: spec.policy.queue }))
      : [{ stage: null, queue: definition.policy.queue }]
    return parts.flatMap(({ stage, queue: own }) =>
      (queues ?? [own]).map((queue) => ({ queue, type, stage })),
    )
  })
}
