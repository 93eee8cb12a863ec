/**
 * Somebody who takes jobs with their submit: a worker that has room says so, and a store that would
 * need another transaction to grant a job grants it in the one that it is submitted in.
 */
import type { ChannelName } from './ready/ready-index.ts'
import type { Claimed } from './store.ts'

/** Requests from here on are of jobs that were taken with their submit: no claim asks with such a number. */
export const FIRST_WITH_SUBMIT = 2 ** 40

export interface Taker {
  /** Keeps room for at most `most` jobs of a channel; null: there is none. */
  reserve(channel: ChannelName, most: number): Reservation | null
}

/** Room that is kept until it is settled, whatever happens. */
export interface Reservation {
  readonly worker: string
  /** Of this reservation alone. */
  readonly request: number
  readonly places: number
  /** AFTER it is durable: what was granted, which may be nothing. */
  settle(claimed: readonly Claimed[]): void
}
