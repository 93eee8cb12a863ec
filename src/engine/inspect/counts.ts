/**
 * How many jobs there are, by state and by what they are, and the queues. The store keeps the counts: none of
 * these counts jobs, however many there are.
 */
import { InvalidDefinition, KnownOptions, shown } from '../../definition/index.ts'
import type { JobState } from '../../kernel/index.ts'
import { PIPELINE_JOB_TRANSITIONS } from '../../kernel/index.ts'
import type {
  CountGroup,
  CountsAnswer,
  CountsBy,
  QueueSummary,
  StateCounts,
  Store,
} from '../../store/index.ts'
import { assertTrueOrAbsent } from '../true-or-absent.ts'
import { assertWhole } from '../whole-number.ts'
import type { QueueInfo } from './queue-info.ts'
import { pauseOf } from './queue-info.ts'

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
  /**
   * The groups with the most jobs in this state first, in place of in order of their names; those without any are left out. Of more
   * than 10,000 names, the first 10,000 are compared.
   */
  readonly largest?: JobState | 'ALL'
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
  /** In order of their names, or the largest first; none without `by`. */
  readonly groups: readonly CountedGroup[]
  /**
   * Give it as `after` to go on; null: there are no more groups. With `largest`, names behind it were not compared; null: all were.
   */
  readonly next: string | null
}

export interface QueueListItem {
  readonly name: string
  /** Since when nothing of it is handed out; null: it is not paused. */
  readonly pausedAt: Date | null
  /** Who paused it, and why; null: it is not paused. */
  readonly paused: QueueInfo['paused']
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
  largest: true,
  after: true,
  limit: true,
})
const BY: readonly unknown[] = ['type', 'queue', 'tag', 'error'] satisfies CountsBy[]
const DEFAULT_LIMIT = 100
/** Names of groups, of which the largest are found. */
const MOST_COMPARED = 10_000
const COMPARED_AT_ONCE = 1_000

export async function countJobs(store: Store, filter: CountsOptions): Promise<Counts> {
  assertCountsFilter(filter)
  const { limit = DEFAULT_LIMIT, largest, ...asked } = filter
  const answer =
    largest === undefined
      ? await store.query({ kind: 'counts', ...asked, limit })
      : await largestGroups(store, asked, largest, limit)
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

async function largestGroups(
  store: Store,
  asked: Omit<CountsOptions, 'largest' | 'limit'>,
  largest: JobState | 'ALL',
  limit: number,
): Promise<CountsAnswer> {
  const size = ({ states }: CountGroup): number =>
    largest === 'ALL' ? totalOf(states) : states[largest]
  const { after: first, ...filter } = asked
  const found: CountGroup[] = []
  let after = first
  for (let compared = 0; ;) {
    const from = after === undefined ? {} : { after }
    const page = await store.query({ kind: 'counts', ...filter, ...from, limit: COMPARED_AT_ONCE })
    found.push(...page.groups.filter((one) => size(one) > 0))
    compared += page.groups.length
    if (page.next === null || compared >= MOST_COMPARED) {
      const groups = found.toSorted((a, b) => size(b) - size(a)).slice(0, limit)
      return { states: page.states, groups, next: page.next }
    }
    after = page.next
  }
}

export async function listQueues(store: Store): Promise<readonly QueueListItem[]> {
  return (await store.query({ kind: 'queues' })).map(queueListItem)
}

function queueListItem({ queue, states, segments, ...rest }: QueueSummary): QueueListItem {
  const { name, concurrency, rate, ageingMs } = queue
  return {
    name,
    ...pauseOf(queue),
    concurrency,
    rate,
    ageingMs,
    states,
    segments,
    oldestDueAt: rest.oldestDueAt === null ? null : new Date(rest.oldestDueAt),
  }
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

function isSize(largest: string): boolean {
  return largest === 'ALL' || Object.hasOwn(PIPELINE_JOB_TRANSITIONS, largest)
}

function assertCountsFilter(filter: CountsOptions): void {
  OPTIONS.assertFilter(filter, 'counts()', ['by', 'largest', 'after', 'limit'])
  const { by, tag, error, heldEffects, largest, limit } = filter
  assertTrueOrAbsent(heldEffects, 'heldEffects', 'counts()')
  if (limit !== undefined) assertWhole(limit, 'The limit of a page')
  if (by !== undefined && !BY.includes(by)) {
    const known = BY.map((one) => `'${String(one)}'`).join(', ')
    throw new InvalidDefinition(`\`by\` of counts() is one of ${known}, not ${shown(by)}.`)
  }
  if (largest !== undefined && (by === undefined || !isSize(largest))) {
    throw new InvalidDefinition(
      by === undefined
        ? '`largest` of counts() is about groups: say also by what, with `by`.'
        : `\`largest\` of counts() is the state of a job, or 'ALL', not ${shown(largest)}.`,
    )
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
