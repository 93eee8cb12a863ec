/**
 * How many jobs there are, by state and by what they are, and the queues. The store keeps the counts: none of
 * these counts jobs, however many there are.
 */
import { InvalidDefinition, KnownOptions, shown } from '../../definition/index.ts'
import type { JobState } from '../../kernel/index.ts'
import type { CountsBy, QueueSummary, StateCounts, Store } from '../../store/index.ts'
import { assertTrueOrAbsent } from '../true-or-absent.ts'
import { assertWhole } from '../whole-number.ts'

export interface CountsOptions {
  readonly type?: string
  readonly queue?: string
  readonly tag?: string
  /** The fingerprint of an error: only jobs that are FAILED or in quarantine, and no pipelines. */
  readonly error?: string
  /** Only jobs with an effect whose outcome a person has to say. */
  readonly heldEffects?: true
  /** Counts also by this. */
  readonly by?: CountsBy
  /** `next` of the page before: of the groups. */
  readonly after?: string
  /** Of the groups. Default 100. */
  readonly limit?: number
}

export interface CountedGroup {
  /** A type, a queue, a tag, or the fingerprint of an error. Null: pipelines, which are in no queue. */
  readonly name: string | null
  readonly total: number
  readonly states: StateCounts
  /** Of an error: one of the jobs, and what was thrown. */
  readonly sample: ErrorSample | null
}

export interface ErrorSample {
  readonly id: string
  readonly code: string
  readonly message: string
}

export interface Counts {
  /** Of all jobs that the filter lets through. */
  readonly total: number
  readonly states: StateCounts
  /** In order of their names; none without `by`. */
  readonly groups: readonly CountedGroup[]
  /** Give it as `after` to go on; null: there are no more groups. */
  readonly next: string | null
}

export interface QueueListItem {
  readonly name: string
  /** Since when nothing of it is handed out; null: it is not paused. */
  readonly pausedAt: Date | null
  readonly concurrency: number | null
  readonly rate: { readonly count: number; readonly perMs: number } | null
  readonly ageingMs: number | null
  /** Of plain jobs. */
  readonly states: StateCounts
  /** Segments of pipelines that are due and wait, and that a worker has. */
  readonly segments: { readonly ready: number; readonly running: number }
  /** When the oldest was due of those that wait: of each priority, the first 20 in line count. Null: none waits. */
  readonly oldestDueAt: Date | null
}

const OPTIONS = new KnownOptions<CountsOptions>({
  type: true,
  queue: true,
  tag: true,
  error: true,
  heldEffects: true,
  by: true,
  after: true,
  limit: true,
})
const BY: readonly unknown[] = ['type', 'queue', 'tag', 'error'] satisfies CountsBy[]
const DEFAULT_LIMIT = 100

export async function countJobs(store: Store, filter: CountsOptions): Promise<Counts> {
  assertCountsFilter(filter)
  const { limit = DEFAULT_LIMIT } = filter
  const answer = await store.query({ kind: 'counts', ...filter, limit })
  const groups = answer.groups.map(async ({ name, states }): Promise<CountedGroup> => {
    const sample = filter.by === 'error' ? await sampleOf(store, name, states) : null
    return { name, total: totalOf(states), states, sample }
  })
  return {
    total: totalOf(answer.states),
    states: answer.states,
    groups: await Promise.all(groups),
    next: answer.next,
  }
}

export async function listQueues(store: Store): Promise<readonly QueueListItem[]> {
  return (await store.query({ kind: 'queues' })).map(queueListItem)
}

function queueListItem({ queue, states, segments, ...rest }: QueueSummary): QueueListItem {
  const { name, paused, pausedAt, concurrency, rate, ageingMs } = queue
  const since = paused ? new Date(pausedAt) : null
  const oldestDueAt = rest.oldestDueAt === null ? null : new Date(rest.oldestDueAt)
  return { name, pausedAt: since, concurrency, rate, ageingMs, states, segments, oldestDueAt }
}

/** Of those in quarantine, if there are any: a list of jobs in one state is the quicker one. */
async function sampleOf(
  store: Store,
  error: string | null,
  { QUARANTINED }: StateCounts,
): Promise<ErrorSample | null> {
  if (error === null) return null
  const state = QUARANTINED > 0 ? 'QUARANTINED' : 'FAILED'
  const { jobs } = await store.query({ kind: 'jobs', state, error, newest: true, limit: 1 })
  const [job] = jobs
  if (job?.error == null) return null
  return { id: job.id, code: job.error.code, message: job.error.message }
}

function totalOf(states: StateCounts): number {
  return (Object.keys(states) as JobState[]).reduce((sum, state) => sum + states[state], 0)
}

function assertCountsFilter(filter: CountsOptions): void {
  OPTIONS.assertFilter(filter, 'counts()', ['by', 'after', 'limit'])
  const { by, tag, error, heldEffects, limit } = filter
  assertTrueOrAbsent(heldEffects, 'heldEffects', 'counts()')
  if (limit !== undefined) assertWhole(limit, 'The limit of a page')
  if (by !== undefined && !BY.includes(by)) {
    const known = BY.map((one) => `'${String(one)}'`).join(', ')
    throw new InvalidDefinition(`\`by\` of counts() is one of ${known}, not ${shown(by)}.`)
  }
  const names = { tag, error, 'with held effects': heldEffects }
  const given = Object.entries(names).flatMap(([name, value]) => (value === undefined ? [] : name))
  const isByName = by === 'tag' || by === 'error'
  if (given.length === 0 || (given.length === 1 && !isByName)) return
  const what = isByName
    ? `by ${by} of one ${given.join(' and one ')}`
    : `by ${given.join(' and ')} together`
  throw new InvalidDefinition(
    `counts() does not know how many there are ${what}: no counter is kept for it. Ask for one of them, or use list().`,
  )
}
