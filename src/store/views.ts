/**
 * Answers to queries, made from a ledger: copies, so that nobody sees a record change.
 */
import type { Job, JobSpec, Queue, Task } from '../kernel/index.ts'
import {
  copyJob,
  copyTask,
  emptyTally,
  jobState,
  NOT_OPENED,
  stageState,
  tallyOf,
} from '../kernel/index.ts'
import type { Ledger } from './ledger.ts'
import type { JobsPage, JobSummary, JobView, QueryOf, QueueView, StageView } from './store.ts'

export function jobView(ledger: Ledger, id: string): JobView | null {
  const job = ledger.world.jobs.get(id)
  if (job === undefined) return null
  return {
    job: copyJob(job),
    state: jobState(job, ledger.tallies(job), ledger.now),
    stages: job.task === null ? stageViews(ledger, job) : [plainStage(job.task)],
  }
}

function plainStage(task: Task): StageView {
  return { name: null, state: stageState(1, tallyOf([task]), 0), tasks: [copyTask(task)] }
}

function stageViews(ledger: Ledger, job: Job): StageView[] {
  const tallies = ledger.tallies(job)
  return (job.spec.stages ?? []).map(({ name, tolerate }, i) => ({
    name,
    state: stageState(job.opened?.[i] ?? NOT_OPENED, tallies[i] ?? emptyTally(), tolerate),
    tasks: (ledger.world.tasks.get(job.id)?.[i] ?? []).map(copyTask),
  }))
}

/** Of jobs in order of submission. A page looks at as many jobs as its filters pass over. */
export function jobsPage(ledger: Ledger, inOrder: Iterable<Job>, query: QueryOf<'jobs'>): JobsPage {
  const jobs: JobSummary[] = []
  let last = 0
  for (const job of inOrder) {
    const state = jobState(job, ledger.tallies(job), ledger.now)
    if (!matches(job.spec, query) || (query.state ?? state) !== state) continue
    if (jobs.length === query.limit) return { jobs, next: last }
    last = job.firstPosition
    jobs.push({ id: job.id, type: job.spec.type, state, submittedAt: job.submittedAt })
  }
  return { jobs, next: null }
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
