/**
 * A gate: one limit (a key with its bounds) that lanes have to pass.
 *
 * Open: one more task may start, as far as this limit goes. Closed: the key is used up, until
 * a lease ends (concurrency) or a time comes (rate). Whoever changes the usage of a key asks
 * its gates at once, so `isClosed` is never out of date.
 *
 * Shared: many lanes have it. They stand in yards behind it, which open and close as a whole: one
 * for each channel, and for each set of shared gates that lanes have.
 * Its own: a few lanes have it. They stand with others that are open, and nowhere while it is
 * closed, so that a group with ten thousand keys is in one place and not in ten thousand.
 */
import type { LimitSpec, Usage } from '../kernel/index.ts'
import type { Lane } from './lane.ts'
import type { Ranked } from './ranks.ts'
import { NOWHERE } from './ranks.ts'
import type { Yard } from './yard.ts'

/**
 * Up to so many lanes of a gate are put elsewhere one by one when it opens and closes. More of
 * them make that dear; fewer make many sets of shared gates, each with yards to open and close.
 */
const FEW_LANES = 16

/** The usage of a key, as `decide` reads it, and the gates that depend on it. */
export class LimitKey implements Usage {
  held = 0
  fullAt = 0
  /** One for each pair of bounds that tasks declare for the key; nearly always one. */
  gates: Gate[] = []
}

export class Gate implements Ranked {
  readonly limit: LimitSpec
  readonly key: LimitKey
  isClosed = false
  /** All that have it; not looked through once it is shared. */
  #lanes: Lane[] = []
  /** Those of lanes that have it, and with it the same others that are shared. */
  readonly yards = new Set<Yard>()

  /** Its rank among the timers: when it opens by itself. */
  slot = NOWHERE
  readonly priority = 0
  readonly turn = 0
  dueAt = 0
  readonly submission: number

  constructor(limit: LimitSpec, key: LimitKey, submission: number) {
    this.limit = limit
    this.key = key
    this.submission = submission
  }

  get isShared(): boolean {
    return this.#lanes.length > FEW_LANES
  }

  get isUnused(): boolean {
    return this.#lanes.length === 0
  }

  added(lane: Lane): void {
    this.#lanes.push(lane)
    // The first few stand elsewhere: from now on they are behind it.
    if (this.#lanes.length === FEW_LANES + 1) this.#placeLanes()
  }

  /** BEFORE the lanes that are left are added again. */
  forgetLanes(): void {
    this.#lanes = []
  }

  /** Opens or closes: what stands behind it goes where it belongs. */
  swing(isClosed: boolean): void {
    this.isClosed = isClosed
    if (!this.isShared) return this.#placeLanes()
    for (const yard of this.yards) yard.channel.settle(yard)
  }

  #placeLanes(): void {
    for (const lane of this.#lanes) lane.channel.place(lane)
  }

  isFor(limit: LimitSpec): boolean {
    const own = this.limit
    return (
      own.key === limit.key &&
      own.concurrency === limit.concurrency &&
      own.rate?.count === limit.rate?.count &&
      own.rate?.perMs === limit.rate?.perMs
    )
  }
}
