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
import type { LimitSpec, LimitUse, Rate, Usage } from '../../kernel/index.ts'
import type { ReadyList } from './ready-list.ts'
import type { QueueMember } from './indexed-queue.ts'
import { NOT_QUEUED } from './indexed-queue.ts'
import type { LimitPartition } from './limit-partition.ts'

/**
 * Up to so many lanes of a gate are put elsewhere one by one when it opens and closes. More of
 * them make that dear; fewer make many sets of shared gates, each with yards to open and close.
 */
const FEW_LANES = 16

/**
 * Nearly always a key has one gate, and a gate has one lane and no yard; and there are many. So
 * the first is known by itself, and for the others nothing is made until they come.
 */
const NO_LANES: readonly never[] = []
const NO_GATES: readonly never[] = []

/** The usage of a key, as `decide` reads it, and the gates that depend on it. */
export class LimitKey implements Usage {
  held = 0
  /** One for each pair of bounds that tasks declare for the key. */
  gate: LimitState | null = null
  others: LimitState[] = NO_GATES as never[]
  fullAt = 0

  gateFor(limit: LimitSpec): LimitState | null {
    if (this.gate?.isFor(limit) === true) return this.gate
    return this.others.find((gate) => gate.isFor(limit)) ?? null
  }

  add(gate: LimitState): void {
    if (this.gate === null) this.gate = gate
    else if (this.others.length === 0) this.others = [gate]
    else this.others.push(gate)
  }

  /** Forgets all gates, and knows those that are given. */
  keep(gates: readonly LimitState[]): void {
    this.gate = null
    this.others = NO_GATES as never[]
    for (const gate of gates) this.add(gate)
  }

  get gates(): readonly LimitState[] {
    return this.gate === null ? NO_GATES : [this.gate, ...this.others]
  }
}

export class LimitState implements LimitUse, QueueMember {
  readonly key: string
  readonly concurrency: number | null
  readonly rate: Rate | null
  readonly usage: LimitKey
  isClosed = false
  /** Many lanes have it. */
  isShared = false
  /** Its rank among the timers: when it opens by itself. */
  slot = NOT_QUEUED
  /** All that have it; not looked through once it is shared. */
  #lane: ReadyList | null = null
  #others: ReadyList[] = NO_LANES as never[]
  dueAt = 0
  readonly submission: number
  /** Those of lanes that have it, and with it the same others that are shared. */
  #yards: Set<LimitPartition> | null = null

  constructor({ key, concurrency, rate }: LimitSpec, usage: LimitKey, submission: number) {
    this.key = key
    this.concurrency = concurrency
    this.rate = rate
    this.usage = usage
    this.submission = submission
  }

  get priority(): number {
    return 0
  }

  get turn(): number {
    return 0
  }

  get isUnused(): boolean {
    return this.#lane === null
  }

  added(lane: ReadyList): void {
    if (this.#lane === null) {
      this.#lane = lane
      return
    }
    if (this.#others.length === 0) this.#others = [lane]
    else this.#others.push(lane)
    if (this.#others.length !== FEW_LANES) return
    // The first few stand elsewhere: from now on they are behind it.
    this.isShared = true
    this.#placeLanes()
  }

  /** BEFORE the lanes that are left are added again. */
  forgetLanes(): void {
    this.#lane = null
    this.#others = NO_LANES as never[]
    this.isShared = false
  }

  addYard(yard: LimitPartition): void {
    this.#yards ??= new Set()
    this.#yards.add(yard)
  }

  removeYard(yard: LimitPartition): void {
    this.#yards?.delete(yard)
  }

  /** Opens or closes: what stands behind it goes where it belongs. */
  swing(isClosed: boolean): void {
    this.isClosed = isClosed
    if (!this.isShared) return this.#placeLanes()
    for (const yard of this.#yards ?? []) yard.channel.settle(yard)
  }

  #placeLanes(): void {
    this.#lane?.channel.place(this.#lane)
    for (const lane of this.#others) lane.channel.place(lane)
  }

  isFor({ key, concurrency, rate }: LimitSpec): boolean {
    return (
      this.key === key &&
      this.concurrency === concurrency &&
      this.rate?.count === rate?.count &&
      this.rate?.perMs === rate?.perMs
    )
  }
}
