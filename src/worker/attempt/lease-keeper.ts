/**
 * Keeps the leases of a worker alive, and says when one is lost.
 *
 * It extends a lease when a third of it has passed, and gives it up shortly before it ends, if no
 * extension was answered: a worker that is not sure to hold a lease must not act. It measures the
 * time from BEFORE the lease was asked for, so the worker never believes longer than the store. The answer to
 * a claim may have taken so long that little would be left by this measure, as when the database was away
 * meanwhile: the keeper extends such a lease at once, and nothing is begun under it BEFORE the store has
 * answered.
 *
 * It also notices leases that it keeps alive while their handlers say nothing, and reports the start of
 * work that goes on for more than a moment, where the grant did not: from then on, losing it costs a
 * retry. Shorter work reports its start with its end.
 */
import type { LeaseAddress } from '../../kernel/index.ts'
import type { Timer, Timing } from '../../store/clock.ts'
import type { CommandBatcher } from '../../store/command-batcher.ts'

/** A lease is extended after this part of it. */
const EXTEND_AFTER = 1 / 3
/** It counts as lost when so much of it is left. The authority's clock may run 5 % fast. */
const LAST_PART = 0.1
const SHORTEST_CHECK_MS = 10
const LONGEST_CHECK_MS = 1_000
/** The start of work that takes longer is reported. */
const START_AFTER_MS = 50

/** The attempt that works under a lease. */
export interface LeaseHolder {
  /** Called once, when the lease is not, or not surely, held any more. */
  lost(why: 'cancelled' | 'lease-lost'): void
  /** Called when its handler said nothing for too long; once for each silence. */
  fellSilent(): void
}

export interface HeldLease extends LeaseAddress {
  readonly leaseMs: number
  /** How long the handler may say nothing. */
  readonly silentMs: number
  readonly holder: LeaseHolder
  /** When its work began; null: it waits in the worker. */
  begunAt: number | null
  /** The store knows of the start, or will with the next report. */
  isStarted: boolean
  heardAt: number
  isSilent: boolean
  askedAt: number
  extension: number
  isExtending: boolean
  /** Whether it is held, once the store has said so, and it may not be used before; null: it is. */
  confirming: Promise<boolean> | null
  /** Something happened while an extension was on its way: the next one follows at once. */
  extendAgain: boolean
}

export class LeaseKeeper {
  readonly #batcher: CommandBatcher
  readonly #timing: Timing
  readonly #held = new Set<HeldLease>()
  #timer: Timer | null = null
  #checkAt = 0

  constructor(batcher: CommandBatcher, timing: Timing) {
    this.#batcher = batcher
    this.#timing = timing
  }

  get size(): number {
    return this.#held.size
  }

  /** `askedAt`: when the claim was sent. */
  keep(
    address: LeaseAddress,
    leaseMs: number,
    askedAt: number,
    silentMs: number,
    isStarted: boolean,
    holder: LeaseHolder,
  ): HeldLease {
    const { job, stage, segment, lease, worker } = address
    const held: HeldLease = {
      job,
      stage,
      segment,
      lease,
      worker,
      leaseMs,
      silentMs,
      holder,
      begunAt: null,
      isStarted,
      heardAt: askedAt,
      isSilent: false,
      askedAt,
      extension: 0,
      isExtending: false,
      confirming: null,
      extendAgain: false,
    }
    this.resume(held)
    if (this.#isExtensionDue(held)) held.confirming = this.#confirm(held)
    return held
  }

  /** Work under the lease begins. */
  begin(held: HeldLease): void {
    held.begunAt = this.#timing.now()
    held.heardAt = held.begunAt
    if (!held.isStarted) this.#checkWithin(START_AFTER_MS)
  }

  drop(held: HeldLease): void {
    this.#held.delete(held)
    if (this.#held.size > 0) return
    this.#timer?.cancel()
    this.#timer = null
  }

  /** Keeps it again, AFTER `drop`. */
  resume(held: HeldLease): void {
    this.#held.add(held)
    this.#checkWithin(checkMs(held))
  }

  /** The handler said something. Whether it had been silent for too long. */
  heard(held: HeldLease): boolean {
    const wasSilent = held.isSilent
    held.heardAt = this.#timing.now()
    held.isSilent = false
    return wasSilent
  }

  /** Whether its time may be over. */
  isLost(held: HeldLease): boolean {
    return this.#timing.now() - held.askedAt >= held.leaseMs * (1 - LAST_PART)
  }

  /** Extends all leases of a job, or all, because something happened: the answers say which are lost. */
  extendNow(job?: string): void {
    for (const held of this.#held) {
      if (job === undefined || held.job === job) void this.#extend(held)
    }
  }

  #checkWithin(ms: number): void {
    const at = this.#timing.now() + ms
    if (this.#timer !== null && this.#checkAt <= at) return
    this.#timer?.cancel()
    this.#checkAt = at
    this.#timer = this.#timing.after(ms, () => {
      this.#timer = null
      this.#checkAll()
      let shortest = Infinity
      for (const held of this.#held) shortest = Math.min(shortest, checkMs(held))
      if (this.#held.size > 0) this.#checkWithin(shortest)
    })
  }

  #checkAll(): void {
    const now = this.#timing.now()
    for (const held of this.#held) {
      if (held.confirming !== null) continue
      const passed = now - held.askedAt
      if (passed >= held.leaseMs * (1 - LAST_PART)) this.#lose(held, 'lease-lost')
      else if (passed >= held.leaseMs * EXTEND_AFTER) void this.#extend(held)
      if (held.begunAt === null || !this.#held.has(held)) continue
      if (!held.isStarted && now - held.begunAt >= START_AFTER_MS) void this.#reportStart(held)
      if (held.isSilent || now - held.heardAt < held.silentMs) continue
      held.isSilent = true
      held.holder.fellSilent()
    }
  }

  #isExtensionDue({ askedAt, leaseMs }: HeldLease): boolean {
    return this.#timing.now() - askedAt >= leaseMs * EXTEND_AFTER
  }

  /** Extends it until an answer comes in time. */
  async #confirm(held: HeldLease): Promise<boolean> {
    while (this.#held.has(held)) {
      const { askedAt } = held
      await this.#extend(held)
      // The store could not answer.
      if (held.askedAt === askedAt) this.#lose(held, 'lease-lost')
      else if (!this.#isExtensionDue(held)) break
    }
    held.confirming = null
    return this.#held.has(held)
  }

  async #extend(held: HeldLease): Promise<void> {
    if (held.isExtending) {
      held.extendAgain = true
      return
    }
    held.isExtending = true
    held.extendAgain = false
    held.extension += 1
    const { job, stage, segment, lease, worker, extension } = held
    const askedAt = this.#timing.now()
    try {
      const { verdict } = await this.#batcher.send({
        type: 'ExtendLease',
        job,
        stage,
        segment,
        lease,
        worker,
        extension,
      })
      if (verdict === 'committed') held.askedAt = askedAt
      else this.#lose(held, 'cancelled')
    } catch {
      // The store could not answer. The keeper asks again, until the lease is nearly over.
    } finally {
      held.isExtending = false
    }
    if (held.extendAgain && this.#held.has(held)) await this.#extend(held)
  }

  async #reportStart(held: HeldLease): Promise<void> {
    held.isStarted = true
    const { job, stage, segment, lease, worker } = held
    try {
      const report = { type: 'StartExecution', job, stage, segment, lease, worker } as const
      const { verdict } = await this.#batcher.send(report)
      if (verdict !== 'committed') this.#lose(held, 'cancelled')
    } catch {
      // The store could not answer: the next check reports it again.
      held.isStarted = false
    }
  }

  #lose(held: HeldLease, why: 'cancelled' | 'lease-lost'): void {
    if (!this.#held.has(held)) return
    this.drop(held)
    held.holder.lost(why)
  }
}

/** How soon it is to be looked at again. */
function checkMs({ leaseMs, begunAt, isStarted }: HeldLease): number {
  if (begunAt !== null && !isStarted) return START_AFTER_MS
  return Math.min(LONGEST_CHECK_MS, Math.max(SHORTEST_CHECK_MS, leaseMs / 6))
}
