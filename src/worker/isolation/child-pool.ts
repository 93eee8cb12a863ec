/**
 * Runs handlers and effects in children: threads or processes that run one at a time.
 *
 * - A run waits for a free child, effects before handlers: they finish what was committed. The pool
 *   starts as many children as runs wait, up to a number.
 * - It reuses the child that became free last, and ends a child that was free for long.
 * - A run whose child dies is told so at once, and the next run gets another child. A child that
 *   dies before it is ready ends the first run that waits, too: the pool would start children for
 *   ever otherwise.
 *
 * A run that is told to stop has a short time to end, and then its child is killed; after a timeout
 * it has none. The pool only listens to the abort handle: what counts is what the log says.
 */
import type { ArtifactPlace, Runnable } from '../../definition/index.ts'
import type { Timing } from '../../store/clock.ts'
import type { AbortHandle } from '../abort-handle.ts'
import type { Died, EffectOutcome, EffectRequest, Executor } from '../handler/executor.ts'
import { failureReport } from '../handler/failure.ts'
import type { HandlerPort, HandlerRequest } from '../handler/handler-context.ts'
import type { HandlerOutcome } from '../handler/handler.ts'
import { SharedValues } from '../handler/shared-values.ts'
import type { PendingRun } from './child-slot.ts'
import { ChildSlot } from './child-slot.ts'
import type { StartChild } from './child.ts'
import type { ChildOutcome, ChildRequest } from './protocol.ts'
import { NO_WRITES_IN_CHILD } from './protocol.ts'

interface ChildPoolOptions {
  readonly start: StartChild
  /** URLs. */
  readonly modules: readonly string[]
  /** Children at once. */
  readonly most: number
  readonly timing: Timing
  /** Told of messages of a child that could not be handled. */
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
  emit: () => Promise.reject(new Error('An effect has no streams.')),
  progress: () => undefined,
  log: () => undefined,
  heard: () => undefined,
  input: () => Promise.reject(new Error('An effect has an input of its own.')),
  outputs: () => Promise.reject(new Error('An effect reads no outputs.')),
  callee: () => Promise.reject(new Error('An effect calls no job.')),
  suspend: () => Promise.reject(new Error('An effect does not wait.')),
  endWait: () => Promise.reject(new Error('An effect does not wait.')),
  longestRestMs: 0,
  rest: () => Promise.reject(new Error('An effect does not wait.')),
  shared: new SharedValues(),
  artifacts: null,
  noWrites: NO_WRITES_IN_CHILD,
}

export class ChildPool implements Executor {
  readonly endsWhatItStops = true
  readonly #options: Required<ChildPoolOptions>
  readonly #children = new Set<ChildSlot>()
  readonly #starting = new Set<ChildSlot>()
  /** The latest last, and used first: children that are not needed stay idle, and are ended. */
  readonly #free: ChildSlot[] = []
  readonly #waiting: { readonly effects: PendingRun[]; readonly jobs: PendingRun[] } = {
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

  /** Children that are there now, including those that are about to end. */
  get size(): number {
    return this.#children.size
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
    const queues = Object.values(this.#waiting)
    for (const pending of queues.flatMap((queue) => queue.splice(0))) pending.resolve(CLOSED)
    this.#free.length = 0
    await Promise.all(
      [...this.#children].map((child) => {
        child.close()
        return child.gone
      }),
    )
  }

  #run(
    ask: ChildRequest,
    port: HandlerPort,
    abortHandle: AbortHandle,
  ): Promise<ChildOutcome | Died> {
    if (this.#isClosed) return Promise.resolve(CLOSED)
    if (abortHandle.reason !== null) return Promise.resolve(notBegun(abortHandle))
    return new Promise((resolve) => {
      const queue = ask.kind === 'effect' ? this.#waiting.effects : this.#waiting.jobs
      const stopped = (): void => {
        const at = queue.indexOf(pending)
        if (at < 0) return
        queue.splice(at, 1)
        resolve(notBegun(abortHandle))
      }
      const pending: PendingRun = {
        ask,
        port,
        abortHandle,
        // A job may have many effects, and all of them one signal.
        resolve: (outcome) => {
          abortHandle.signal.removeEventListener('abort', stopped)
          resolve(outcome)
        },
      }
      queue.push(pending)
      abortHandle.signal.addEventListener('abort', stopped, { once: true })
      this.#dispatch()
    })
  }

  #dispatch(): void {
    const { effects, jobs } = this.#waiting
    while (this.#free.length > 0 && effects.length + jobs.length > 0) {
      this.#free.pop()?.run(this.#takeNext() as PendingRun)
    }
    while (
      !this.#isClosed &&
      this.#children.size < this.#options.most &&
      this.#starting.size < effects.length + jobs.length
    ) {
      this.#startChild()
    }
  }

  #takeNext(): PendingRun | undefined {
    return this.#waiting.effects.shift() ?? this.#waiting.jobs.shift()
  }

  #startChild(): void {
    const child: ChildSlot = new ChildSlot(this.#options, {
      free: () => {
        this.#starting.delete(child)
        if (this.#isClosed) return child.close()
        this.#free.push(child)
        this.#dispatch()
      },
      ending: () => {
        this.#starting.delete(child)
        const at = this.#free.indexOf(child)
        if (at >= 0) this.#free.splice(at, 1)
      },
      gone: (failedStart) => {
        this.#children.delete(child)
        if (failedStart !== null) this.#takeNext()?.resolve(failedStart)
        this.#dispatch()
      },
    })
    this.#children.add(child)
    this.#starting.add(child)
  }
}

const CLOSED: Died = { kind: 'died', why: 'Its worker has closed.' }

/** It is known that nothing happened: not so of a run whose child is gone. */
function notBegun(abortHandle: AbortHandle): ChildOutcome {
  return { kind: 'failure', ...failureReport(abortHandle.aborted()) }
}
