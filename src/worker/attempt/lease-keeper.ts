/**
 * Keeps the leases of a worker alive, and says when one is lost.
 *
 * A lease is extended when a third of it has passed, and given up by the worker itself shortly
 * before it ends, if no extension was answered: whoever is not sure to hold it must not act.
 * Its time is measured from BEFORE it was asked for, so the worker is never the later one.
 *
 * It also notices leases that it keeps alive while nothing is heard of the work itself.
 */
import type { LeaseAddress } from '../../kernel/index.ts'
import type { CommandBatcher } from '../../store/command-batcher.ts'
import type { Timer, Timing } from '../../store/clock.ts'

/** A lease is renewed after this share of it. */
const RENEW_AFTER = 1 / 3
/** It counts as lost when so much of it is left. The authority's clock may run 5 % fast. */
const LAST_SHARE = 0.1
const SHORTEST_BEAT_MS = 10
const LONGEST_BEAT_MS = 1_000

/** Who works under a lease, and is told what becomes of it. */
export interface LeaseHolder {
  /** Called once, when the lease is not, or not surely, held any more. */
  lost(why: 'cancelled' | 'lease-lost'): void
  /** Called when nothing was heard for too long, and again after each time that something was. */
  fellSilent(): void
}

export interface HeldLease extends LeaseAddress {
  readonly leaseMs: number
  /** How long nothing may be heard of the work. */
  readonly silentMs: number
  readonly holder: LeaseHolder
  heardAt: number
  isSilent: boolean
  askedAt: number
  extension: number
  isAsking: boolean
  /** Something happened while it was asked for: to be asked again. */
  isAskedAgain: boolean
}

export class LeaseKeeper {
  readonly #batcher: CommandBatcher
  readonly #timing: Timing
  readonly #held = new Set<HeldLease>()
  #timer: Timer | null = null
  #beatAt = 0

  constructor(batcher: CommandBatcher, timing: Timing) {
    this.#batcher = batcher
    this.#timing = timing
  }

  get size(): number {
    return this.#held.size
  }

  /** `askedAt`: when the claim was sent. */
  hold(
    address: LeaseAddress,
    leaseMs: number,
    askedAt: number,
    silentMs: number,
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
      heardAt: askedAt,
      isSilent: false,
      askedAt,
      extension: 0,
      isAsking: false,
      isAskedAgain: false,
    }
    this.#held.add(held)
    this.#beatWithin(leaseMs)
    return held
  }

  drop(held: HeldLease): void {
    this.#held.delete(held)
    if (this.#held.size === 0) this.#rest()
  }

  /** It is not asked for until `goOn`: something is under way that whoever asks would wait for. */
  rest(held: HeldLease): void {
    this.drop(held)
  }

  goOn(held: HeldLease): void {
    this.#held.add(held)
    this.#beatWithin(held.leaseMs)
  }

  /** Something was heard of the work. Whether it had been silent for too long. */
  heard(held: HeldLease): boolean {
    const wasSilent = held.isSilent
    held.heardAt = this.#timing.now()
    held.isSilent = false
    return wasSilent
  }

  /** Whether nobody keeps it alive, and its time may be over. */
  isLost(held: HeldLease | null): boolean {
    if (held === null) return true
    return this.#timing.now() - held.askedAt >= held.leaseMs * (1 - LAST_SHARE)
  }

  /** Of all leases of a job, or of all: asks about them at once, because something happened. */
  lookAgain(job?: string): void {
    for (const held of this.#held) {
      if (job === undefined || held.job === job) void this.#extend(held)
    }
  }

  /** The next look comes in time for a lease of this length. */
  #beatWithin(leaseMs: number): void {
    const ms = Math.min(LONGEST_BEAT_MS, Math.max(SHORTEST_BEAT_MS, leaseMs / 6))
    const at = this.#timing.now() + ms
    if (this.#timer !== null && this.#beatAt <= at) return
    this.#timer?.cancel()
    this.#beatAt = at
    this.#timer = this.#timing.after(ms, () => {
      this.#timer = null
      this.#lookAround()
      let shortest = Infinity
      for (const held of this.#held) shortest = Math.min(shortest, held.leaseMs)
      if (this.#held.size > 0) this.#beatWithin(shortest)
    })
  }

  #rest(): void {
    this.#timer?.cancel()
    this.#timer = null
  }

  #lookAround(): void {
    const now = this.#timing.now()
    for (const held of this.#held) {
      const passed = now - held.askedAt
      if (passed >= held.leaseMs * (1 - LAST_SHARE)) this.#lose(held, 'lease-lost')
      else if (passed >= held.leaseMs * RENEW_AFTER) void this.#extend(held)
      if (held.isSilent || now - held.heardAt < held.silentMs || !this.#held.has(held)) continue
      held.isSilent = true
      held.holder.fellSilent()
    }
  }

  async #extend(held: HeldLease): Promise<void> {
    if (held.isAsking) {
      held.isAskedAgain = true
      return
    }
    held.isAsking = true
    held.isAskedAgain = false
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
      // The store could not say. It is asked again, until the lease is nearly over.
    } finally {
      held.isAsking = false
    }
    if (held.isAskedAgain && this.#held.has(held)) await this.#extend(held)
  }

  #lose(held: HeldLease, why: 'cancelled' | 'lease-lost'): void {
    if (!this.#held.has(held)) return
    this.drop(held)
    held.holder.lost(why)
  }
}
