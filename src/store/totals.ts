/**
 * What a process says of what it wrote: small enough to be said to other processes, and all that figures over time need.
 */
/** How many were how long, in milliseconds. The buckets are those of `Metrics`; empty ones at the end are left out. */
export interface TotalsDistribution {
  readonly count: number
  readonly sum: number
  readonly counts: readonly number[]
}

/** What one process wrote since it opened the store, over all types: plain JSON, which it says to others. */
export interface Totals {
  /** When it wrote the first entry: the authority's time. */
  readonly since: number
  readonly submitted: number
  readonly granted: number
  readonly committed: number
  /** Failures that were reported. */
  readonly failed: number
  readonly effectsFailed: number
  /** Leases that ran out or were taken away. */
  readonly lost: number
  /** Tasks that were given up and wait for a person. */
  readonly quarantined: number
  /** By what moves, from where and to where: 'job QUEUED RUNNING'. From '-': it was submitted. */
  readonly moves: Readonly<Record<string, number>>
  readonly waitMs: TotalsDistribution
  readonly runMs: TotalsDistribution
}
