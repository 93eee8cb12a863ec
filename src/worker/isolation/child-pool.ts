/**
 * Runs handlers and effects in children: threads or processes that run one thing at a time.
 *
 * - What is to be done waits for a child that is free, effects before handlers: they finish
 *   what was committed. As many children are started as things wait, up to a number.
 * - One that is free is used again, the latest first, and ended when it was free for long.
 * - One that dies is told of at once; whatever comes next gets another. One that dies before
 *   it is ready takes the first that waits with it: it would be started for ever otherwise.
 *
 * Whoever is told to stop has a short time to settle, and then its child is killed; for a
 * timeout there is none. `stopper` is only listened to: what counts is what the log says.
 */
import type { ArtifactPlace, Runnable } from '../../definition/index.ts'
import type { Died, Executor, EffectOutcome, EffectRequest } from '../handler/executor.ts'
import { failureOf } from '../handler/failure.ts'
import type { HandlerOutcome } from '../handler/handler.ts'
import { SharedValues } from '../handler/shared-values.ts'
import type { StartChild } from './child.ts'
import type { Errand } from './child-slot.ts'
import { ChildSlot } from './child-slot.ts'
import type { ChildRequest, ChildOutcome } from './protocol.ts'
import { NO_WRITES_IN_CHILD } from './protocol.ts'
import type { Timing } from '../../store/clock.ts'
import type { AbortHandle } from '../abort-handle.ts'
import { Aborted } from '../abort-handle.ts'
import type { HandlerPort, HandlerRequest } from '../handler/handler-context.ts'

export interface ChildPoolOptions {
  readonly start: StartChild
  /** URLs. */
  readonly modules: readonly string[]
  /** Children at once. */
  readonly most: number
  readonly timing: Timing
  /** Told what could not be done with what a child said. */
  readonly onError: (error: Error) => void
  /** The folder of the artifacts. Default null: out of reach. */
  readonly artifacts?: string | null
  /** How long a child may be free before it is ended. Default 10 s. */
  readonly idleMs?: number
  /** How long one that is told to stop, or to end, may take. Default 2 s. */
  readonly graceMs?: number
  /** How long importing the modules may take. Default 60 s. */
  readonly startMs?: number
}

const DEFAULT_IDLE_MS = 10_000
const DEFAULT_GRACE_MS = 2_000
const DEFAULT_START_MS = 60_000

/** An effect records nothing. */
export const NO_PORT: HandlerPort = {
  record: () => Promise.reject(new Error('An effect has no steps.')),
  progress: () => undefined,
  log: () => undefined,
  heard: () => undefined,
  input: () => Promise.reject(new Error('An effect has an input of its own.')),
  outputs: () => Promise.reject(new Error('An effect reads no outputs.')),
  shared: new SharedValues(),
  artifacts: null,
  noWrites: NO_WRITES_IN_CHILD,
}

export class ChildPool implements Executor {
  readonly endsWhatItStops = true
  readonly #options: Required<ChildPoolOptions>
  readonly #places = new Set<ChildSlot>()
  readonly #starting = new Set<ChildSlot>()
  /** The latest first: those that are not needed grow old together. */
  readonly #free: ChildSlot[] = []
  readonly #waiting: { readonly effects: Errand[]; readonly jobs: Errand[] } = {
    effects: [],
    jobs: [],
  }
  #isClosed = false

  constructor(options: ChildPoolOptions) {
    this.#options = {
      artifacts: null,
      idleMs: DEFAULT_IDLE_MS,
      graceMs: DEFAULT_GRACE_MS,
      startMs: DEFAULT_START_MS,
      ...options,
    }
  }

  /** Children that are there now, those that are about to end included. */
  get size(): number {
    return this.#places.size
  }

  runJob(
    { name: definition }: Runnable,
    request: HandlerRequest,
    port: HandlerPort,
    abortHandle: AbortHandle,
  ): Promise<HandlerOutcome | Died> {
    const ask: ChildRequest = { kind: 'job', definition, request }
    return this.#run(ask, port, abortHandle) as Promise<HandlerOutcome | Died>
  }

  /** A child opens the place itself, if it can. */
  runEffect(
    { name: definition }: Runnable,
    request: EffectRequest,
    _artifacts: ArtifactPlace | null,
    abortHandle: AbortHandle,
  ): Promise<EffectOutcome | Died> {
    const ask: ChildRequest = { kind: 'effect', definition, request }
    return this.#run(ask, NO_PORT, abortHandle) as Promise<EffectOutcome | Died>
  }

  async close(): Promise<void> {
    this.#isClosed = true
    const lanes = Object.values(this.#waiting)
    for (const errand of lanes.flatMap((lane) => lane.splice(0))) errand.resolve(CLOSED)
    this.#free.length = 0
    await Promise.all(
      [...this.#places].map((place) => {
        place.close()
        return place.gone
      }),
    )
  }

  #run(
    ask: ChildRequest,
    port: HandlerPort,
    abortHandle: AbortHandle,
  ): Promise<ChildOutcome | Died> {
    if (this.#isClosed) return Promise.resolve(CLOSED)
    if (abortHandle.reason !== null) return Promise.resolve(notBegun(ask, abortHandle))
    return new Promise((resolve) => {
      const lane = ask.kind === 'effect' ? this.#waiting.effects : this.#waiting.jobs
      const stopped = (): void => {
        const at = lane.indexOf(errand)
        if (at < 0) return
        lane.splice(at, 1)
        resolve(notBegun(ask, abortHandle))
      }
      const errand: Errand = {
        ask,
        port,
        abortHandle,
        // A job may have many effects, and all of them one signal.
        resolve: (outcome) => {
          abortHandle.signal.removeEventListener('abort', stopped)
          resolve(outcome)
        },
      }
      lane.push(errand)
      abortHandle.signal.addEventListener('abort', stopped, { once: true })
      this.#serve()
    })
  }

  #serve(): void {
    const { effects, jobs } = this.#waiting
    while (this.#free.length > 0 && effects.length + jobs.length > 0) {
      this.#free.pop()?.run(this.#next() as Errand)
    }
    while (
      !this.#isClosed &&
      this.#places.size < this.#options.most &&
      this.#starting.size < effects.length + jobs.length
    ) {
      this.#start()
    }
  }

  #next(): Errand | undefined {
    return this.#waiting.effects.shift() ?? this.#waiting.jobs.shift()
  }

  #start(): void {
    const place: ChildSlot = new ChildSlot(this.#options, {
      free: () => {
        this.#starting.delete(place)
        if (this.#isClosed) return place.close()
        this.#free.push(place)
        this.#serve()
      },
      ending: () => {
        this.#starting.delete(place)
        const at = this.#free.indexOf(place)
        if (at >= 0) this.#free.splice(at, 1)
      },
      gone: (stillborn) => {
        this.#places.delete(place)
        if (stillborn !== null) this.#next()?.resolve({ kind: 'died', why: stillborn })
        this.#serve()
      },
    })
    this.#places.add(place)
    this.#starting.add(place)
  }
}

const CLOSED: Died = { kind: 'died', why: 'Its worker has closed.' }

/** Surely nothing happened: that is known, other than of one whose child is gone. */
function notBegun({ request }: ChildRequest, { reason }: AbortHandle): ChildOutcome {
  const aborted = new Aborted(request.job.id, reason ?? 'lease-lost')
  return { kind: 'failure', failure: failureOf(aborted) }
}
