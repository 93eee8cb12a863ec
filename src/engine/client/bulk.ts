/**
 * One action for all jobs that a filter lets through: cancel, retry, discard, reschedule, rerun.
 *
 * It goes through the jobs once, in order of submission, and does to each what the call for a single job does. So it
 * may stop anywhere and be made again: what was done is no longer meant by the filter, is answered as the first time,
 * or is refused. Jobs that are submitted after it began are left alone.
 */
import { InvalidDefinition, KnownOptions, shown } from '../../definition/index.ts'
import type { JobState } from '../../kernel/index.ts'
import { isFinal } from '../../kernel/index.ts'
import type { Timing } from '../../store/clock.ts'
import type { JobsPage, JobSummary, Store } from '../../store/index.ts'
import type { Actor } from '../actor.ts'
import type { ListFilter } from './job-list.ts'
import { assertTrueOrAbsent } from '../true-or-absent.ts'
import { assertJobFilter, jobsFilter, JOB_FILTER } from './job-list.ts'
import type { PaceOptions, BulkReport, Refusal } from '../operator/batch-run.ts'
import { BATCH, BatchRun, SAMPLES } from '../operator/batch-run.ts'
import type { Operator, RescheduleOptions } from '../operator/operator.ts'

export type { BulkReport } from '../operator/batch-run.ts'

export type BulkAction = 'cancel' | 'retry' | 'discard' | 'reschedule' | 'rerun'

export interface BulkFilter extends Omit<ListFilter, 'order' | 'after' | 'limit'> {
  /** Every job. Must be said if there is no filter. */
  readonly all?: true
}

export interface BulkOptions
  extends Actor, PaceOptions, Pick<RescheduleOptions, 'delay' | 'at' | 'priority' | 'queue'> {
  /** Of a rerun: names it. A job is run again once under a name, however often the call is made. */
  readonly name?: string
  /** Of a rerun: must be said of jobs that promised effects, as for a single one. */
  readonly effects?: 'again'
  /** Told after each batch. */
  readonly onProgress?: (report: BulkReport) => void
}

/** What a job must be for each action; others are passed over. */
const STATES: Readonly<Record<BulkAction, readonly JobState[]>> = {
  cancel: ['CREATED', 'QUEUED', 'RUNNING', 'SUSPENDED', 'RETRYING', 'QUARANTINED'],
  retry: ['QUARANTINED'],
  discard: ['QUARANTINED'],
  reschedule: ['CREATED', 'QUEUED', 'RETRYING'],
  rerun: ['SUCCEEDED', 'FAILED'],
}
/** A dry run that no counter answers looks at so many jobs that match. */
const MOST_COUNTED = 10_000

const FILTER = new KnownOptions<BulkFilter>({ ...JOB_FILTER, all: true })
const OPTIONS = new KnownOptions<BulkOptions>({
  by: true,
  reason: true,
  dryRun: true,
  rate: true,
  signal: true,
  onProgress: true,
  delay: true,
  at: true,
  priority: true,
  queue: true,
  name: true,
  effects: true,
})

export interface BulkParts {
  readonly store: Store
  readonly operator: Operator
  readonly timing: Timing
  readonly now: () => number
  /** Aborted when the engine closes. */
  readonly closing: AbortSignal
}

export async function bulk(
  parts: BulkParts,
  action: BulkAction,
  filter: BulkFilter,
  options: BulkOptions = {},
): Promise<BulkReport> {
  assertBulk(action, filter, options)
  const meant = meantBy(action, filter, await newestTime(parts))
  if (options.dryRun === true) return preview(parts, meant)
  const run = new BatchRun(parts.timing, parts.closing, options, options.onProgress)
  return run.run(pagesOf(parts.store, meant), (batch) =>
    Promise.all(batch.map(({ id }) => refusalOf(() => act(parts.operator, action, id, options)))),
  )
}

/** The time of the newest job, by the store's clock, which may be ahead of what is known of it here. */
async function newestTime({ store, now }: BulkParts): Promise<number> {
  const { jobs } = await store.query({ kind: 'jobs', newest: true, limit: 1 })
  return Math.max(Math.floor(now()), jobs[0]?.submittedAt ?? 0)
}

/** Which jobs. */
interface Meant {
  readonly filter: ReturnType<typeof jobsFilter>
  readonly states: ReadonlySet<JobState>
}

function meantBy(action: BulkAction, { all: _all, ...given }: BulkFilter, last: number): Meant {
  const filter = jobsFilter(given)
  const { state, submittedBefore = Infinity } = filter
  const states = state === undefined ? STATES[action] : [state]
  // A job that comes in meanwhile is behind where the action has come to: it would never end.
  return {
    filter: { ...filter, submittedBefore: Math.min(submittedBefore, last + 1) },
    states: new Set(states),
  }
}

async function* pagesOf(store: Store, { filter, states }: Meant): AsyncIterable<JobSummary[]> {
  let next: number | null = 0
  while (next !== null) {
    const page: JobsPage = await store.query({ kind: 'jobs', ...filter, after: next, limit: BATCH })
    yield page.jobs.filter(({ state }) => states.has(state))
    next = page.next
  }
}

/** From the counters where they know it, else by looking at the jobs. */
async function preview({ store }: BulkParts, meant: Meant): Promise<BulkReport> {
  const exact = await countedBy(store, meant)
  const samples: string[] = []
  let matched = 0
  let isComplete = true
  for await (const page of pagesOf(store, meant)) {
    matched += page.length
    samples.push(...page.slice(0, SAMPLES - samples.length).map(({ id }) => id))
    const isEnough =
      exact === null ? matched >= MOST_COUNTED : samples.length >= Math.min(SAMPLES, exact)
    if (!isEnough && exact !== 0) continue
    isComplete = exact !== null
    break
  }
  return { matched: exact ?? matched, done: 0, left: 0, problems: [], isComplete, samples }
}

/** Null: no counter knows. */
async function countedBy(store: Store, { filter, states }: Meant): Promise<number | null> {
  const { type, queue, tag, error, heldEffects, ...others } = filter
  const { state: _state, submittedBefore: _before, ...rest } = others
  const names = [tag, error, heldEffects].filter((one) => one !== undefined)
  const isKnown = Object.keys(rest).length === 0 && names.length < 2
  // Pipelines are listed under the queues of their stages, and counted under none.
  if (!isKnown || queue !== undefined) return null
  const asked = {
    ...(type && { type }),
    ...(tag && { tag }),
    ...(error && { error }),
    ...(heldEffects && { heldEffects }),
  }
  const counts = await store.query({ kind: 'counts', ...asked, limit: 1 })
  return [...states].reduce((sum, state) => sum + counts.states[state], 0)
}

async function act(
  operator: Operator,
  action: BulkAction,
  id: string,
  options: BulkOptions,
): Promise<unknown> {
  const { by, reason, delay, at, priority, queue, name, effects } = options
  const actor = { ...(by !== undefined && { by }), ...(reason !== undefined && { reason }) }
  switch (action) {
    case 'cancel':
      return operator.cancel(id, actor)
    case 'retry':
      return operator.retry(id, actor)
    case 'discard':
      return operator.discard(id, actor)
    case 'reschedule': {
      const change = {
        ...(delay !== undefined && { delay }),
        ...(at !== undefined && { at }),
        ...(priority !== undefined && { priority }),
        ...(queue !== undefined && { queue }),
      }
      return operator.reschedule(id, { ...actor, ...change })
    }
    case 'rerun':
      return operator.rerun(id, {
        ...actor,
        id: `${id}/${name}`,
        ...(effects !== undefined && { effects }),
      })
  }
}

/** A mistake in the options was found before: what is thrown here is about the job. */
async function refusalOf(action: () => Promise<unknown>): Promise<Refusal> {
  try {
    await action()
    return null
  } catch (error) {
    const { kind } = error as { readonly kind?: unknown }
    if (kind !== 'rejected') throw error
    return (error as Error).message
  }
}

function assertBulk(action: BulkAction, filter: BulkFilter, options: BulkOptions): void {
  if (!Object.hasOwn(STATES, action)) {
    const known = Object.keys(STATES).map((one) => `'${one}'`)
    throw new InvalidDefinition(
      `bulk() takes one of ${known.join(', ')} as the action, not ${shown(action)}.`,
    )
  }
  const what = `bulk('${action}')`
  FILTER.assertFilter(filter, what)
  assertJobFilter(filter, what)
  OPTIONS.assert(options, what)
  const { state } = filter
  const { all } = filter as { readonly all?: unknown }
  const names = Object.keys(filter).filter((name) => name !== 'all')
  assertTrueOrAbsent(all, 'all', what)
  if ((all === true) === names.length > 0) {
    throw new InvalidDefinition(
      all === true
        ? `${what} is given \`all\` and \`${names.join('`, `')}\`: leave out one or the other.`
        : `${what} does not say which jobs: give a filter such as { type: 'mail' }, or { all: true } for every job.`,
    )
  }
  if (state !== undefined && !STATES[action].includes(state)) {
    const hint = isFinal(state) ? ' Such a job is over.' : ''
    throw new InvalidDefinition(
      `No job that is ${state} can be meant by ${what}.${hint} Give one of ${STATES[action].join(', ')}, or no state.`,
    )
  }
  assertOwnOptions(action, options, what)
}

function assertOwnOptions(action: BulkAction, options: BulkOptions, what: string): void {
  const { delay, at, priority, queue, name, effects } = options
  const isMove = [delay, at, priority, queue].some((one) => one !== undefined)
  if (isMove !== (action === 'reschedule')) {
    throw new InvalidDefinition(
      isMove
        ? `\`delay\`, \`at\`, \`priority\` and \`queue\` are for bulk('reschedule'), not for ${what}.`
        : `Say what is to change by ${what}: \`delay\` or \`at\`, \`priority\`, \`queue\`.`,
    )
  }
  if ((name === undefined && effects === undefined) === (action !== 'rerun')) {
    if (action !== 'rerun' || typeof name === 'string') return
  }
  throw new InvalidDefinition(
    action === 'rerun'
      ? `${what} needs a \`name\`, such as { name: 'after the fix' }: under one name, a job is run again once.`
      : `\`name\` and \`effects\` are for bulk('rerun'), not for ${what}.`,
  )
}
