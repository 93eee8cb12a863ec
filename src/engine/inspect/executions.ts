/**
 * What was tried: each attempt at each task of a job, when, by which worker, and how it ended.
 *
 * The newest come from the records of the tasks, with what the newest entries add. All of them, page by
 * page, come from the history: it is folded, and the leases are those that the kernel made. If the
 * history that is kept is not whole, the records have to do.
 */
import type { ExecutionStatus, Failure, Job, Lease, LeaseEnd, Task } from '../../kernel/index.ts'
import { isLost, stageIndex, stagesOf } from '../../kernel/index.ts'
import { InvalidDefinition } from '../../definition/index.ts'
import type { Execution, JobOverview, Queries, Store } from '../../store/index.ts'
import { executionOf, executionsOf } from '../../store/views/job-activity.ts'
import { UnknownJob } from '../errors.ts'
import type { AttemptEnds } from '../lost-lease.ts'
import { attemptEnds, byWhom, endsIn } from '../lost-lease.ts'
import { entriesOf } from './history.ts'
import { JobReplay } from './job-replay.ts'
import { noStage } from './segments.ts'

export interface ExecutionInfo {
  /** Null: a plain job. */
  readonly stage: string | null
  /** Null: a plain job, or a stage that runs once. */
  readonly segment: number | null
  /** Counts the leases of the task, from 1. */
  readonly attempt: number
  readonly status: ExecutionStatus
  readonly worker: string
  readonly leasedAt: Date
  readonly leaseExpiresAt: Date
  /** Null: its handler did not begin. */
  readonly startedAt: Date | null
  /** Null: it is not over. */
  readonly finishedAt: Date | null
  /** The entry that ended it. */
  readonly endedBy: LeaseEnd | null
  /** Who ended it and why, if it was not its own handler. */
  readonly reason: string | null
  readonly error: Failure | null
}

export interface ExecutionsFilter {
  /** Of a pipeline: only of this stage. */
  readonly stage?: string | undefined
  /** Only of this segment of the stage. */
  readonly segment?: number | undefined
  /** `next` of the page before. */
  readonly after?: number | undefined
  /** Default 100. */
  readonly limit?: number | undefined
}

export interface ExecutionsPage {
  /** In the order in which they were leased. */
  readonly executions: readonly ExecutionInfo[]
  /** Give it as `after` to go on; null: there is no more. */
  readonly next: number | null
}

/** The newest attempts. */
export async function newestExecutions(
  store: Queries,
  view: JobOverview,
): Promise<ExecutionInfo[]> {
  const { job, executions } = view
  const ends = executions.some(needsHistory) ? await attemptEnds(store, job.id) : endsIn([])
  return executions.map((one) => executionInfo(job, one, ends))
}

/** The record says how it ended, and not why. */
function needsHistory({ endedBy, error }: Execution): boolean {
  if (isLost(endedBy) || endedBy === 'TaskForced') return true
  return (endedBy === 'TaskFailed' || endedBy === 'EffectFailed') && error === null
}

function executionInfo(job: Job, execution: Execution, ends: AttemptEnds): ExecutionInfo {
  const { stage, segment, attempt, status, worker, endedBy } = execution
  const spec = stagesOf(job)[stage]
  return {
    stage: spec?.name ?? null,
    segment: spec === undefined || spec.each === null ? null : segment,
    attempt,
    status,
    worker,
    leasedAt: new Date(execution.grantedAt),
    leaseExpiresAt: new Date(execution.expiresAt),
    startedAt: dateOf(execution.startedAt),
    finishedAt: dateOf(execution.endedAt),
    endedBy,
    reason: reasonOf(job, execution, ends),
    error: execution.error ?? ends.errorOf(execution),
  }
}

function reasonOf(job: Job, execution: Execution, ends: AttemptEnds): string | null {
  const { endedBy } = execution
  if (endedBy === 'JobCancelled') return job.cancelled === null ? null : byWhom(job.cancelled)
  return endedBy === 'TaskStopped' ? 'The job is ending.' : ends.reasonOf(execution)
}

function dateOf(ms: number | null): Date | null {
  return ms === null ? null : new Date(ms)
}

/** All attempts that there were, page by page, however many. */
export async function executionsPage(
  store: Store,
  id: string,
  { after = 0, limit = 100, ...choice }: ExecutionsFilter,
): Promise<ExecutionsPage> {
  const view = await store.query({ kind: 'overview', job: id })
  if (view === null) throw new UnknownJob(id)
  const isMeant = chosen(view.job, choice)
  const known = await fromItsRecord(store, view.job, choice)
  if (known !== null) {
    const next = known.length > after + limit ? after + limit : null
    return { executions: known.slice(after, after + limit), next }
  }
  const wanted = (place: number): boolean => place >= after && place <= after + limit
  const found = await fromHistory(store, id, isMeant, wanted)
  if (found === null) return fromRecords(store, id, isMeant, { after, limit })
  const next = found.length > limit ? after + limit : null
  return { executions: found.slice(0, limit), next }
}

type TaskFilter = (task: Pick<Task, 'stage' | 'segment'>) => boolean

function chosen(job: Job, { stage, segment }: ExecutionsFilter): TaskFilter {
  if (stage === undefined) {
    if (segment === undefined) return () => true
    throw new InvalidDefinition(
      `Segment ${segment} of which stage of job ${job.id}? Give a \`stage\`.`,
    )
  }
  const index = stageIndex(job, stage)
  if (index === -1) throw noStage(job, stage)
  return (task) => task.stage === index && (segment === undefined || task.segment === segment)
}

/**
 * Of one segment, whose record has all that is asked: then the history of thousands of others need not be read. Null: it
 * has not, or more than one is meant.
 */
async function fromItsRecord(
  store: Store,
  job: Job,
  { stage, segment }: ExecutionsFilter,
): Promise<ExecutionInfo[] | null> {
  if (stage === undefined || segment === undefined) return null
  const asked = { job: job.id, stage: stageIndex(job, stage), segment }
  const task = await store.query({ kind: 'task', ...asked })
  if (task === null || (task.leases[0]?.number ?? 1) !== 1) return null
  const all = executionsOf(task)
  return all.some(needsHistory) ? null : all.map((one) => executionInfo(job, one, endsIn([])))
}

/** `wanted`: by their place among those that are meant. Null: the history is not whole. */
async function fromHistory(
  store: Store,
  id: string,
  isMeant: TaskFilter,
  wanted: (place: number) => boolean,
): Promise<ExecutionInfo[] | null> {
  const fold = new JobReplay(id)
  const kept: { readonly task: Task; readonly lease: Lease }[] = []
  const ends: Parameters<typeof endsIn>[0][number][] = []
  const leases = new Set<string>()
  let place = 0
  for await (const { entry } of entriesOf(store, id)) {
    fold.add(entry)
    if (!fold.isWhole) return null
    const task = fold.taskOf(entry)
    if (task === null || !isMeant(task)) continue
    if (entry.type === 'LeaseGranted') {
      const { lease } = task
      // The record goes on to change with later entries, also once the task has forgotten it.
      if (lease !== null && wanted(place)) {
        kept.push({ task, lease })
        leases.add(`${task.stage}/${task.segment}`)
      }
      place += 1
    } else if (leases.has(`${task.stage}/${task.segment}`)) {
      ends.push(entry)
    }
  }
  const { job } = fold
  if (job === null) return null
  const found = endsIn(ends)
  return kept.map(({ task, lease }) => executionInfo(job, executionOf(task, lease), found))
}

async function fromRecords(
  store: Store,
  id: string,
  isMeant: TaskFilter,
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<ExecutionsPage> {
  const view = await store.query({ kind: 'job', job: id })
  if (view === null) throw new UnknownJob(id)
  const tasks = view.stages.flatMap((stage) => stage.tasks).filter(isMeant)
  const all = tasks.flatMap(executionsOf).toSorted((a, b) => a.grantedAt - b.grantedAt)
  // Of one task, those that its record no longer has count, too: the newest of them are found by the number of its attempts.
  const placed = all.map((one, i) => ({ one, place: tasks.length === 1 ? one.attempt - 1 : i }))
  const left = placed.filter(({ place }) => place >= after)
  const ends = await attemptEnds(store, id)
  return {
    executions: left.slice(0, limit).map(({ one }) => executionInfo(view.job, one, ends)),
    next: left[limit]?.place ?? null,
  }
}
