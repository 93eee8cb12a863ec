/**
 * A worker: claims jobs as long as it has places for them, and runs them.
 *
 * - working: claims whenever there is a place and jobs may be ready, and by its pace some ahead, which
 *   wait here for a place; while there are many more, the next claim is under way before the last one is
 *   answered. Reserves places for jobs that the store grants with their submit, where it does that.
 * - drained: claims nothing more, and gives back at once what waits here, until it is resumed. Handlers go on.
 * - stopping: claims nothing more, and gives back at once what waits here. Handlers may finish until
 *   the deadline; then the worker stops them and gives their leases back. A store that does not answer
 *   then is not waited for: the leases run out.
 * - stopped.
 *
 * It never decides anything: the store answers which worker owns a job, and how it ended.
 */
import type { AnyJob, Runnable, StageDefinition } from '../../definition/index.ts'
import {
  assertName,
  InvalidDefinition,
  isPipeline,
  runnableFor,
  toMs,
} from '../../definition/index.ts'
import type { Timer } from '../../store/clock.ts'
import type { Command } from '../../kernel/index.ts'
import type { ChannelName, Claimed, ClaimWithSubmit, Presence } from '../../store/index.ts'
import { FIRST_SUBMIT_CLAIM, isForSubmitClaim, StoreClosed, StoreEnded } from '../../store/index.ts'
import type { AttemptParts } from '../attempt/attempt.ts'
import { Attempt } from '../attempt/attempt.ts'
import { LeaseKeeper } from '../attempt/lease-keeper.ts'
import { SharedValues } from '../handler/shared-values.ts'
import { newWorkerName } from '../random.ts'
import type { WorkerOptions } from '../worker-options.ts'
import { DEFAULT_CONCURRENCY } from '../worker-options.ts'
import type { DrainRequest, ServedChannel, WorkerState } from '../worker-state.ts'
import { newerJob, PAUSED_MS, PausedChannels } from './newer-version.ts'
import { MOST_WAITING_CHARS, Pace } from './pace.ts'
import { shutdown as onSignal } from './shutdown.ts'
import type { SuspectGate } from './suspect-gate.ts'

export type WorkerParts = Omit<
  AttemptParts,
  'keeper' | 'shared' | 'onLostWaiting' | 'onHandled' | 'onOver'
> & {
  readonly onStopped: () => void
  /** Null: whether this process lives is not looked at. */
  readonly presence: Pick<Presence, 'begin' | 'session'> | null
  /** Of all workers of the engine. */
  readonly suspects: SuspectGate
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
/** AFTER its time to finish: how long it waits for the store to take its leases back. */
const GIVE_BACK_MS = 3_000
/** After a claim that failed. */
const PAUSE_MS = 1_000
/** What waits here for longer is given back: handlers have become slow, and other workers may have places. */
const LONGEST_WAIT_MS = 1_000
/** While so many jobs wait for the answers to their reports, the store has enough to do. */
const MOST_REPORTING = 4_000
/**
 * Claims under way at once, while groups of many are claimed ahead: the store finds jobs for one while this
 * process begins those of another. With one alone, either of the two waits.
 */
const MOST_CLAIMS = 2
/** Two claims at once that find fewer split what is there, and every part costs transactions of its own. */
const MANY_AHEAD = 128
/** Tasks that it holds, as it says of itself. */
const MOST_HELD_SHOWN = 20

/** How many leases to ask for. */
interface ClaimSize {
  readonly max: number
  readonly ahead: number
}

export class Worker {
  readonly name: string
  readonly concurrency: number
  readonly #parts: AttemptParts
  readonly #presence: WorkerParts['presence']
  /** The session of its process can be named, or cannot: BEFORE that it claims nothing. */
  #hasBegun: boolean
  readonly #onStopped: () => void
  readonly #definitions: ReadonlyMap<string, AnyJob>
  readonly #channels: readonly ChannelName[]
  readonly #serves: readonly ServedChannel[]
  readonly #called: string | null
  readonly #pollMs: number
  /** The same as `#pollMs`: polls do not back off. */
  readonly #longestPollMs: number
  /** Polls since it was woken, or had a job. */
  #vainPolls = 0
  /** Nothing but its own timer led to the next claim. */
  #isPoll = false
  readonly #shutdownMs: number
  /** Those that run, or report. */
  readonly #attempts = new Set<Attempt>()
  /** Those that were claimed ahead and wait for a place, in the order of their claims. */
  readonly #waiting = new AttemptQueue()
  readonly #pace = new Pace()
  readonly #suspects: SuspectGate
  readonly #paused = new PausedChannels()
  /** Leases on their way back: a process that ended before would let them run out. */
  readonly #releases = new Set<Promise<void>>()
  /** Room that handlers take, or that is reserved for them. */
  #busy = 0
  /** Claims on their way, places that they ask for, and how many jobs ahead. */
  #claims = 0
  #claiming = 0
  #claimingAhead = 0
  /** Claims on their way with a submit. */
  #submitClaims = 0
  #request = 0
  #submitRequest = FIRST_SUBMIT_CLAIM
  /** Jobs may have become ready since the last claim, or that claim filled all the room. */
  #claimAgain = false
  /** The last claim got fewer ahead than it asked for, and nothing became ready since. */
  #hasNoneAhead = false
  /** The last claim got a job for each place. */
  #wasFilled = false
  /** It asked for many ahead, and got all of them. */
  #wasManyAhead = false
  #isClaimingSoon = false
  #timer: Timer | null = null
  #waitTimer: Timer | null = null
  #stopping: Promise<void> | null = null
  #drained: DrainRequest | null = null
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
    this.#presence = parts.presence
    this.#suspects = parts.suspects
    this.#hasBegun = parts.presence === null
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
    this.#serves = this.#channels.map((channel) => ({
      ...channel,
      version: this.#versionOf(channel),
    }))
    this.#called = options.name ?? null
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

  /** What it says of itself to other processes. */
  state(): WorkerState {
    const held = [...this.#attempts, ...this.#waiting.all]
    const holds = held.slice(0, MOST_HELD_SHOWN).map(({ claimed }) => {
      const { job, stage, segment } = claimed
      return { job, stage, segment }
    })
    const used = Math.min(this.#busy, this.concurrency)
    const { isDraining } = this
    return {
      id: this.name,
      name: this.#called,
      serves: this.#serves,
      used,
      free: isDraining ? 0 : this.concurrency - used,
      isDraining,
      drained: this.#drained,
      held: held.length,
      holds,
    }
  }

  /** It claims nothing more: it stops, or was drained. */
  get isDraining(): boolean {
    return this.#stopping !== null || this.#drained !== null
  }

  /** How many jobs it has begun and not finished, those included that only report. */
  get running(): number {
    return this.#attempts.size
  }

  /** Whether it would take another job now. */
  get hasRoom(): boolean {
    return !this.isDraining && this.#busy < this.concurrency
  }

  #versionOf({ type, stage }: ChannelName): number {
    const definition = runnableFor(this.#definitions.get(type) as AnyJob, stage) as Runnable
    return stage === null ? definition.version : (definition as StageDefinition).spec.version
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
    this.#isPoll = false
    this.#lookAgain()
  }

  #lookAgain(): void {
    this.#hasNoneAhead = false
    this.#claimAgain = true
    this.#claimIfWanted()
  }

  #claimIfWanted(): void {
    while (!this.isDraining && this.#claimAgain && this.#mayClaim) {
      const next = this.#nextClaim()
      if (next === null) return
      // Where the last claim left more, the next one need not wait for what this one finds.
      this.#claimAgain = this.#wasManyAhead
      void this.#claim(next)
    }
  }

  /** Fewer claims are under way than may be. */
  get #mayClaim(): boolean {
    return this.#claims < (this.#wasManyAhead ? MOST_CLAIMS : 1)
  }

  /** Null: there is no place, and enough is claimed ahead. */
  #nextClaim(): ClaimSize | null {
    const places = this.concurrency - this.#busy - this.#claiming
    const max = this.#waiting.size > 0 ? 0 : Math.max(0, places)
    if (max === 0 && this.#hasNoneAhead) return null
    if (this.#attempts.size >= this.concurrency + MOST_REPORTING) return null
    const inHand = this.#waiting.size + this.#claimingAhead
    const ahead = this.#pace.groupSize(inHand, this.concurrency)
    return max + ahead > 0 ? { max, ahead } : null
  }

  /** Something happened to a job that it may run, or to any: asks the store about its leases. */
  checkLeases(job?: string): void {
    this.#parts.keeper.extendNow(job)
  }

  /** Takes nothing more until it is resumed. What it has it finishes. */
  drain(request: DrainRequest): void {
    this.#drained = request
    if (this.#stopping !== null) return
    this.#timer?.cancel()
    // It polls nothing, and its process lives on until it stops: others may resume it.
    this.#timer = this.#parts.timing.after(Infinity, () => undefined, true)
    this.#giveBackWaiting()
  }

  /** Takes jobs again, unless it stops. */
  resume(): void {
    if (this.#drained === null) return
    this.#drained = null
    if (this.#stopping !== null) return
    // In the place of the timer that kept the process alive.
    this.#pollIn(this.#pollMs)
    this.wake()
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
    for (const attempt of [...this.#attempts, ...this.#waiting.takeAll()]) {
      attempt.die()
      this.#suspects.ended(attempt)
    }
    await this.#parts.executor.close()
    this.#onStopped()
  }

  async #claim(next: ClaimSize): Promise<void> {
    let pauseMs: number | null = this.#pollMs
    this.#claims += 1
    this.#claiming += next.max
    this.#claimingAhead += next.ahead
    try {
      if (!this.#hasBegun) await this.#presence?.begin()
      this.#hasBegun = true
      await this.#claimOnce(next)
    } catch (error) {
      this.#claimAgain = false
      // A store that has ended stays so: there is nothing more to ask for.
      pauseMs = hasEnded(error) ? null : PAUSE_MS
      if (this.#stopping === null) this.#parts.onError(error as Error)
    } finally {
      // AFTER what came of it was accepted: in between, a reservation must not take its room.
      this.#claims -= 1
      this.#claiming -= next.max
      this.#claimingAhead -= next.ahead
    }
    if (this.#stopping !== null) return this.#checkIdle()
    this.#claimIfWanted()
    if (this.#claims === 0 && pauseMs !== null && !this.isDraining) this.#pollIn(pauseMs)
  }

  #pollIn(ms: number): void {
    const doublings = Math.min(this.#vainPolls, MOST_DOUBLINGS)
    let pauseMs = Math.min(ms * 2 ** doublings, Math.max(ms, this.#longestPollMs))
    pauseMs = Math.min(pauseMs, this.#paused.leftMs(this.#parts.timing.now()))
    this.#timer?.cancel()
    this.#timer = this.#parts.timing.after(pauseMs, () => this.#poll(), true)
  }

  #poll(): void {
    this.#vainPolls += 1
    this.#isPoll = true
    this.#lookAgain()
  }

  async #claimOnce({ max, ahead }: ClaimSize): Promise<void> {
    const { store, timing } = this.#parts
    // BEFORE asking: the lease may begin any time from now on.
    const askedAt = timing.now()
    const channels = this.#paused.without(this.#channels, askedAt)
    if (channels.length === 0) {
      this.#claimAgain = false
      return
    }
    if (this.#attempts.size === 0 && !this.#wasFilled) this.#pace.restart(askedAt)
    this.#request += 1
    const isPoll = this.#isPoll
    this.#isPoll = false
    const wanted = this.#suspects.claim(this, () => this.#lookAgain())
    const claiming = store.claim({
      worker: this.name,
      request: this.#request,
      channels,
      max,
      ahead,
      started: true,
      isPoll,
      ...wanted,
      session: this.#session,
    })
    let claimed: readonly Claimed[] = []
    try {
      claimed = await claiming
      if (!this.isDraining) for (const one of claimed) this.#accept(one, askedAt)
      else await Promise.allSettled(claimed.map((one) => this.#release(one)))
    } finally {
      if (wanted.suspects) this.#suspects.claimed(this)
    }
    if (claimed.length > 0) this.#vainPolls = 0
    this.#pace.measure(timing.now())
    this.#pace.noteGranted(ahead, Math.max(0, claimed.length - max))
    this.#boundWaiting(claimed)
    this.#wasFilled = claimed.length >= max
    this.#wasManyAhead = ahead >= MANY_AHEAD && claimed.length >= max + ahead
    // If the worker was woken meanwhile, there may be more.
    this.#hasNoneAhead = !this.#claimAgain && claimed.length < max + ahead
    // Behind one that is granted alone, there may be more.
    if (this.#wasFilled || claimed.some(({ isSuspect }) => isSuspect)) this.#claimAgain = true
  }

  /** Of this process, by which presence judges it; empty: it has none now. */
  get #session(): string {
    return this.#presence?.session ?? ''
  }

  /** A claim for jobs that are about to be submitted, unless others wait for this worker's room. */
  #claimFor(commands: readonly Command[]): ClaimWithSubmit | null {
    if (this.isDraining || this.#claimAgain || this.#isClaimingSoon) return null
    if (!this.#hasBegun) return null
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
      request: {
        worker: this.name,
        request,
        channels,
        max,
        started: true,
        session: this.#session,
      },
      granted: (claimed) => this.#granted(max, claimed, askedAt),
    }
  }

  #granted(max: number, claimed: readonly Claimed[], askedAt: number): void {
    this.#busy -= max
    this.#submitClaims -= 1
    for (const one of claimed) {
      if (!this.isDraining) this.#accept(one, askedAt)
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
      if (claimed.isSuspect) this.#suspects.began(attempt, claimed)
      if (this.#busy < this.concurrency) return this.#begin(attempt)
      this.#waiting.add(attempt)
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
      const first = this.#waiting.takeFirst()
      if (first === undefined) break
      this.#begin(first)
    }
    this.#claimSoon()
  }

  #end(attempt: Attempt): void {
    this.#attempts.delete(attempt)
    this.#suspects.ended(attempt)
    this.#claimSoon()
    this.#checkIdle()
  }

  /** Its lease was lost before it began. */
  #forgetWaiting(attempt: Attempt): void {
    this.#waiting.delete(attempt)
    this.#suspects.ended(attempt)
    this.#claimSoon()
    this.#checkIdle()
  }

  #checkWaitingIn(ms: number): void {
    this.#waitTimer = this.#parts.timing.after(ms, () => {
      this.#waitTimer = null
      const { first } = this.#waiting
      if (first === undefined) return
      const now = this.#parts.timing.now()
      const leftMs = first.askedAt + LONGEST_WAIT_MS - now
      if (leftMs > 0) return this.#checkWaitingIn(leftMs)
      this.#pace.forget(now)
      this.#giveBackWaiting()
    })
  }

  /** AFTER a claim: what waits beyond so many characters goes back, so that memory is bounded. */
  #boundWaiting(claimed: readonly Claimed[]): void {
    let largest = 0
    for (const { input } of claimed) largest = Math.max(largest, input?.length ?? 0)
    if (claimed.length > 0) this.#pace.noteChars(largest)
    if (largest * this.#waiting.size <= MOST_WAITING_CHARS) return
    let chars = 0
    for (const attempt of this.#waiting.takeAll()) {
      chars += attempt.claimed.input?.length ?? 0
      if (chars <= MOST_WAITING_CHARS) this.#waiting.add(attempt)
      else this.#giveBack(attempt)
    }
  }

  #giveBack(attempt: Attempt): void {
    this.#suspects.ended(attempt)
    this.#awaitRelease(attempt.giveBack())
  }

  #giveBackWaiting(): void {
    this.#waitTimer?.cancel()
    this.#waitTimer = null
    for (const attempt of this.#waiting.takeAll()) this.#giveBack(attempt)
  }

  /** Handlers that end in the same turn of the event loop are followed by one claim. */
  #claimSoon(): void {
    if (!this.#claimAgain || this.#isClaimingSoon || !this.#mayClaim) return
    if (this.isDraining || this.#nextClaim() === null) return
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
    if (left === 0 && this.#claims === 0) this.#onIdle()
  }

  async #stopWhenIdle(): Promise<void> {
    this.#timer?.cancel()
    this.#giveBackWaiting()
    const { timing, executor } = this.#parts
    let deadline = timing.after(
      this.#shutdownMs,
      () => {
        deadline = timing.after(GIVE_BACK_MS, () => this.#onIdle(), true)
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

/** Attempts that a queue keeps for a while after they were taken. */
const MOST_TAKEN = 500

/** Attempts in a row. Most are taken from the front; one that lost its lease leaves from anywhere. */
class AttemptQueue {
  #attempts: Attempt[] = []
  /** Those before it were taken. */
  #from = 0

  get size(): number {
    return this.#attempts.length - this.#from
  }

  get first(): Attempt | undefined {
    return this.#attempts[this.#from]
  }

  get all(): readonly Attempt[] {
    return this.#attempts.slice(this.#from)
  }

  add(attempt: Attempt): void {
    this.#attempts.push(attempt)
  }

  takeFirst(): Attempt | undefined {
    const { first } = this
    if (first === undefined) return undefined
    this.#from += 1
    // Those that were taken are let go of, also if the queue is never empty.
    if (this.#from >= MOST_TAKEN || this.size === 0) {
      this.#attempts = this.#attempts.slice(this.#from)
      this.#from = 0
    }
    return first
  }

  takeAll(): Attempt[] {
    const left = [...this.all]
    this.#attempts = []
    this.#from = 0
    return left
  }

  delete(attempt: Attempt): void {
    const at = this.#attempts.indexOf(attempt, this.#from)
    if (at >= 0) this.#attempts.splice(at, 1)
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
