/**
 * What can be asked about many jobs at once: counts, queues and lists. None of these answers counts jobs, and none is
 * read by a decision.
 */
import type { JobState, Queue } from '../kernel/index.ts'

export type StateCounts = Readonly<Record<JobState, number>>

export type CountsBy = 'type' | 'queue' | 'tag' | 'error'

/** `error`: a fingerprint. It counts jobs that are FAILED or in quarantine, and no pipelines. */
export interface CountsFilter {
  readonly type?: string
  readonly queue?: string
  /** Not together with `error`: no counter knows both. */
  readonly tag?: string
  readonly error?: string
}

export interface CountGroup {
  /** Null: pipelines, which are in no queue themselves. */
  readonly name: string | null
  readonly states: StateCounts
}

export interface CountsAnswer {
  /** Of all jobs that the filter lets through. */
  readonly states: StateCounts
  /** In order of their names; none if it was not asked by anything. */
  readonly groups: readonly CountGroup[]
  /** Give it as `after` to go on; null: there are no more groups. */
  readonly next: string | null
}

export interface QueueSummary {
  /** One that was never configured has the defaults. */
  readonly queue: Queue
  /** Of plain jobs. */
  readonly states: StateCounts
  /** Segments of pipelines that are due and wait, and that a worker has. */
  readonly segments: { readonly ready: number; readonly running: number }
}

export interface ReadModelAnswers {
  /**
   * How many jobs are in each state; `by`: also by that, the first `limit` behind `after`. In a database, of those
   * that became due while no worker claimed, the first 10,000 count as QUEUED.
   */
  counts: {
    ask: CountsFilter & { readonly by?: CountsBy; readonly after?: string; readonly limit: number }
    answer: CountsAnswer
  }
  /** Those that were configured, and those that jobs are in; in order of their names. */
  queues: { ask: object; answer: readonly QueueSummary[] }
}
