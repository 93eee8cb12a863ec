/**
 * Jobs as `list` shows them: a few fields of each, a page at a time.
 */
import type { OptionNames } from '../../definition/index.ts'
import { InvalidDefinition, KnownOptions, shown, timeOf } from '../../definition/index.ts'
import type { Failure, JobState } from '../../kernel/index.ts'
import type { JobsFilter, JobsPage, JobSummary, Store } from '../../store/index.ts'
import { assertTrueOrAbsent } from '../true-or-absent.ts'
import { assertWhole } from '../whole-number.ts'

export interface ListFilter {
  readonly type?: string
  readonly state?: JobState
  /** Of a plain job, or of any stage of a pipeline. */
  readonly queue?: string
  readonly tag?: string
  readonly group?: string
  readonly key?: string
  /** That has the job now. */
  readonly worker?: string
  /** The fingerprint of what a plain job failed of, or is in quarantine for: see `counts({ by: 'error' })`. */
  readonly error?: string
  /** That has an effect whose outcome a person has to say; of a pipeline, in any of its segments. */
  readonly heldEffects?: true
  /** A date, or milliseconds since 1970: from this time on, and before this time. */
  readonly submittedFrom?: Date | number
  readonly submittedBefore?: Date | number
  readonly completedFrom?: Date | number
  readonly completedBefore?: Date | number
  /** By submission. Default: the oldest first. */
  readonly order?: 'oldest' | 'newest'
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
  /** What a plain job failed of, or its newest failure; null for a pipeline, and if the job succeeded. */
  readonly error: Pick<Failure, 'code' | 'message'> | null
  /** When what it was given and made was erased; null: it was not. */
  readonly erasedAt: Date | null
}

export interface JobList {
  /** A page looks at so many jobs only: it may be short, or empty, and not the last one. */
  readonly jobs: readonly JobListItem[]
  /** Give it as `after` to go on; null: there is no more. */
  readonly next: number | null
}

/** What jobs are filtered by. */
export const JOB_FILTER: OptionNames<Omit<ListFilter, 'order' | 'after' | 'limit'>> = {
  type: true,
  state: true,
  queue: true,
  tag: true,
  group: true,
  key: true,
  worker: true,
  error: true,
  heldEffects: true,
  submittedFrom: true,
  submittedBefore: true,
  completedFrom: true,
  completedBefore: true,
}
const LIST = new KnownOptions<ListFilter>({ ...JOB_FILTER, order: true, after: true, limit: true })
const DEFAULT_PAGE = 100
const STATES: Readonly<Record<JobState, true>> = {
  CREATED: true,
  QUEUED: true,
  RUNNING: true,
  SUSPENDED: true,
  RETRYING: true,
  QUARANTINED: true,
  SUCCEEDED: true,
  FAILED: true,
}

export async function listJobs(store: Store, filter: ListFilter): Promise<JobList> {
  LIST.assertFilter(filter, 'list()', ['order', 'after', 'limit'])
  assertJobFilter(filter, 'list()')
  const { order = 'oldest', after, limit = DEFAULT_PAGE, ...given } = filter
  assertWhole(limit, 'The limit of a page')
  if (order !== 'oldest' && order !== 'newest') {
    throw new InvalidDefinition(`\`order\` of list() is 'oldest' or 'newest', not ${shown(order)}.`)
  }
  const page = await store.query({
    kind: 'jobs',
    ...jobsFilter(given),
    ...(order === 'newest' && { newest: true }),
    ...(after !== undefined && { after }),
    limit,
  })
  return jobList(page)
}

/** The states are known: a misspelled one would be taken for one that no job is in. */
export function assertJobFilter(
  { state, heldEffects }: { readonly state?: unknown; readonly heldEffects?: unknown },
  what: string,
): void {
  assertTrueOrAbsent(heldEffects, 'heldEffects', what)
  if (state === undefined || Object.hasOwn(STATES, state as string)) return
  const known = Object.keys(STATES).join(', ')
  throw new InvalidDefinition(`\`state\` of ${what} is one of ${known}, not ${shown(state)}.`)
}

/** As the store wants it. */
export function jobsFilter(given: Omit<ListFilter, 'order' | 'after' | 'limit'>): {
  -readonly [F in keyof JobsFilter]: JobsFilter[F]
} {
  const { submittedFrom, submittedBefore, completedFrom, completedBefore, ...others } = given
  const times = {
    submittedFrom,
    submittedBefore,
    endedFrom: completedFrom,
    endedBefore: completedBefore,
  }
  const filter: Record<string, unknown> = { ...others }
  for (const [name, time] of Object.entries(times)) {
    if (time !== undefined) filter[name] = timeOf(time, `A time of the filter`)
  }
  return filter
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
