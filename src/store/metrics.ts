/**
 * What a store counts of its own work since it was opened, and the small part of it that a process says to others.
 */
import type { Entry, JobState, RejectionCode } from '../kernel/index.ts'

/** How often a number was how large. */
export interface Distribution {
  readonly count: number
  readonly sum: number
  /** The largest number that each bucket holds; the last one is Infinity. */
  readonly bounds: readonly number[]
  /** How many are in each bucket. */
  readonly counts: readonly number[]
}

/** Jobs of one type in one queue. */
export interface Traffic {
  readonly type: string
  readonly queue: string
  /** Of a pipeline: counted once, under its first stage's queue. */
  readonly submitted: number
  readonly granted: number
  readonly committed: number
  /** Failures that were reported. */
  readonly failed: number
  /** Leases that ran out or were taken away. */
  readonly lost: number
  /** Tasks that were given up and wait for a person. */
  readonly quarantined: number
  /** From when it could be taken (due, released, given back) to granted, in milliseconds. */
  readonly waitMs: Distribution
  /** From granted to committed or failed, in milliseconds. */
  readonly runMs: Distribution
}

/** How many went from one state to another. */
export interface StateMove {
  /** Plain jobs; or segments of pipelines, each as if it were a plain job. */
  readonly of: 'job' | 'segment'
  /** Null: they were submitted. */
  readonly from: JobState | null
  readonly to: JobState
  readonly count: number
}

export interface Metrics {
  /** The authority's time, and when it began to count. */
  readonly now: number
  readonly since: number
  /** How many entries of each type were written. */
  readonly entries: Readonly<Partial<Record<Entry['type'], number>>>
  /**
   * How many went from where to where. A move that time makes is counted with the next entry, and what pipelines do, not at
   * all: it follows from their segments.
   */
  readonly moves: readonly StateMove[]
  /** How many commands were refused with each code, those of workers and of upkeep included. */
  readonly refused: Readonly<Partial<Record<RejectionCode, number>>>
  readonly traffic: readonly Traffic[]
  /** From decided to durable, in microseconds, one for each batch. None in memory. */
  readonly durableUs: Distribution
  /** Effects that were under way when their lease was lost. */
  readonly unknownOutcomes: number
  /** Waits that executions were suspended for, by what ends them. */
  readonly suspensions: Readonly<Record<'sleep' | 'message' | 'question' | 'call', number>>
  /** Leases that are held, and jobs in quarantine, now. */
  readonly leases: number
  readonly quarantined: number
  /** Jobs with an effect whose outcome a person has to say, now. */
  readonly heldEffects: number
}

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
