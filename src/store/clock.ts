/**
 * The port to the real clock: the only file of this room that may read it.
 */

/** Where a store gets its time from. Milliseconds since 1970. */
export interface Clock {
  now(): number
}

/** May jump either way; the ledger takes care that the log's time never runs backwards. */
export const systemClock: Clock = { now: () => Date.now() }
