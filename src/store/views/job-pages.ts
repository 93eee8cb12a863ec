/**
 * Pages of jobs in the order of their submission: of all that a filter lets through, and of those in
 * quarantine, each with the tasks that were given up and why.
 */
import type { Job, JobSpec, JobState, Tallies, Task } from '../../kernel/index.ts'
import {
  errorFingerprint,
  errorOf,
  hasHeldEffects,
  inputVersionOf,
  isFinal,
  isHeldTask,
  jobEndedAt,
  jobState,
  stageIsDone,
  tasksOf,
} from '../../kernel/index.ts'
import { eventLoopTurn } from '../../log/index.ts'
import type { JobsFilter, JobsPage } from '../read-model.ts'
import type { Ledger } from '../state/ledger.ts'
import type { HeldEffect, JobSummary } from '../read-model.ts'
import type { DeadTask, QuarantinedJob, QuarantinePage, QueryOf } from '../store.ts'

/** A job and the state it is in, to be listed. */
export interface Listed {
  readonly job: Job
  readonly state: JobState
  /** Null: it is not over. */
  readonly endedAt: number | null
  /** It has an effect whose outcome a person has to say. */
  readonly isHeld: boolean
}

export function listing(job: Job, tallies: Tallies, now: number): Listed {
  const state = jobState(job, tallies, now)
  const endedAt = isFinal(state) ? jobEndedAt(job, tallies) : null
  return { job, state, endedAt, isHeld: hasHeldEffects(job, tallies) }
}

/** A page of jobs that come in order, put together one by one. */
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
    const summary = summaryIf(one, this.#query)
    if (summary === null) return true
    if (this.#jobs.length >= this.#query.limit) {
      this.#isFull = true
      return false
    }
    this.#last = one.job.firstPosition
    this.#jobs.push(summary)
    return true
  }

  /** More may follow behind this position, and is for another page. */
  cut(position: number): void {
    this.#last = position
    this.#isFull = true
  }

  get page(): JobsPage {
    return { jobs: this.#jobs, next: this.#isFull ? this.#last : null }
  }
}

/** Null: the filter does not let it through. */
export function summaryIf(one: Listed, filter: Omit<JobsFilter, 'worker'>): JobSummary | null {
  const { job, state } = one
  if ((filter.state ?? state) !== state || !isInTime(one, filter)) return null
  if (filter.heldEffects === true && !one.isHeld) return null
  if (filter.error !== undefined && errorFingerprint(job) !== filter.error) return null
  // Once: it may be read from the disk.
  const { spec } = job
  return matches(spec, job.task, filter) ? summaryOf(one, spec) : null
}

/** Whether it was submitted, and ended, when the filter says. */
export function isInTime(
  { job, endedAt }: Pick<Listed, 'job' | 'endedAt'>,
  filter: Omit<JobsFilter, 'worker'>,
): boolean {
  const { submittedFrom, submittedBefore, endedFrom, endedBefore } = filter
  if (submittedFrom !== undefined && job.submittedAt < submittedFrom) return false
  if (submittedBefore !== undefined && job.submittedAt >= submittedBefore) return false
  if (endedFrom !== undefined && (endedAt ?? 0) < endedFrom) return false
  return endedBefore === undefined || (endedAt ?? Infinity) < endedBefore
}

function summaryOf({ job, state, endedAt }: Listed, spec: JobSpec): JobSummary {
  const { id, submittedAt, task } = job
  const { type, priority, tags, group } = spec
  const error = errorOf(job) ?? task?.error ?? null
  return {
    id,
    type,
    state,
    queue: task?.policy.queue ?? null,
    priority: task?.priority ?? priority,
    tags: [...tags],
    group,
    attempt: task?.attempt ?? 0,
    submittedAt,
    endedAt,
    error: error === null ? null : { code: error.code, message: error.message },
    rerunOf: spec.rerunOf,
    erasedAt: job.erased?.at ?? null,
  }
}

/** What jobs are filtered by, whatever their state. */
export type SpecFilter = Pick<
  QueryOf<'jobs'>,
  'type' | 'queue' | 'tag' | 'group' | 'key' | 'isRerun'
>

/** `task`: of a plain job, which may be in another queue by now. */
export function matches(spec: JobSpec, task: Task | null, filter: SpecFilter): boolean {
  if (!matchesSubmit(spec, filter)) return false
  const { queue } = filter
  if (queue === undefined) return true
  if (task !== null) return task.policy.queue === queue
  return spec.stages?.some((one) => one.policy.queue === queue) === true
}

/** By what never changes. */
export function matchesSubmit(
  spec: JobSpec,
  { type, tag, group, key, isRerun }: SpecFilter,
): boolean {
  if (type !== undefined && spec.type !== type) return false
  if (group !== undefined && spec.group !== group) return false
  if (key !== undefined && spec.key !== key) return false
  if (isRerun === true && spec.rerunOf === null) return false
  return tag === undefined || spec.tags.includes(tag)
}

/** Jobs between two turns of the event loop: a filter may let none of them through. */
const QUARANTINE_STEP = 200

export async function quarantinePage(
  ledger: Ledger,
  query: QueryOf<'quarantine'>,
): Promise<QuarantinePage> {
  const { now } = ledger
  const jobs: QuarantinedJob[] = []
  let looked = 0
  const isOfHeld = query.heldEffects === true
  const all = isOfHeld ? ledger.dead.held : ledger.dead.quarantined
  const named = query.jobs?.flatMap((id) => all.find(id))
  for (const job of named ?? all.after(query.after ?? 0)) {
    looked += 1
    if (looked % QUARANTINE_STEP === 0) await eventLoopTurn()
    if (query.pipelines === true && job.task !== null) continue
    // Once: it may be read from the disk.
    const { spec } = job
    if (!matches(spec, job.task, query)) continue
    const tasks = isOfHeld ? heldTasks(tasksOf(ledger.world, job)) : deadTasks(ledger, job)
    // It left while this page took its time.
    if (tasks.length === 0) continue
    jobs.push(described(job, tasks))
    if (jobs.length === query.limit) return { jobs, next: job.firstPosition, now }
  }
  return { jobs, next: null, now }
}

/** Of one job, in one answer: more than a person looks at. */
export const MOST_HELD_TASKS = 100

export function heldTasks(tasks: readonly Task[]): Task[] {
  return tasks.filter(isHeldTask).slice(0, MOST_HELD_TASKS)
}

function deadTasks(ledger: Ledger, job: Job): Task[] {
  return deadAmong(job, tasksOf(ledger.world, job), ledger.tallies(job))
}

/** A stage that is done without them needs no operator. */
function deadAmong(job: Job, tasks: readonly Task[], tallies: Tallies): Task[] {
  const dead = tasks.filter(({ state }) => state === 'DEAD')
  return job.task === null ? dead.filter(({ stage }) => !stageIsDone(job, tallies, stage)) : dead
}

/** Of a job in quarantine, with all of its tasks. */
export function quarantinedJob(job: Job, tasks: readonly Task[], tallies: Tallies): QuarantinedJob {
  return described(job, deadAmong(job, tasks, tallies))
}

/** `tasks`: those that were given up. */
export function described(job: Job, tasks: readonly Task[]): QuarantinedJob {
  // Once: it may have to be read.
  const { id, spec, submittedAt, replaced } = job
  const { type, policy, group, tags, stages } = spec
  return {
    id,
    type,
    version: inputVersionOf({ spec, replaced }),
    queue: policy?.queue ?? null,
    group,
    tags: [...tags],
    submittedAt,
    tasks: tasks.map((task) => deadTask(task, stages?.[task.stage]?.name ?? null)),
  }
}

function deadTask(task: Task, stageName: string | null): DeadTask {
  const { stage, segment, attempt, endedAt, error, leases } = task
  return {
    stage,
    stageName,
    segment,
    attempt,
    since: endedAt ?? 0,
    error,
    endedBy: leases.at(-1)?.endedBy ?? null,
    held: heldEffects(task),
  }
}

function heldEffects({ commit, leases }: Task): HeldEffect[] {
  const effects = commit?.effects ?? []
  return effects.flatMap(({ state, promise: { name }, error, starts }, effect) => {
    if (state !== 'HELD') return []
    const start = starts.at(-1) ?? 0
    const lease = leases.find(({ number }) => number === start)
    const alike = effects.flatMap(({ promise }, i) => (promise.name === name ? [i] : []))
    const nth = alike.length === 1 ? null : alike.indexOf(effect) + 1
    return { effect, start, name, nth, error, worker: lease?.worker ?? null }
  })
}
