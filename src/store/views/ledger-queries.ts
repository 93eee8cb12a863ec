/**
 * Answers to queries, made from a ledger and, in a directory, from the finished jobs that are not in
 * it. What the memory store and the directory store have in common; each adds its own list of jobs,
 * history and streams.
 */
import type { Lease, Queue, Schedule, Tallies, Task, Usage } from '../../kernel/index.ts'
import { createQueue, inputOf } from '../../kernel/index.ts'
import type { JobRecord } from '../../log/index.ts'
import { recordTallies } from '../../log/index.ts'
import type { CountsAnswer } from '../read-model.ts'
import type { CountRow } from '../state/job-counts.ts'
import { COUNTED_STATES, CountTable } from '../state/job-counts.ts'
import type { Ledger } from '../state/ledger.ts'
import type {
  Answers,
  Holder,
  InUse,
  LimitView,
  Outcome,
  OutputsPage,
  QueryKind,
  QueryOf,
  QueueView,
  WorkerView,
} from '../store.ts'
import {
  assertCountable,
  countsAnswer,
  groupsSource,
  queueSummaries,
  totalsSource,
} from './count-views.ts'
import { Examination } from './examination.ts'
import { quarantinePage } from './job-pages.ts'
import { limitsPage } from './limit-pages.ts'
import { questionsPage } from './question-pages.ts'
import { sessionLease } from './session-lease.ts'
import {
  endedOf,
  jobOverview,
  jobView,
  outcomeOf,
  outputsPage,
  segmentsPage,
  tasksIn,
  taskView,
} from './job-views.ts'

/** How a store in memory answers each kind of query. */
export type LedgerAnswers<K extends QueryKind = QueryKind> = {
  readonly [One in K]: (
    query: QueryOf<One>,
  ) => Answers[One]['answer'] | Promise<Answers[One]['answer']>
}

/** Where jobs are that are over and not in the ledger. A job of them may be large: of most, only a part is asked for. */
export interface FinishedRecords {
  find(id: string): JobRecord | null
  outcome(id: string, now: number): Outcome | null
  outputs(id: string, stage: number, after: number, limit: number): OutputsPage | null
}

/** All jobs are in the ledger. */
const NO_RECORDS: FinishedRecords = {
  find: () => null,
  outcome: () => null,
  outputs: () => null,
}

export function ledgerQueries(
  ledger: Ledger,
  finished: FinishedRecords = NO_RECORDS,
): LedgerAnswers<Exclude<QueryKind, 'jobs' | 'history' | 'entries' | 'stream' | 'upkeep'>> {
  const examination = new Examination(ledger)
  const find = (id: string): JobRecord | null => recordOf(ledger, id) ?? finished.find(id)
  const tallies = (record: JobRecord): Tallies => talliesOf(ledger, record)
  const outcome = (id: string): Outcome | null => {
    const record = recordOf(ledger, id)
    if (record === null) return finished.outcome(id, ledger.now)
    return outcomeOf(record, ledger.tallies(record.job), ledger.now)
  }
  return {
    job: ({ job }) => {
      const record = find(job)
      return record === null ? null : jobView(record, tallies(record), ledger.now)
    },
    overview: ({ job }) => {
      const record = find(job)
      return record === null ? null : jobOverview(record, tallies(record), ledger.now)
    },
    outcome: ({ job }) => outcome(job),
    ended: ({ jobs }) => endedOf(jobs, outcome),
    input: ({ job }) => {
      const record = find(job)
      return record === null ? null : inputOf(record.job)
    },
    task: ({ job, stage, segment }) => {
      const record = find(job)
      return record === null ? null : taskView(record, stage, segment)
    },
    outputs: ({ job, stage, after, limit }) => {
      const record = recordOf(ledger, job)
      if (record === null) return finished.outputs(job, stage, after, limit)
      return outputsPage(tasksIn(record, stage), after, limit)
    },
    segments: (query) => {
      const record = find(query.job)
      return record === null ? null : segmentsPage(record, query)
    },
    counts: (query) => ledgerCounts(ledger, query),
    queues: () => {
      return queueSummaries(ledger.world.queues.values(), queueRows(ledger), (queue) =>
        ledger.ready.oldestDueIn(queue),
      )
    },
    quarantine: (query) => quarantinePage(ledger, query),
    questions: (query) => questionsPage(ledger, query),
    queue: ({ queue }) => queueView(ledger, queue),
    limit: ({ key }) => limitView(ledger, key),
    limits: (query) => limitsPage(ledger, query),
    'session-leases': () => ledger.leases.all().flatMap((task) => sessionLease(task) ?? []),
    'worker-leases': ({ worker }) => workerView(ledger, worker),
    schedule: ({ schedule }) => {
      const known = ledger.world.schedules.get(schedule)
      return known === undefined ? null : { ...known }
    },
    schedules: (query) => schedulesPage(ledger, query),
    examination: (query) => examination.examineNext(query),
    metrics: () => ledger.metrics(),
  }
}

function ledgerCounts(ledger: Ledger, query: QueryOf<'counts'>): CountsAnswer {
  assertCountable(query)
  const { counts } = ledger.counter
  return countsAnswer(query, counts.from(totalsSource(query)), counts.from(groupsSource(query)))
}

/** Of jobs, and of segments what the ready-index and the leases have beside them. */
function* queueRows({ counter, ready }: Ledger): IterableIterator<CountRow> {
  const segments = new CountTable()
  for (const name of ready.queueNames()) {
    segments.addSegment('', name, 'QUEUED', ready.readyIn(name))
    segments.addSegment('', name, 'RUNNING', ready.queueUsage(name)?.held ?? 0)
  }
  for (const row of counter.counts.from({ dimension: 'job', name: null })) {
    yield row
    for (const state of ['QUEUED', 'RUNNING'] as const) {
      segments.addSegment(
        '',
        row.queue,
        state,
        -(row.cells[COUNTED_STATES.indexOf(state)] as number),
      )
    }
  }
  yield* segments.from({ dimension: 'segment', name: null })
}

/** A job in memory. */
function recordOf(ledger: Ledger, id: string): JobRecord | null {
  const job = ledger.inMemory(id)
  return job === undefined ? null : { job, stages: ledger.world.tasks.get(id) ?? null }
}

/** Counted again only for a job that is not in memory. */
function talliesOf(ledger: Ledger, record: JobRecord): Tallies {
  const isInMemory = ledger.inMemory(record.job.id) === record.job
  return isInMemory ? ledger.tallies(record.job) : recordTallies(record)
}

function queueView(ledger: Ledger, name: string): QueueView {
  const queue: Queue = ledger.world.queues.get(name) ?? createQueue(name)
  const use = inUse(ledger, ledger.queueUsage(name), ({ policy }) => policy.queue === name)
  return { queue: { ...queue }, ready: ledger.ready.readyIn(name), ...use }
}

function schedulesPage(ledger: Ledger, { after, limit, ids }: QueryOf<'schedules'>): Schedule[] {
  const sorted = ids === undefined ? ledger.scheduleIds() : [...new Set(ids)].toSorted(byUnits)
  const page: Schedule[] = []
  for (let i = after === undefined ? 0 : firstAfter(sorted, after); i < sorted.length; i++) {
    const schedule = ledger.world.schedules.get(sorted[i] as string)
    if (schedule === undefined || schedule.definition === null) continue
    if (page.length >= limit) break
    page.push({ ...schedule })
  }
  return page
}

function byUnits(a: string, b: string): number {
  return a < b ? -1 : 1
}

/** Where the first text behind another one stands in a sorted list. */
function firstAfter(sorted: readonly string[], text: string): number {
  let [low, high] = [0, sorted.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((sorted[middle] as string) <= text) low = middle + 1
    else high = middle
  }
  return low
}

/** More than a person looks at. */
const MOST_HOLDERS = 20

type LeasedTask = Task & { readonly lease: Lease }

/** How much is used of a limit or of a queue's own, and by which tasks. */
function inUse(
  ledger: Ledger,
  usage: Usage | null | undefined,
  isCharged: (task: Task) => boolean,
): InUse {
  const fullAt = usage?.fullAt ?? 0
  return {
    held: usage?.held ?? 0,
    // What was full long ago is remembered by some and forgotten by others: both say the same.
    fullAt: fullAt > ledger.now ? fullAt : 0,
    holders: oldestHolders(ledger, isCharged).holders,
  }
}

function limitView(ledger: Ledger, key: string): LimitView {
  const isCharged = ({ policy }: Task): boolean => policy.limits.some((limit) => limit.key === key)
  return { key, ...inUse(ledger, ledger.usage.get(key), isCharged) }
}

function workerView(ledger: Ledger, worker: string): WorkerView {
  return { worker, ...oldestHolders(ledger, ({ lease }) => lease.worker === worker) }
}

/** Those that were granted first, and how many there are. */
function oldestHolders(
  ledger: Ledger,
  isMeant: (task: LeasedTask) => boolean,
): { held: number; holders: Holder[] } {
  const first: LeasedTask[] = []
  let held = 0
  for (const task of ledger.leases.all()) {
    if (!isLeased(task) || !isMeant(task)) continue
    held += 1
    if (first.length === MOST_HOLDERS && !isBefore(task, first.at(-1) as LeasedTask)) continue
    if (first.length === MOST_HOLDERS) first.pop()
    const at = first.findIndex((other) => isBefore(task, other))
    first.splice(at === -1 ? first.length : at, 0, task)
  }
  return { held, holders: first.map(holderOf) }
}

function isLeased(task: Task): task is LeasedTask {
  return task.lease !== null
}

/** Within a millisecond the order of the grants is not kept: by name, so that all stores agree. */
function isBefore(task: LeasedTask, other: LeasedTask): boolean {
  if (task.lease.grantedAt !== other.lease.grantedAt) {
    return task.lease.grantedAt < other.lease.grantedAt
  }
  if (task.job !== other.job) return task.job < other.job
  return task.stage === other.stage ? task.segment < other.segment : task.stage < other.stage
}

function holderOf({ job, stage, segment, lease }: LeasedTask): Holder {
  return { job, stage, segment, worker: lease.worker, since: lease.grantedAt }
}
