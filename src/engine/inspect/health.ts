/**
 * Watches over the engine itself: whether what must always hold does hold, who is stalled, and
 * who waits for a worker that there is not.
 *
 * Jobs are looked at a few at a time, round after round. What was found in a round stands until
 * the next one is over.
 */
import type { Duration } from '../../definition/index.ts'
import { toMs } from '../../definition/index.ts'
import type { Examined, Store, WaitsLong } from '../../store/index.ts'
import type { StalledTask } from '../../worker/index.ts'
import { InvariantBroken } from '../errors.ts'

/** Jobs of one type, in one queue, that nobody takes. */
export interface Unserved {
  readonly queue: string
  readonly type: string
  /** The name of the stage; null for a plain job. */
  readonly stage: string | null
  /** How many were found waiting for too long. */
  readonly count: number
  /** Since when the oldest of them is due. Milliseconds since 1970. */
  readonly since: number
}

/** Something that must always hold, and does not. */
export interface Broken {
  /** Which of the invariants: they are listed in the model. */
  readonly invariant: number
  readonly what: string
}

export interface Health {
  /** Nothing is broken, nobody is stalled, and nobody waits in vain. */
  readonly isWell: boolean
  /** Bugs of Pawl, or damage: please report them. Of what is so now, the newest 100 that were found. */
  readonly broken: readonly Broken[]
  /** Leases that are kept alive while nothing is heard of the work. */
  readonly stalled: readonly StalledTask[]
  readonly unserved: readonly Unserved[]
  /** Jobs that were examined since the engine was opened, and rounds through all of them. */
  readonly examined: { readonly jobs: number; readonly rounds: number }
}

interface HealthParts {
  readonly store: Store
  /** Milliseconds; only differences count. */
  readonly now: () => number
  readonly isServed: (type: string, queue: string, stage: string | null) => boolean
  readonly stalled: () => readonly StalledTask[]
  readonly onUnserved: (unserved: Unserved) => void
  readonly onError: (error: Error) => void
}

/** How long a job may wait for a worker before somebody is told. */
const DEFAULT_UNSERVED: Duration = '10m'
/** Jobs of one look. */
const LOOK = 200
/** Looks at once, when somebody asks. */
const LOOKS = 10
/** Between the beginnings of two rounds, at least: few jobs need no more. */
const ROUND_MS = 1_000
const MOST_BROKEN = 100

export class HealthWatch {
  readonly #parts: HealthParts
  readonly #waitedMs: number
  readonly #broken = new Map<string, Broken>()
  /** Of those, the ones that were found in the round that is under way. */
  readonly #stillBroken = new Set<string>()
  /** Of the round that is under way, and of the last one. */
  #waiting = new Map<string, Unserved>()
  #waited = new Map<string, Unserved>()
  readonly #told = new Set<string>()
  #jobs = 0
  #rounds = 0
  #nextRound = -Infinity
  /** Until then an engine that has just been opened may still be given its workers. */
  readonly #toldFrom: number

  constructor(parts: HealthParts, unserved: Duration = DEFAULT_UNSERVED) {
    this.#parts = parts
    this.#waitedMs = toMs(unserved, '`unservedAfter`')
    this.#toldFrom = parts.now() + this.#waitedMs
  }

  /** A look at a few jobs, unless a round has just begun and is over. Whether it is over. */
  async tick(): Promise<boolean> {
    const now = this.#parts.now()
    if (now < this.#nextRound) return true
    const { store } = this.#parts
    const found = await store.query({ kind: 'examination', limit: LOOK, waitedMs: this.#waitedMs })
    this.#take(found)
    if (found.isRoundOver) this.#endRound(now + ROUND_MS)
    return found.isRoundOver
  }

  /** What was found so far. */
  get broken(): readonly Broken[] {
    return [...this.#broken.values()]
  }

  /** What is known now, after a few more looks: with few jobs that is all there is to know. */
  async health(): Promise<Health> {
    for (let i = 0; i < LOOKS; i++) if (await this.tick()) break
    const { stalled, isServed } = this.#parts
    const unserved = [...this.#waited.values()].filter(
      ({ type, queue, stage }) => !isServed(type, queue, stage),
    )
    const { broken } = this
    const silent = stalled()
    return {
      isWell: broken.length + silent.length + unserved.length === 0,
      broken,
      stalled: silent,
      unserved,
      examined: { jobs: this.#jobs, rounds: this.#rounds },
    }
  }

  #take({ looked, violations, waiting }: Examined): void {
    this.#jobs += looked
    for (const { invariant, what } of violations) {
      this.#stillBroken.add(what)
      if (this.#broken.has(what)) continue
      this.#broken.set(what, { invariant, what })
      const [oldest] = this.#broken.keys()
      if (this.#broken.size > MOST_BROKEN && oldest !== undefined) this.#broken.delete(oldest)
      this.#parts.onError(new InvariantBroken(invariant, what))
    }
    if (this.#parts.now() < this.#toldFrom) return
    for (const one of waiting) this.#note(one)
  }

  #note({ queue, type, stage, since }: WaitsLong): void {
    const name = JSON.stringify([queue, type, stage])
    const known = this.#waiting.get(name)
    this.#waiting.set(name, {
      queue,
      type,
      stage,
      count: (known?.count ?? 0) + 1,
      since: Math.min(known?.since ?? Infinity, since),
    })
  }

  #endRound(nextRound: number): void {
    this.#rounds += 1
    this.#nextRound = nextRound
    // All jobs were looked at: what was not found again is right again, or gone.
    for (const what of this.#broken.keys()) {
      if (!this.#stillBroken.has(what)) this.#broken.delete(what)
    }
    this.#stillBroken.clear()
    this.#waited = this.#waiting
    this.#waiting = new Map()
    for (const name of this.#told) if (!this.#waited.has(name)) this.#told.delete(name)
    for (const [name, one] of this.#waited) {
      const { type, queue, stage } = one
      if (this.#told.has(name) || this.#parts.isServed(type, queue, stage)) continue
      this.#told.add(name)
      this.#parts.onUnserved(one)
    }
  }
}
