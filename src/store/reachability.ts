/**
 * Whether the server that a store is on can be reached.
 */

/** The server of a store cannot be reached. */
export interface Outage {
  /** When that was noticed, in milliseconds since 1970, by the clock of this machine. */
  readonly since: number
  readonly why: string
}

export interface Reachability {
  /** Null: it can be reached, as far as is known. */
  readonly outage: Outage | null
  /** Resolved when the next outage begins. */
  whenAway(): Promise<void>
}
