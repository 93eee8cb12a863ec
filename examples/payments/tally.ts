/**
 * What has happened so far, counted from the entries of the log and from what the bank says.
 */
import type { ChargeRequest } from './bank-client.ts'

/** An entry of the log, as the shop tells it. */
export interface ToldEntry {
  readonly position: number
  readonly type: string
  readonly job: string | null
  readonly lease: number | null
  /** The job has succeeded by it. */
  readonly isEnd: boolean
}

/** A charge, as the bank tells it. */
export interface ToldCharge extends ChargeRequest {
  /** It had seen the key before, and charged nothing. */
  readonly isRepeat: boolean
}

export class Tally {
  submitted = 0
  attempts = 0
  expiries = 0
  /** Leases taken back at once, because the process that ran the handler was gone. */
  revocations = 0
  /** Jobs that were taken up again after somebody died over them. */
  recoveries = 0
  effectRuns = 0
  /** Effects that were started again, under the same key. */
  effectsAgain = 0
  /** Of effects whose outcome was unknown, how many the bank was asked about. */
  reconciled = 0
  finished = 0
  charges = 0
  /** Charges of orders that had been charged before. */
  chargedTwice = 0
  /** Charges that the bank had seen before. */
  recognised = 0
  engineKills = 0
  childKills = 0
  killsAfterCharge = 0
  /** Of the newest entry that was told. */
  position = 0
  readonly #started = new Set<string>()
  readonly #charged = new Set<string>()

  get kills(): number {
    return this.engineKills + this.childKills
  }

  entry({ position, type, job, lease, isEnd }: ToldEntry): void {
    this.position = position
    if (isEnd) this.finished += 1
    if (type === 'JobSubmitted') this.submitted += 1
    if (type === 'LeaseExpired') this.expiries += 1
    if (type === 'LeaseRevoked') this.revocations += 1
    if (type === 'EffectResolved') this.reconciled += 1
    if (type === 'LeaseGranted') {
      this.attempts += 1
      if (lease !== 1) this.recoveries += 1
    }
    if (type === 'EffectStarted' && job !== null) {
      this.effectRuns += 1
      if (this.#started.has(job)) this.effectsAgain += 1
      this.#started.add(job)
    }
  }

  charge({ order, isRepeat }: ToldCharge): void {
    if (isRepeat) {
      this.recognised += 1
      return
    }
    this.charges += 1
    if (this.#charged.has(order)) this.chargedTwice += 1
    this.#charged.add(order)
  }
}
