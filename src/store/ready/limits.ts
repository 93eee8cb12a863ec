/**
 * The limits that tasks declare: how much of each key is used, and which limits that closes.
 *
 * A limit is a key with its bounds. Open: one more task may start, as far as this limit goes.
 * Closed: the key is used up, until a lease ends (concurrency) or a time comes (rate). The log
 * says what is charged and credited; after each change the limits of the key are checked at once,
 * so `isClosed` is never out of date. A limit that only time can open has a timer.
 *
 * What a limit stops is told when it opens and closes, and goes where it belongs:
 * - a limit that few lists have tells each of them;
 * - a shared limit, which many lists have, tells the partitions that hold them (`channel.ts`).
 */
import type { LimitSpec, LimitUse, Rate, Usage } from '../../kernel/index.ts'
import { chargeGrant, creditEnd, mayStartAt } from '../../kernel/index.ts'
import { Heap } from './indexed-queue.ts'

/** A list of tasks, or a partition of such lists. */
export interface Limited {
  /** One of its limits opened, closed, or became shared. */
  limitChanged(): void
}

/**
 * A limit of so many lists is not shared yet. More make it dear to move each of them when the
 * limit opens and closes; fewer make many sets of shared limits, each with a partition.
 */
const FEW_LISTS = 16

/** Nearly all limits share it: there are many, and each array would be one more to fetch. */
const NONE: Limited[] = []

/** The usage of a key, as `decide` reads it. */
class LimitKey implements Usage {
  held = 0
  fullAt = 0
  /** The first of its limits: one for each pair of bounds that tasks declare for the key. */
  limit: LimitState | null = null
}

export class LimitState implements LimitUse {
  readonly key: string
  readonly concurrency: number | null
  readonly rate: Rate | null
  readonly usage: LimitKey
  readonly id: number
  isClosed = false
  isShared = false
  /** Another limit of its key. */
  nextOfKey: LimitState | null = null
  /** How many lists have it. */
  #lists = 0
  /** What it stops: its lists, or its partitions once it is shared. Nearly always there is one. */
  #first: Limited | null = null
  #others: Limited[] = NONE
  /** When it opens by itself, as its newest timer says. */
  opensAt = 0

  constructor({ key, concurrency, rate }: LimitSpec, usage: LimitKey, id: number) {
    this.key = key
    this.concurrency = concurrency
    this.rate = rate
    this.usage = usage
    this.id = id
  }

  get isUnused(): boolean {
    return this.#lists === 0
  }

  addList(list: Limited): void {
    this.#lists += 1
    if (this.isShared) return
    this.#addStopped(list)
    if (this.#lists <= FEW_LISTS) return
    const lists = [this.#first as Limited, ...this.#others]
    this.isShared = true
    this.#first = null
    this.#others = NONE
    for (const one of lists) one.limitChanged()
  }

  removeList(list: Limited): void {
    this.#lists -= 1
    if (!this.isShared) this.#removeStopped(list)
  }

  addPartition(partition: Limited): void {
    this.#addStopped(partition)
  }

  removePartition(partition: Limited): void {
    this.#removeStopped(partition)
  }

  setClosed(isClosed: boolean): void {
    this.isClosed = isClosed
    this.#first?.limitChanged()
    for (const one of this.#others) one.limitChanged()
  }

  isFor({ key, concurrency, rate }: LimitSpec): boolean {
    return (
      this.key === key &&
      this.concurrency === concurrency &&
      this.rate?.count === rate?.count &&
      this.rate?.perMs === rate?.perMs
    )
  }

  #addStopped(one: Limited): void {
    if (this.#first === null) this.#first = one
    else if (this.#others === NONE) this.#others = [one]
    else this.#others.push(one)
  }

  #removeStopped(one: Limited): void {
    const [first = null, ...others] = [this.#first, ...this.#others].filter(
      (other) => other !== one,
    )
    this.#first = first
    this.#others = others.length === 0 ? NONE : (others as Limited[])
  }
}

interface LimitTimer {
  readonly at: number
  readonly limit: LimitState
}

export class LimitUsage {
  /** By key: what `decide` reads. */
  readonly usage = new Map<string, LimitKey>()
  /** How often a limit has opened or closed. */
  changes = 0
  /** A timer whose limit has changed since does no harm. */
  readonly #timers = new Heap<LimitTimer>((a, b) => a.at < b.at)
  #ids = 0

  limitFor(spec: LimitSpec, now: number): LimitState {
    const key = this.#key(spec.key)
    let limit = key.limit
    while (limit !== null && !limit.isFor(spec)) limit = limit.nextOfKey
    if (limit !== null) return limit
    this.#ids += 1
    limit = new LimitState(spec, key, this.#ids)
    limit.nextOfKey = key.limit
    key.limit = limit
    this.#check(limit, now)
    return limit
  }

  restore(key: string, fullAt: number): void {
    this.#key(key).fullAt = fullAt
  }

  charge(specs: readonly LimitSpec[], at: number, resumed: boolean): void {
    for (const spec of specs) {
      const key = this.#key(spec.key)
      chargeGrant(key, spec, at, resumed)
      this.#checkAll(key, at)
    }
  }

  /** As `charge`, without looking keys up. */
  chargeKnown(limits: readonly LimitState[], at: number, resumed: boolean): void {
    for (const limit of limits) {
      chargeGrant(limit.usage, limit, at, resumed)
      this.#checkAll(limit.usage, at)
    }
  }

  credit(specs: readonly LimitSpec[], at: number): void {
    for (const spec of specs) {
      const key = this.#key(spec.key)
      creditEnd(key)
      this.#checkAll(key, at)
    }
  }

  /** Opens the limits whose time has come. */
  advance(now: number): void {
    for (;;) {
      const [timer] = this.#timers.items
      if (timer === undefined || timer.at > now) return
      this.#timers.removeAt(0)
      this.#check(timer.limit, now)
    }
  }

  /** The bounds that a task named last which no task named for the key before. Null: none is known. */
  boundsOf(key: string): LimitState | null {
    return this.usage.get(key)?.limit ?? null
  }

  /** Forgets limits that no list has, and keys that nothing uses. */
  sweep(now: number): void {
    for (const [name, key] of this.usage) {
      key.limit = withoutUnused(key.limit)
      if (key.limit === null && key.held === 0 && key.fullAt <= now) this.usage.delete(name)
    }
  }

  #key(name: string): LimitKey {
    let key = this.usage.get(name)
    if (key === undefined) this.usage.set(name, (key = new LimitKey()))
    return key
  }

  #checkAll(key: LimitKey, now: number): void {
    for (let limit = key.limit; limit !== null; limit = limit.nextOfKey) this.#check(limit, now)
  }

  #check(limit: LimitState, now: number): void {
    const startAt = mayStartAt(limit, limit.usage, now)
    const isClosed = startAt > now
    if (isClosed && startAt < Infinity && startAt !== limit.opensAt) {
      limit.opensAt = startAt
      this.#timers.push({ at: startAt, limit })
    }
    if (isClosed === limit.isClosed) return
    this.changes += 1
    limit.setClosed(isClosed)
  }
}

function withoutUnused(limit: LimitState | null): LimitState | null {
  if (limit === null) return null
  limit.nextOfKey = withoutUnused(limit.nextOfKey)
  return limit.isUnused ? limit.nextOfKey : limit
}
