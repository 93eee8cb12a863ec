/**
 * Answers to queries, made from a ledger: copies, so that nobody sees a record change.
 */
import type {
  Job,
  JobSpec,
  JobState,
  Queue,
  Schedule,
  StageTasks,
  Tallies,
  Task,
} from '../../kernel/index.ts'
import {
  copyJob,
  copyTask,
  createQueue,
  emptyTally,
  isFinal,
  jobEndedAt,
  jobState,
  NOT_OPENED,
  stageState,
  tallyOf,
  taskIn,
} from '../../kernel/index.ts'
import type { JobRecord } from '../../log/index.ts'
import { recordTallies } from '../../log/index.ts'
import { inUse } from './lease-holders.ts'
import type { Ledger } from '../state/ledger.ts'
import {
  lastStages,
  NO_TROUBLE,
  outputsPage,
  stageOverviews,
  tasksIn,
  troubleIn,
} from './stage-views.ts'
import type {
  Ended,
  JobOverview,
  JobsPage,
  JobSummary,
  JobView,
  Outcome,
  OutputsPage,
  QueryOf,
  QueueView,
  StageView,
  Trouble,
} from '../store.ts'

export function jobView(ledger: Ledger, id: string): JobView | null {
  const job = ledger.inMemory(id)
  if (job === undefined) return null
  return viewOf(job, ledger.world.tasks.get(id) ?? null, ledger.tallies(job), ledger.now)
}

/** A job that is not in memory. */
export function recordView(record: JobRecord, now: number): JobView {
  return viewOf(record.job, record.stages, recordTallies(record), now)
}

export function overview(ledger: Ledger, id: string): JobOverview | null {
  const job = ledger.inMemory(id)
  if (job === undefined) return null
  return overviewOf(job, ledger.world.tasks.get(id) ?? null, ledger.tallies(job), ledger.now)
}

/** Of a job that is not in memory. */
export function recordOverview(record: JobRecord, now: number): JobOverview {
  return overviewOf(record.job, record.stages, recordTallies(record), now)
}

function overviewOf(
  job: Job,
  stages: StageTasks | null,
  tallies: Tallies,
  now: number,
): JobOverview {
  const state = jobState(job, tallies, now)
  return { job: copyJob(job), state, stages: stageOverviews(job, stages, tallies) }
}

export function outcome(ledger: Ledger, id: string): Outcome | null {
  const job = ledger.inMemory(id)
  if (job === undefined) return null
  return outcomeOf(job, ledger.world.tasks.get(id) ?? null, ledger.tallies(job), ledger.now)
}

/** Of a job that is not in memory. */
export function recordOutcome(record: JobRecord, now: number): Outcome {
  return outcomeOf(record.job, record.stages, recordTallies(record), now)
}

/** Those of the jobs that nobody has to wait for any more. */
export function endedOf(
  jobs: readonly string[],
  outcomeOfJob: (job: string) => Outcome | null,
): Ended[] {
  return jobs
    .map((job) => ({ job, outcome: outcomeOfJob(job) }))
    .filter(({ outcome: found }) => found === null || isThrough(found))
}

/** It is over, or waits for a person. */
export function isThrough({ state }: Pick<Outcome, 'state'>): boolean {
  return isFinal(state) || state === 'QUARANTINED'
}

/** `stages`: those tasks at least that went wrong. */
export function outcomeOf(
  job: Job,
  stages: StageTasks | null,
  tallies: Tallies,
  now: number,
): Outcome {
  const { spec, task, cancelled, lastPosition } = job
  const state = jobState(job, tallies, now)
  const isWrong = state === 'FAILED' || state === 'QUARANTINED'
  const blamed = state === 'FAILED' ? 'FAILED' : 'DEAD'
  const ofStages = isWrong ? troubleIn(job, stages, tallies, blamed) : NO_TROUBLE
  const { error, held, endedBy, at } = task === null ? ofStages : troubleOf(task, state)
  // Spelled out: everybody who waits for a job asks for it, and putting objects together is slow.
  return {
    type: spec.type,
    state,
    cancelled,
    lastPosition,
    output: task === null ? null : task.output,
    last: task === null ? lastStages(job) : null,
    error,
    held,
    endedBy,
    at,
  }
}

function troubleOf({ error, commit, leases }: Task, state: JobState): Trouble {
  const held: string[] = []
  for (const effect of state === 'QUARANTINED' ? (commit?.effects ?? []) : []) {
    if (effect.state === 'HELD') held.push(effect.promise.name)
  }
  return { error, held, endedBy: leases.at(-1)?.endedBy ?? null, at: null }
}

export function taskView(ledger: Ledger, id: string, stage: number, segment: number): Task | null {
  const job = ledger.inMemory(id)
  const task = job === undefined ? undefined : taskIn(ledger.world, job, stage, segment)
  return task === undefined ? null : copyTask(task)
}

/** Of a job that is not in memory. */
export function recordTask(
  { job, stages }: JobRecord,
  stage: number,
  segment: number,
): Task | null {
  return tasksIn(job, stages, stage)[segment] ?? null
}

/** Null: the job is not in memory. */
export function outputsOf(
  ledger: Ledger,
  { job: id, stage, after, limit }: QueryOf<'outputs'>,
): OutputsPage | null {
  const job = ledger.inMemory(id)
  if (job === undefined) return null
  return outputsPage(tasksIn(job, ledger.world.tasks.get(id) ?? null, stage), after, limit)
}

function viewOf(job: Job, stages: StageTasks | null, tallies: Tallies, now: number): JobView {
  return {
    job: copyJob(job),
    state: jobState(job, tallies, now),
    stages: job.task === null ? stageViews(job, stages ?? [], tallies) : [plainStage(job.task)],
  }
}

function plainStage(task: Task): StageView {
  return { name: null, state: stageState(1, tallyOf([task]), 0), tasks: [copyTask(task)] }
}

function stageViews(job: Job, stages: StageTasks, tallies: Tallies): StageView[] {
  return (job.spec.stages ?? []).map(({ name, tolerate }, i) => ({
    name,
    state: stageState(job.opened?.[i] ?? NOT_OPENED, tallies[i] ?? emptyTally(), tolerate),
    tasks: (stages[i] ?? []).map(copyTask),
  }))
}

/** A job and the state it is in, to be listed. */
export interface Listed {
  readonly job: Job
  readonly state: JobState
  /** Null: it is not over. */
  readonly endedAt: number | null
}

export function listed(ledger: Ledger, job: Job): Listed {
  return listing(job, ledger.tallies(job), ledger.now)
}

export function listing(job: Job, tallies: Tallies, now: number): Listed {
  const state = jobState(job, tallies, now)
  return { job, state, endedAt: isFinal(state) ? jobEndedAt(job, tallies) : null }
}

/** A page of jobs that come in order of submission, put together one by one. */
export class PageOfJobs {
  readonly #query: QueryOf<'jobs'>
  readonly #jobs: JobSummary[] = []
  #last = 0
  #isFull = false

  constructor(query: QueryOf<'jobs'>) {
    this.#query = query
  }

  /** False: the page is full, and more would not be on it. */
  add(one: Listed): boolean {
    const { job, state } = one
    const { limit, state: asked } = this.#query
    if ((asked ?? state) !== state) return true
    // Once: it may have to be read.
    const { spec } = job
    if (!matches(spec, this.#query)) return true
    if (this.#jobs.length >= limit) {
      this.#isFull = true
      return false
    }
    this.#last = job.firstPosition
    this.#jobs.push(summaryOf(one, spec))
    return true
  }

  get page(): JobsPage {
    return { jobs: this.#jobs, next: this.#isFull ? this.#last : null }
  }
}

function summaryOf({ job, state, endedAt }: Listed, spec: JobSpec): JobSummary {
  const { id, submittedAt, task } = job
  const { type, priority, tags, group, policy } = spec
  const error = task?.error ?? null
  return {
    id,
    type,
    state,
    queue: policy?.queue ?? null,
    priority,
    tags: [...tags],
    group,
    attempt: task?.attempt ?? 0,
    submittedAt,
    endedAt,
    error: error === null ? null : { code: error.code, message: error.message },
  }
}

/** What jobs are filtered by, whatever their state. */
export type SpecFilter = Pick<QueryOf<'jobs'>, 'type' | 'queue' | 'tag' | 'group' | 'key'>

export function matches(spec: JobSpec, { type, queue, tag, group, key }: SpecFilter): boolean {
  if (type !== undefined && spec.type !== type) return false
  if (group !== undefined && spec.group !== group) return false
  if (key !== undefined && spec.key !== key) return false
  if (tag !== undefined && !spec.tags.includes(tag)) return false
  if (queue === undefined) return true
  return (
    spec.policy?.queue === queue || spec.stages?.some((one) => one.policy.queue === queue) === true
  )
}

export function queueView(ledger: Ledger, name: string): QueueView {
  const queue: Queue = ledger.world.queues.get(name) ?? createQueue(name)
  const use = inUse(ledger, ledger.queueUsage(name), ({ policy }) => policy.queue === name)
  return { queue: { ...queue }, ready: ledger.ready.readyIn(name), ...use }
}

export function schedulesOf(ledger: Ledger, { after, limit }: QueryOf<'schedules'>): Schedule[] {
  const found: Schedule[] = []
  for (const schedule of ledger.world.schedules.values()) {
    if (schedule.definition === null || (after !== undefined && schedule.id <= after)) continue
    found.push(schedule)
  }
  const page = found.toSorted((a, b) => (a.id < b.id ? -1 : 1)).slice(0, limit)
  const copies: Schedule[] = []
  for (const schedule of page) copies.push({ ...schedule })
  return copies
}
