/**
 * Answers to queries, made from a ledger: copies, so that nobody sees a record change.
 */
import type { Job, JobSpec, JobState, Queue, StageTasks, Tallies, Task } from '../kernel/index.ts'
import {
  copyJob,
  copyTask,
  emptyTally,
  jobState,
  NOT_OPENED,
  stageState,
  tallyOf,
} from '../kernel/index.ts'
import type { JobRecord } from '../log/index.ts'
import { recordTallies } from '../log/index.ts'
import type { Ledger } from './ledger.ts'
import type { JobsPage, JobSummary, JobView, QueryOf, QueueView, StageView } from './store.ts'

export function jobView(ledger: Ledger, id: string): JobView | null {
  const job = ledger.inMemory(id)
  if (job === undefined) return null
  return viewOf(job, ledger.world.tasks.get(id) ?? null, ledger.tallies(job), ledger.now)
}

/** A job that is not in memory. */
export function recordView(record: JobRecord, now: number): JobView {
  return viewOf(record.job, record.stages, recordTallies(record), now)
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
}

export function listed(ledger: Ledger, job: Job): Listed {
  return { job, state: jobState(job, ledger.tallies(job), ledger.now) }
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
  add({ job, state }: Listed): boolean {
    const { limit, state: asked } = this.#query
    if (!matches(job.spec, this.#query) || (asked ?? state) !== state) return true
    if (this.#jobs.length >= limit) {
      this.#isFull = true
      return false
    }
    this.#last = job.firstPosition
    this.#jobs.push({ id: job.id, type: job.spec.type, state, submittedAt: job.submittedAt })
    return true
  }

  get page(): JobsPage {
    return { jobs: this.#jobs, next: this.#isFull ? this.#last : null }
  }
}

function matches(spec: JobSpec, { type, queue }: QueryOf<'jobs'>): boolean {
  if (type !== undefined && spec.type !== type) return false
  if (queue === undefined) return true
  return (
    spec.policy?.queue === queue || spec.stages?.some((one) => one.policy.queue === queue) === true
  )
}

export function queueView(ledger: Ledger, name: string): QueueView {
  const queue: Queue = ledger.world.queues.get(name) ?? {
    name,
    version: 0,
    time: 0,
    paused: false,
    pausedAt: 0,
    concurrency: null,
    rate: null,
  }
  return { queue: { ...queue }, held: ledger.queueUsage(name)?.held ?? 0 }
}
