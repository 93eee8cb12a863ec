/**
 * A worker: claims jobs as long as it has places for them, and runs them.
 *
 * - working: claims whenever there is a place and jobs may be ready, and by its pace some ahead, which
 *   wait here for a place; reserves places for jobs that the store grants with their submit, where it
 *   does that.
 * - stopping: claims nothing more, and gives back at once what waits here. Handlers may finish until
 *   the deadline; then the worker stops them and gives their leases back.
 * - stopped.
 *
 * It never decides anything: the store answers which worker owns a job, and how it ended.
 */
import type { AnyJob, Runnable } from '../../definition/index.ts'
import {
  assertName,
  InvalidDefinition,
  isPipeline,
  runnableFor,
  toMs,
} from '../../definition/index.ts'
import type { Timer } from '../../store/clock.ts'
import type { Command } from '../../kernel/index.ts'
import type { ChannelName, Claimed, ClaimWithSubmit } from '../../store/index.ts'
import { FIRST_SUBMIT_CLAIM, isForSubmitClaim, StoreClosed, StoreEnded } from '../../store/index.ts'
import type { AttemptParts } from '../attempt/attempt.ts'
import { Attempt } from '../attempt/attempt.ts'
import { LeaseKeeper } from '../attempt/lease-keeper.ts'
import { SharedValues } from '../handler/shared-values.ts'
import { newWorkerName } from '../random.ts'
import type { WorkerOptions } from '../worker-options.ts'
import { DEFAULT_CONCURRENCY } from '../worker-options.ts'
import { newerJob, PAUSED_MS, PausedChannels } from './newer-version.ts'
import { Pace } from './pace.ts'
import { shutdown as onSignal } from './shutdown.ts'

export type WorkerParts = Omit<
  AttemptParts,
  'keeper' | 'shared' | 'onLostWaiting' | 'onHandled' | 'onOver'
> & {
  readonly onStopped: () => void
  /** Makes a name that was never used before. For tests, which want the same one every time. */
  readonly nameWorker?: ((called?: string) => string) | undefined
}

const DEFAULT_POLL_MS = 50
const DEFAULT_SHARED_POLL_MS = 500
/** On a shared database, where polls are only a fallback: each that finds nothing doubles the pause, up to this. */
const LONGEST_POLL_MS = 2_000
const MOST_DOUBLINGS = 10
const DEFAULT_SHUTDOWN_MS = 10_000
const DEFAULT_SIGNALS: readonly NodeJS.Signals[] = ['SIGTERM']
/** After a claim that failed. */
const PAUSE_MS = 1_000
/** What waits here for longer is given back: handlers have become slow, and other workers may have places. */
const LONGEST_WAIT_MS = 1_000
/** While so many jobs wait for the answers to their reports, the store has enough to do. */
const MOST_REPORTING = 4_000

/** How many leases to ask for. */
interface ClaimSize {
  readonly max: number
  readonly ahead: number
}

export class Worker {
  readonly name: string
  readonly concurrency: number
  readonly #parts: AttemptParts
  readonly #onStopped: () => void
  readonly #definitions: ReadonlyMap<string, AnyJob>
  readonly #channels: readonly ChannelName[]
  readonly #pollMs: number
  /** The same as `#pollMs`: polls do not back off. */
  readonly #longestPollMs: number
  /** Polls since it was woken, or had a job. */
  #vainPolls = 0
  readonly #shutdownMs: number
  /** Those that run, or report. */
  readonly #attempts = new Set<Attempt>()
  /** Those that were claimed ahead and wait for a place, and when their claim was sent. */
  readonly #waiting = new Map<Attempt, number>()
  readonly #pace = new Pace()
  readonly #paused = new PausedChannels()
  /** Leases on their way back: a process that ended before would let them run out. */
  readonly #releases = new Set<Promise<void>>()
  /** Room that handlers take, or that is reserved for them. */
  #busy = 0
  /** Room that the claim on its way asks for. */
  #claiming = 0
  /** Claims on their way with a submit. */
  #submitClaims = 0
  #request = 0
  #submitRequest = FIRST_SUBMIT_CLAIM
  #isClaiming = false
  /** Jobs may have become ready since the last claim, or that claim filled all the room. */
  #claimAgain = false
  /** The last claim got fewer ahead than it asked for, and nothing became ready since. */
  #hasNoneAhead = false
  /** The last claim got a job for each place. */
  #wasFilled = false
  #isClaimingSoon = false
  #timer: Timer | null = null
  #waitTimer: Timer | null = null
  #stopping: Promise<void> | null = null
  /** As if its process had died: what it is granted after this, it leaves to expiry. */
  #isKilled = false
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
      onLostWaiting: (attempt) => this.#forgetWaiting(attempt),
      onHandled: () => {
        this.#pace.noteEnded()
        this.#busy -= 1
        this.#fillPlaces()
      },
      onOver: (attempt) => this.#end(attempt),
    }
    this.#definitions = byName(definitions)
    this.#channels = channelsOf(definitions, options.queues)
    const defaultPollMs =
      parts.store.onNews === undefined ? DEFAULT_POLL_MS : DEFAULT_SHARED_POLL_MS
    this.#pollMs = poll === undefined ? defaultPollMs : toMs(poll, 'The poll of a worker')
    const backsOff = poll === undefined && parts.store.onNews !== undefined
    this.#longestPollMs = backsOff ? LONGEST_POLL_MS : this.#pollMs
    this.#shutdownMs =
      shutdown === undefined ? DEFAULT_SHUTDOWN_MS : toMs(shutdown, 'The shutdown of a worker')
    const unlisten = onSignal.add(this, options.signals ?? DEFAULT_SIGNALS)
    const leaveBatcher = parts.batcher.addClaimer({
      claimFor: (commands) => this.#claimFor(commands),
    })
    this.#onStopped = () => {
      leaveBatcher()
      parts.onStopped()
      unlisten()
    }
    this.wake()
  }

  /** How many jobs it has begun and not finished, those included that only report. */
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

  /** Jobs may be ready: claims some, if there is room. */
  wake(): void {
    this.#vainPolls = 0
    this.#lookAgain()
  }

  #lookAgain(): void {
    this.#hasNoneAhead = false
    this.#claimAgain = true
    this.#claimIfWanted()
  }

  #claimIfWanted(): void {
    if (this.#stopping !== null || this.#isClaiming || !this.#claimAgain) return
    if (this.#nextClaim() === null) return
    this.#isClaiming = true
    void this.#claim()
  }

  /** Null: there is no place, and enough is claimed ahead. */
  #nextClaim(): ClaimSize | null {
    const max = this.#waiting.size > 0 ? 0 : this.concurrency - this.#busy
    if (max === 0 && this.#hasNoneAhead) return null
    if (this.#attempts.size >= this.concurrency + MOST_REPORTING) return null
    const ahead = this.#pace.groupSize(this.#waiting.size, this.concurrency)
    return max + ahead > 0 ? { max, ahead } : null
  }

  /** Something happened to a job that it may run, or to any: asks the store about its leases. */
  checkLeases(job?: string): void {
    this.#parts.keeper.extendNow(job)
  }

  /** Lets handlers finish, or gives their jobs back when the time is over. Calling it twice is fine. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stopWhenIdle()
    return this.#stopping
  }

  /** Drops everything at once and reports nothing, as a crash would. For tests. */
  async kill(): Promise<void> {
    this.#stopping ??= Promise.resolve()
    this.#isKilled = true
    this.#timer?.cancel()
    this.#waitTimer?.cancel()
    for (const attempt of this.#attempts) attempt.die()
    for (const attempt of this.#waiting.keys()) attempt.die()
    this.#waiting.clear()
    await this.#parts.executor.close()
    this.#onStopped()
  }

  async #claim(): Promise<void> {
    let pauseMs: number | null = this.#pollMs
    try {
      let next = this.#nextClaim()
      while (next !== null && this.#claimAgain && this.#stopping === null) {
        const channels = this.#paused.without(this.#channels, this.#parts.timing.now())
        this.#claimAgain = false
        if (channels.length === 0) break
        await this.#claimOnce(next, channels)
        next = this.#nextClaim()
      }
    } catch (error) {
      // A store that has ended stays so: there is nothing more to ask for.
      pauseMs = hasEnded(error) ? null : PAUSE_MS
      if (this.#stopping === null) this.#parts.onError(error as Error)
    } finally {
      this.#claiming = 0
      this.#isClaiming = false
    }
    this.#timer?.cancel()
    if (this.#stopping !== null) return this.#checkIdle()
    if (pauseMs === null) return
    const doublings = Math.min(this.#vainPolls, MOST_DOUBLINGS)
    pauseMs = Math.min(pauseMs * 2 ** doublings, Math.max(pauseMs, this.#longestPollMs))
    pauseMs = Math.min(pauseMs, this.#paused.leftMs(this.#parts.timing.now()))
    this.#timer = this.#parts.timing.after(pauseMs, () => this.#poll(), true)
  }

  #poll(): void {
    this.#vainPolls += 1
    this.#lookAgain()
  }

  async #claimOnce({ max, ahead }: ClaimSize, channels: readonly ChannelName[]): Promise<void> {
    const { store, timing } = this.#parts
    // BEFORE asking: the lease may begin any time from now on.
    const askedAt = timing.now()
    if (this.#attempts.size === 0 && !this.#wasFilled) this.#pace.restart(askedAt)
    this.#request += 1
    this.#claiming = max
    const claimed = await store.claim({
      worker: this.name,
      request: this.#request,
      channels,
      max,
      ahead,
      started: true,
    })
    if (this.#stopping === null) for (const one of claimed) this.#accept(one, askedAt)
    else await Promise.allSettled(claimed.map((one) => this.#release(one)))
    // AFTER they were accepted: in between, a reservation must not take their room.
    this.#claiming = 0
    if (claimed.length > 0) this.#vainPolls = 0
    this.#pace.measure(timing.now())
    this.#pace.noteGranted(ahead, Math.max(0, claimed.length - max))
    this.#wasFilled = claimed.length >= max
    // If the worker was woken meanwhile, there may be more.
    this.#hasNoneAhead = !this.#claimAgain && claimed.length < max + ahead
    if (this.#wasFilled) this.#claimAgain = true
  }

  /** A claim for jobs that are about to be submitted, unless others wait for this worker's room. */
  #claimFor(commands: readonly Command[]): ClaimWithSubmit | null {
    if (this.#stopping !== null || this.#claimAgain || this.#isClaimingSoon) return null
    const room = this.concurrency - this.#busy - this.#claiming
    if (room < 1) return null
    // BEFORE it is asked for: the lease may begin any time from now on.
    const askedAt = this.#parts.timing.now()
    const channels = this.#paused.without(this.#channels, askedAt)
    const max = countUpTo(room, commands, channels)
    if (max === 0) return null
    this.#busy += max
    this.#submitClaims += 1
    const request = this.#submitRequest++
    return {
      request: { worker: this.name, request, channels, max, started: true },
      granted: (claimed) => this.#granted(max, claimed, askedAt),
    }
  }

  #granted(max: number, claimed: readonly Claimed[], askedAt: number): void {
    this.#busy -= max
    this.#submitClaims -= 1
    for (const one of claimed) {
      if (this.#stopping === null) this.#accept(one, askedAt)
      else this.#awaitRelease(this.#release(one))
    }
    this.#fillPlaces()
    this.#checkIdle()
  }

  #accept(claimed: Claimed, askedAt: number): void {
    const { type, queue, stageName: stage } = claimed
    const definition = runnableFor(this.#definitions.get(type) as AnyJob, stage) as Runnable
    const newer = newerJob(definition, claimed, this.name)
    if (newer === null) {
      const attempt = new Attempt(this.#parts, definition, claimed, this.name, askedAt)
      if (this.#busy < this.concurrency) return this.#begin(attempt)
      this.#waiting.set(attempt, askedAt)
      if (this.#waitTimer === null) this.#checkWaitingIn(LONGEST_WAIT_MS)
      return
    }
    // BEFORE the lease goes back: that wakes workers, this one too.
    const until = this.#parts.timing.now() + PAUSED_MS
    if (this.#paused.pause({ queue, type, stage }, until)) this.#parts.workerEvents.newer(newer)
    this.#awaitRelease(this.#release(claimed))
  }

  /** The worker is not idle before the lease is back. */
  #awaitRelease(releasing: Promise<void>): void {
    const release = releasing
      .catch((error: unknown) => this.#parts.onError(error as Error))
      .finally(() => {
        this.#releases.delete(release)
        this.#checkIdle()
      })
    this.#releases.add(release)
  }

  #begin(attempt: Attempt): void {
    this.#busy += 1
    this.#attempts.add(attempt)
    void attempt.run()
  }

  /** With what waits here, and then by a claim. */
  #fillPlaces(): void {
    while (this.#busy < this.concurrency) {
      const [first] = this.#waiting.keys()
      if (first === undefined) break
      this.#waiting.delete(first)
      this.#begin(first)
    }
    this.#claimSoon()
  }

  #end(attempt: Attempt): void {
    this.#attempts.delete(attempt)
    this.#claimSoon()
    this.#checkIdle()
  }

  /** Its lease was lost before it began. */
  #forgetWaiting(attempt: Attempt): void {
    this.#waiting.delete(attempt)
    this.#claimSoon()
    this.#checkIdle()
  }

  #checkWaitingIn(ms: number): void {
    this.#waitTimer = this.#parts.timing.after(ms, () => {
      this.#waitTimer = null
      const [since] = this.#waiting.values()
      if (since === undefined) return
      const now = this.#parts.timing.now()
      const leftMs = since + LONGEST_WAIT_MS - now
      if (leftMs > 0) return this.#checkWaitingIn(leftMs)
      this.#pace.forget(now)
      this.#giveBackWaiting()
    })
  }

  #giveBackWaiting(): void {
    this.#waitTimer?.cancel()
    this.#waitTimer = null
    const attempts = [...this.#waiting.keys()]
    this.#waiting.clear()
    for (const attempt of attempts) this.#awaitRelease(attempt.giveBack())
  }

  /** Handlers that end in the same turn of the event loop are followed by one claim. */
  #claimSoon(): void {
    if (!this.#claimAgain || this.#isClaimingSoon || this.#isClaiming) return
    if (this.#stopping !== null || this.#nextClaim() === null) return
    this.#isClaimingSoon = true
    this.#parts.timing.soon(() => {
      this.#isClaimingSoon = false
      this.#claimIfWanted()
    })
  }

  async #release({ job, stage, segment, lease }: Claimed): Promise<void> {
    if (this.#isKilled) return
    const worker = this.name
    await this.#parts.batcher.send({ type: 'ReleaseLease', job, stage, segment, lease, worker })
  }

  #checkIdle(): void {
    const left = this.#attempts.size + this.#releases.size + this.#submitClaims
    if (left === 0 && !this.#isClaiming) this.#onIdle()
  }

  async #stopWhenIdle(): Promise<void> {
    this.#timer?.cancel()
    this.#giveBackWaiting()
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
      this.#checkIdle()
    })
  }
}

function hasEnded(error: unknown): boolean {
  return error instanceof StoreEnded || error instanceof StoreClosed
}

/** How many of these jobs stand in one of the channels once they are submitted, `most` at the most. */
function countUpTo(
  most: number,
  commands: readonly Command[],
  channels: readonly ChannelName[],
): number {
  let count = 0
  for (const command of commands) {
    if (count === most) break
    if (command.type !== 'SubmitJob' || !isForSubmitClaim(command.spec)) continue
    const { type, policy } = command.spec
    const isServed = channels.some((one) => {
      return one.type === type && one.queue === policy.queue && one.stage === null
    })
    if (isServed) count += 1
  }
  return count
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

/** A stage waits in its own queue; a worker that names queues claims every stage from them. */
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
