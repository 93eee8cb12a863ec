/**
 * Jobs as `list` shows them: a few fields of each, a page at a time.
 */
import type { Failure, JobState } from '../../kernel/index.ts'
import type { JobsPage, JobSummary } from '../../store/index.ts'

export interface ListFilter {
  readonly type?: string
  readonly state?: JobState
  readonly queue?: string
  readonly tag?: string
  readonly group?: string
  readonly key?: string
  /** `next` of the page before. */
  readonly after?: number
  /** Default 100. */
  readonly limit?: number
}

export interface JobListItem {
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
  readonly submittedAt: Date
  /** When the job was over; null while it is not. */
  readonly completedAt: Date | null
  /** The newest failure of a plain job; null for a pipeline, and if the job succeeded. */
  readonly error: Pick<Failure, 'code' | 'message'> | null
  /** When what it was given and made was erased; null: it was not. */
  readonly erasedAt: Date | null
}

export interface JobList {
  readonly jobs: readonly JobListItem[]
  /** Give it as `after` to go on; null: there is no more. */
  readonly next: number | null
}

export function jobList({ jobs, next }: JobsPage): JobList {
  return { jobs: jobs.map(jobListItem), next }
}

export function jobListItem(summary: JobSummary): JobListItem {
  const { id, type, state, queue, priority, tags, group, attempt } = summary
  const { endedAt, submittedAt, error, erasedAt } = summary
  return {
    id,
    type,
    state,
    queue,
    priority,
    tags,
    group,
    attempt,
    submittedAt: new Date(submittedAt),
    completedAt: endedAt === null ? null : new Date(endedAt),
    error: state === 'SUCCEEDED' ? null : error,
    erasedAt: erasedAt === null ? null : new Date(erasedAt),
  }
}
