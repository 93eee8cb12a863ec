/**
 * What a store gives to be copied, whatever it is kept in.
 */
import type { Baseline, EventRow } from '../../sql/rows/event-rows.ts'

/** When the buckets of rates are full, by queue and by limit. What is not named is full. */
export interface Buckets {
  readonly queues: ReadonlyMap<string, number>
  readonly limits: ReadonlyMap<string, number>
}

export interface CopySource {
  /** Roughly how many events there are, or as many of something that events have: for progress. */
  readonly total: number
  /** Nothing stands behind this position. */
  readonly end: number
  readonly buckets: Buckets
  /**
   * All events by position, page by page, each with how much of the total was read. Those of jobs
   * that begin in the middle come first.
   */
  events(): AsyncIterable<{ readonly events: readonly EventRow[]; readonly done: number }>
  /** AFTER all events were read. */
  baselines(): AsyncIterable<readonly Baseline[]>
}
