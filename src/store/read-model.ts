/**
 * What can be asked about many jobs, or many segments, at once: counts, queues and lists. None of these answers counts jobs, and none is
 * read by a decision.
 */
import type {
  EffectState,
  Failure,
  JobState,
  LimitSpec,
  Queue,
  TaskAddress,
  TaskState,
  Wait,
} from '../kernel/index.ts'

export type StateCounts = Readonly<Record<JobState, number>>

export type CountsBy = 'type' | 'queue' | 'tag' | 'error'

/** `error`: a fingerprint. It counts jobs that are FAILED or in quarantine, and no pipelines. */
export interface CountsFilter {
  readonly type?: string
  readonly queue?: string
  /** Of these three, one: no counter knows two of them together. */
  readonly tag?: string
  readonly error?: string
  /** Only jobs with an effect whose outcome a person has to say. */
  readonly heldEffects?: true
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
  /**
   * When the oldest task was due that still waits; null: none does. Of each priority, the first 20 in line count;
   * in memory, of each list of tasks with one priority, group and limits.
   */
  readonly oldestDueAt: number | null
}

/** A filter that is left out lets all through. */
export interface JobsFilter {
  readonly type?: string
  readonly state?: JobState
  /** Of a plain job, or of any stage. */
  readonly queue?: string
  readonly tag?: string
  readonly group?: string
  /** Of any job that was submitted with it: a unique one may have many, one after the other. */
  readonly key?: string
  /** That holds a lease of the job now. */
  readonly worker?: string
  /** The fingerprint of what a plain job failed of, or is in quarantine for. */
  readonly error?: string
  /** With an effect whose outcome a person has to say; of a pipeline, in any of its segments. */
  readonly heldEffects?: true
  /** Times of the store's clock: from this one on, and before this one. */
  readonly submittedFrom?: number
  readonly submittedBefore?: number
  readonly endedFrom?: number
  readonly endedBefore?: number
}

export interface JobSummary {
  readonly id: string
  readonly type: string
  readonly state: JobState
  /** Null for a pipeline: each of its stages has its own. */
  readonly queue: string | null
  readonly priority: number
  readonly tags: readonly string[]
  readonly group: string | null
  /** Of a plain job; 0 for a pipeline. */
  readonly attempt: number
  readonly submittedAt: number
  /** When the job was over; null while it is not. */
  readonly endedAt: number | null
  /** What it failed of, or is in quarantine for; else its newest failure. Null for a pipeline. */
  readonly error: Pick<Failure, 'code' | 'message'> | null
  readonly rerunOf: string | null
  /** When it was erased; null: it was not. */
  readonly erasedAt: number | null
}

export interface JobsPage {
  /** A page may be short, or empty, and not the last one. */
  readonly jobs: readonly JobSummary[]
  /** Give it as `after` to go on; null: there is no more. */
  readonly next: number | null
}

/** A filter that is left out lets all through. */
export interface QuestionsFilter {
  /** Only those that are for this person or group. */
  readonly for?: string
  readonly type?: string
  readonly job?: string
}

/** A question that a task waits for a person with. */
export interface QuestionSummary extends TaskAddress {
  readonly type: string
  /** Null for a plain job. */
  readonly stageName: string | null
  /** Of the question, within its task. */
  readonly name: string
  /** Those that are open: of a quorum there may be more than one. */
  readonly waits: readonly Wait[]
  /** Who submitted the job; null: not said. */
  readonly submittedBy: string | null
}

export interface QuestionsPage {
  /** A page may be short, or empty, and not the last one. */
  readonly questions: readonly QuestionSummary[]
  /** Give it as `after` to go on; null: there is no more. */
  readonly next: string | null
}

/** An effect whose outcome a person has to say. */
export interface HeldEffect {
  /** Its place in the commit: what `ResolveEffect` names. */
  readonly effect: number
  /** The lease under which it was started last: what `ResolveEffect` names, too. */
  readonly start: number
  readonly name: string
  /** Of several in the commit with its name, which, from 1; null: it is the only one. */
  readonly nth: number | null
  /** What it failed of; null: nothing was heard of its last start. */
  readonly error: Failure | null
  /** That started it last; null: it is not known any more. */
  readonly worker: string | null
}

/** A segment of a stage, without what it was given and made. */
export interface SegmentSummary {
  readonly segment: number
  readonly state: TaskState
  /** It waits in a suspension. */
  readonly isSuspended: boolean
  /** Counts grants. */
  readonly attempt: number
  readonly dueAt: number
  /** That has it, or had it last; null: none did. */
  readonly worker: string | null
  /** When that one was given it. */
  readonly grantedAt: number | null
  /** When it was COMPLETED, FAILED or DEAD; null: it is none of these. */
  readonly endedAt: number | null
  /** The newest failure, without its stack. */
  readonly error: Omit<Failure, 'stack'> | null
  readonly effects: readonly {
    readonly name: string
    readonly state: EffectState
    readonly error: Omit<Failure, 'stack'> | null
  }[]
  /** Its streams, and how many values each has. */
  readonly streams: readonly { readonly name: string; readonly length: number }[]
}

export interface SegmentsPage {
  /** In order. */
  readonly segments: readonly SegmentSummary[]
  /** Give it as `after` to go on; null: there is no more. */
  readonly next: number | null
}

/** A limit of which something is used now: a task holds a lease under it, or the bucket of its rate is not full. */
export interface LimitSummary {
  readonly key: string
  /** Tasks that hold a lease. */
  readonly held: number
  /** When the bucket of its rate is full again, in milliseconds with parts of 1/1024; 0: it is full. */
  readonly fullAt: number
  /**
   * The bounds that a task names with it; null: none is at hand. They are the task's own: another one may name others. In a
   * database they are of the task that was leased last, among the 200 whose leases run out last.
   */
  readonly bounds: Pick<LimitSpec, 'concurrency' | 'rate'> | null
}

/** `next`: the last key that was looked at; null: there is no more. A page may be short. */
export interface LimitsPage {
  readonly limits: readonly LimitSummary[]
  readonly next: string | null
}

export interface ReadModelAnswers {
  /**
   * The segments behind `after` (-1: all) of a stage, in that state only if one is said; a page may be short.
   * Null: there is no such job, or no such stage.
   */
  segments: {
    ask: {
      readonly job: string
      /** Its name. */
      readonly stage: string
      readonly state?: TaskState
      readonly after: number
      readonly limit: number
    }
    answer: SegmentsPage | null
  }
  /**
   * Jobs in order of submission, page by page: the oldest first, or the newest. A page looks at so many jobs only,
   * whatever the filter is. A job that changes meanwhile keeps its place: none is missed, none comes twice.
   */
  jobs: {
    ask: JobsFilter & {
      /** Only jobs that are reruns of others. */
      readonly isRerun?: true
      readonly newest?: true
      readonly after?: number
      readonly limit: number
    }
    answer: JobsPage
  }
  /**
   * How many jobs are in each state; `by`: also by that, the first `limit` behind `after`. In a database, of those
   * that became due while no worker claimed, the first 10,000 count as QUEUED.
   */
  counts: {
    ask: CountsFilter & { readonly by?: CountsBy; readonly after?: string; readonly limit: number }
    answer: CountsAnswer
  }
  /**
   * Questions that wait for people, the oldest first, page by page. Its cost does not grow with other jobs, nor with
   * questions that the filter leaves out; of one job, all of its questions are read.
   */
  questions: {
    ask: QuestionsFilter & { readonly after?: string; readonly limit: number }
    answer: QuestionsPage
  }
  /** Limits of which something is used now, in order of their keys, page by page; `prefix`: their keys begin with it. */
  limits: {
    ask: { readonly prefix?: string; readonly after?: string; readonly limit: number }
    answer: LimitsPage
  }
  /** Those that were configured, and those that jobs are in; in order of their names. */
  queues: { ask: object; answer: readonly QueueSummary[] }
}

/** Which entries of the whole log: those behind `after` and up to `through`, the first or the newest of them. */
export interface EntriesAsked {
  readonly after: number
  readonly through: number
  readonly limit: number
  readonly newest?: boolean
}
