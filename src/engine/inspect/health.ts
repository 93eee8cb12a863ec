/**
 * Examines the engine itself: whether the invariants hold, which tasks are stalled, and which jobs
 * wait without a worker.
 *
 * It examines jobs a few at a time, round after round. The findings of a round stand until the next
 * one is over.
 */
import type { Duration } from '../../definition/index.ts'
import { toMs } from '../../definition/index.ts'
import type { Examined, Store, WaitsLong } from '../../store/index.ts'
import type { StalledTask } from '../../worker/index.ts'
import { InvariantBroken } from '../errors.ts'

/** Jobs of one type, in one queue, that no worker takes, those that are drained left out; without presence, none of this process. */
export interface Unserved {
  readonly queue: string
  readonly type: string
  /** The name of the stage; null for a plain job. */
  readonly stage: string | null
  /** How many were found waiting for too long. */
  readonly count: number
  /** Since when the oldest of them is due. */
  readonly since: Date
}

/** A task whose worker keeps the lease alive while the handler says nothing. */
export interface StalledInfo extends Omit<StalledTask, 'since'> {
  /** When the handler said something last. */
  readonly since: Date
}

export function stalledInfo({ since, ...task }: StalledTask): StalledInfo {
  return { ...task, since: new Date(since) }
}

/** Something that must always hold, and does not. */
export interface Broken {
  /** Which of the invariants: they are listed in the model. */
  readonly invariant: number
  readonly what: string
}

/** The server of the database cannot be reached. */
export interface OutageInfo {
  /** When that was noticed. */
  readonly since: Date
  readonly why: string
}

export interface Health {
  /** The database can be reached, and nothing is broken, stalled or unserved. */
  readonly isWell: boolean
  /** Null: the server can be reached, or there is none. During an outage the rest is what was known before. */
  readonly outage: OutageInfo | null
  /** Bugs of Pawl, or damage: please report them. Of what is so now, the newest 100 that were found. */
  readonly broken: readonly Broken[]
  /** Tasks whose worker keeps the lease alive while the handler says nothing. */
  readonly stalled: readonly StalledInfo[]
  readonly unserved: readonly Unserved[]
  /** Jobs that were examined since the engine was opened, rounds through all of them, and when the last round was over. */
  readonly examined: {
    readonly jobs: number
    readonly rounds: number
    /** By the clock of the process that was asked; null: no round is over. */
    readonly lastRoundAt: Date | null
  }
}

interface HealthParts {
  readonly store: Store
  /** Milliseconds, by the clock of this process. */
  readonly now: () => number
  readonly isServed: (type: string, queue: string, stage: string | null) => boolean
  /** Of all processes, as they were heard last. */
  readonly stalled: () => readonly StalledTask[]
  /** Hears the other processes. */
  readonly refresh: () => Promise<void>
  readonly onUnserved: (unserved: Unserved) => void
  readonly onError: (error: Error) => void
}

/** How long a job may wait for a worker before a notice. */
const DEFAULT_UNSERVED: Duration = '10m'
/** Jobs of one query. */
const BATCH = 200
/** Queries of one `health()`. */
const BATCHES = 10
/** Between the beginnings of two rounds, at least: few jobs need no more. */
const ROUND_MS = 1_000
/** Between two looks that did not end a round: pages that ask all the time must not examine all the time. */
const LOOK_MS = 10_000
/** The one who asks waits no longer for another query. */
const MOST_LOOK_MS = 50
const MOST_BROKEN = 100

export class HealthWatch {
  readonly #parts: HealthParts
  readonly #waitedMs: number
  readonly #broken = new Map<string, Broken>()
  /** Those found in the round that is under way. */
  readonly #stillBroken = new Set<string>()
  /** Of the round that is under way, and of the last one. */
  #waiting = new Map<string, Unserved>()
  #waited = new Map<string, Unserved>()
  readonly #notified = new Set<string>()
  #jobs = 0
  #rounds = 0
  #lastRoundAt: Date | null = null
  #nextRound = -Infinity
  #nextLook = -Infinity
  #looking: Promise<void> | null = null
  /** Until then an engine that has just been opened may still be given its workers. */
  readonly #notifyFrom: number

  constructor(parts: HealthParts, unserved: Duration = DEFAULT_UNSERVED) {
    this.#parts = parts
    this.#waitedMs = toMs(unserved, '`unservedAfter`')
    this.#notifyFrom = parts.now() + this.#waitedMs
  }

  /** Examines a few jobs, unless the last round is too recent. Whether the round is over. */
  async examineSome(): Promise<boolean> {
    const now = this.#parts.now()
    if (now < this.#nextRound) return true
    const { store } = this.#parts
    const found = await store.query({ kind: 'examination', limit: BATCH, waitedMs: this.#waitedMs })
    this.#addFindings(found)
    if (found.isRoundOver) this.#endRound(now)
    return found.isRoundOver
  }

  /** What was found so far. */
  get broken(): readonly Broken[] {
    return [...this.#broken.values()]
  }

  /**
   * After a few more queries: with few jobs that is a whole round, and with many there are none if the last ones are a few
   * seconds old. It does not wait for a server that is away.
   */
  async health(): Promise<Health> {
    const { availability } = this.#parts.store
    if (availability === undefined) await this.#look()
    else if (availability.outage === null) {
      await Promise.race([this.#look(), availability.whenAway()])
    }
    return this.known()
  }

  /** Callers that ask at the same time share a look. */
  #look(): Promise<void> {
    this.#looking ??= this.#lookAnew().finally(() => {
      this.#looking = null
    })
    return this.#looking
  }

  async #lookAnew(): Promise<void> {
    const now = this.#parts.now()
    if (now >= this.#nextLook) {
      let isRoundOver = false
      for (let i = 0; i < BATCHES && !isRoundOver; i++) {
        isRoundOver = await this.examineSome()
        if (this.#parts.now() - now >= MOST_LOOK_MS) break
      }
      if (!isRoundOver) this.#nextLook = now + LOOK_MS
    }
    await this.#parts.refresh()
  }

  /** What was found so far, without another look. */
  known(): Health {
    const { stalled, isServed, store } = this.#parts
    const away = store.availability?.outage ?? null
    const unserved = [...this.#waited.values()].filter(
      ({ type, queue, stage }) => !isServed(type, queue, stage),
    )
    const { broken } = this
    const silent = stalled().map(stalledInfo)
    return {
      isWell: away === null && broken.length + silent.length + unserved.length === 0,
      outage: away === null ? null : { since: new Date(away.since), why: away.why },
      broken,
      stalled: silent,
      unserved,
      examined: { jobs: this.#jobs, rounds: this.#rounds, lastRoundAt: this.#lastRoundAt },
    }
  }

  #addFindings({ looked, violations, waiting }: Examined): void {
    this.#jobs += looked
    for (const { invariant, what } of violations) {
      this.#stillBroken.add(what)
      if (this.#broken.has(what)) continue
      this.#broken.set(what, { invariant, what })
      const [oldest] = this.#broken.keys()
      if (this.#broken.size > MOST_BROKEN && oldest !== undefined) this.#broken.delete(oldest)
      this.#parts.onError(new InvariantBroken(invariant, what))
    }
    if (this.#parts.now() < this.#notifyFrom) return
    for (const one of waiting) this.#addWaiting(one)
  }

  #addWaiting({ queue, type, stage, since }: WaitsLong): void {
    const name = JSON.stringify([queue, type, stage])
    const known = this.#waiting.get(name)
    const oldest = Math.min(known?.since.getTime() ?? Infinity, since)
    this.#waiting.set(name, {
      queue,
      type,
      stage,
      count: (known?.count ?? 0) + 1,
      since: new Date(oldest),
    })
  }

  #endRound(now: number): void {
    this.#rounds += 1
    this.#nextRound = now + ROUND_MS
    this.#lastRoundAt = new Date(now)
    // All jobs were examined: what was not found again is right again, or gone.
    for (const what of this.#broken.keys()) {
      if (!this.#stillBroken.has(what)) this.#broken.delete(what)
    }
    this.#stillBroken.clear()
    this.#waited = this.#waiting
    this.#waiting = new Map()
    for (const name of this.#notified) if (!this.#waited.has(name)) this.#notified.delete(name)
    for (const [name, one] of this.#waited) {
      const { type, queue, stage } = one
      if (this.#notified.has(name) || this.#parts.isServed(type, queue, stage)) continue
      this.#notified.add(name)
      this.#parts.onUnserved(one)
    }
  }
}
