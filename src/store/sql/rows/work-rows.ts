/**
 * The rows of `work`: one for each job (a plain one with its task) and for each segment of a pipeline.
 * The record is the truth of a row; the other columns repeat it in a form that a database can search.
 *
 * A task that waits, and that nothing but time, pause and limits keeps from being granted, is listed:
 * it has a channel. It is in one of three states:
 * - not due: it has no turn;
 * - ready: it has a turn;
 * - parked: it has a turn, and the key of a limit that has no room for it.
 */
import type { Job, JobState, JobSubmitted, Lease, Task } from '../../../kernel/index.ts'
import type { JobRecord } from '../../../log/index.ts'
import {
  isFinal,
  isLastChance,
  isSuspect,
  isSuspended,
  jobEndedAt,
  jobState,
  NO_TALLIES,
  placeAt,
} from '../../../kernel/index.ts'
import { isListed } from '../../state/task-snapshot.ts'
import type { Row, Value } from '../connection.ts'
import type { Records } from './records.ts'

/** The stage of a row that is a job. */
export const JOB_ROW = -1
/** The level of a task that is committed: it comes before all others, and no pause or limit stops it. */
export const RESUMED = 2_147_483_647
export const LOWEST_LEVEL = -2_147_483_648
/** Of a pipeline's own row: it has no task that could have a state. */
const PIPELINE = 'PIPELINE'

/** What is known of a row beside the record in it. */
export interface RowState {
  readonly job: string
  readonly stage: number
  readonly segment: number
  /** Of the JobSubmitted of its job. */
  readonly position: number
  /** Of its own newest entry. */
  lastPosition: number
  /** As it is in the database; 0: it is not there yet. */
  version: number
  /** See `TurnAssigner`. Null: the task waits for its time. */
  turn: number | null
  /** The key of the limit that the task waits for; null: it waits for none. */
  parked: string | null
  /** What the counts have it as; null: they do not. */
  countedAs: JobState | null
  /** The fingerprint of the error that it is counted under; null: none. */
  error: string | null
  /** It is counted among the jobs with held effects. Never of a segment. */
  held: boolean
  /** The rows of `questions` that there are of it. */
  questions: readonly Row[]
}

/** A job's own row has its id as the key, which has no U+0000 in it: nearly all rows are such. */
export function rowKey(job: string, stage: number, segment: number): string {
  return stage === JOB_ROW ? job : `${job}\u0000${stage}/${segment}`
}

/** The names of channels of plain jobs, by type and queue: there are few, and they are used often. */
const channels = new Map<string, Map<string, string>>()
const MOST_CHANNELS = 1_000
let channelCount = 0

/** A queue, a job type and a stage by name. */
export function channelName(queue: string, type: string, stage: string | null): string {
  const known = stage === null ? channels.get(type)?.get(queue) : undefined
  if (known !== undefined) return known
  const name = JSON.stringify([queue, type, stage])
  if (stage === null) cacheChannel(queue, type, name)
  return name
}

/** Of a channel's name, whichever of the three it is. */
export function queueOfChannel(name: string): string {
  return (JSON.parse(name) as readonly [queue: string])[0]
}

/** Of the tasks of a channel that may be what kills their workers (see `isSuspect`). */
export function suspectChannelName(queue: string, type: string, stage: string | null): string {
  return JSON.stringify([queue, type, stage, 'suspects'])
}

/** Of those whose next loss would be their last (see `isLastChance`). */
export function lastChanceChannelName(queue: string, type: string, stage: string | null): string {
  return JSON.stringify([queue, type, stage, 'last-chances'])
}

function cacheChannel(queue: string, type: string, name: string): void {
  if (++channelCount > MOST_CHANNELS) {
    channels.clear()
    channelCount = 1
  }
  const ofType = channels.get(type) ?? new Map<string, string>()
  channels.set(type, ofType.set(queue, name))
}

export function keyName(type: string, key: string): string {
  return JSON.stringify([type, key])
}

/** The columns that only a reschedule or a replacement changes, if anything, in the order of `FIXED_COLUMNS`. */
export function fixedColumns(row: RowState, job: Job, task: Task | null, hasKey: boolean): Value[] {
  const { spec } = job
  const isJob = row.stage === JOB_ROW
  return [
    row.job,
    row.stage,
    row.segment,
    row.position,
    spec.type,
    task?.policy.queue ?? null,
    isJob ? spec.key : null,
    isJob && hasKey && spec.key !== null ? keyName(spec.type, spec.key) : null,
    spec.group,
    task?.priority ?? spec.priority,
    isJob ? spec.retainMs : null,
    deadlineColumn(job, row.stage),
    isJob ? tagsColumn(spec.tags) : null,
  ]
}

/** Which row it is, and of the fixed columns those that may change: queue, priority and deadline. */
export function movableColumns(row: RowState, job: Job, task: Task | null): Value[] {
  return [
    row.job,
    row.stage,
    row.segment,
    task?.policy.queue ?? null,
    task?.priority ?? job.spec.priority,
    deadlineColumn(job, row.stage),
  ]
}

/** A task that is to run on failure has none. */
function deadlineColumn({ deadlineAt, spec }: Job, stage: number): number | null {
  return spec.stages?.[stage]?.onFailure === true ? null : deadlineAt
}

/** It has not changed since it was submitted: its record follows from its JobSubmitted. */
export function isFresh(job: Job): boolean {
  return job.task !== null && job.task.version === 1
}

/** Its row has only what rows of fresh jobs nearly always have. */
export function isFreshRow(job: Job): boolean {
  return isFresh(job) && job.deadlineAt === null
}

/** The columns of a fresh job, in the order of `FRESH_COLUMNS`. */
export function freshColumns(row: RowState, job: Job, hasKey: boolean, ageing: Ageing): Value[] {
  const task = job.task as Task
  const { spec } = job
  const listed = isListed(job, task)
  const ageingMs = listed ? ageing(task.policy.queue) : null
  return [
    row.job,
    row.position,
    spec.type,
    task.policy.queue,
    spec.key,
    hasKey && spec.key !== null ? keyName(spec.type, spec.key) : null,
    spec.group,
    spec.priority,
    spec.retainMs,
    listed ? channelOf(job, task) : null,
    listed ? levelOf(spec.priority, task, ageingMs) : null,
    row.turn,
    task.dueAt,
    task.dueAt - spec.priority * (ageingMs ?? 0),
    task.startBy,
    tagsColumn(spec.tags),
  ]
}

/** How a queue ranks what waits in it. */
export type Ageing = (queue: string) => number | null

/** The columns that change, in the order of `CHANGING_COLUMNS`. `task`: null for a pipeline's own row. */
export function changingColumns(
  row: RowState,
  job: Job,
  task: Task | null,
  records: Records,
  ageing: Ageing,
): Value[] {
  if (task === null) return pipelineColumns(row, job, records)
  const isJob = row.stage === JOB_ROW
  const listed = isListed(job, task)
  const { lease, policy, attempt, dueAt } = task
  const { priority } = task
  const ageingMs = listed ? ageing(policy.queue) : null
  return [
    row.lastPosition,
    task.version,
    task.state,
    isJob ? records.ofJob(job) : records.ofTask(task, job),
    listed ? channelOf(job, task) : null,
    listed ? levelOf(priority, task, ageingMs) : null,
    row.turn,
    dueAt,
    // What comes back from a wait stands by its first due time.
    listed ? placeAt(task) - priority * (ageingMs ?? 0) : dueAt,
    // A task that was granted before comes before others that are due in the same millisecond.
    attempt > 0 ? 0 : row.position,
    listed ? row.parked : null,
    task.state === 'WAITING' && attempt === 0 ? task.startBy : null,
    lease?.expiresAt ?? null,
    task.commit !== null,
    attempt,
    task.endedAt,
    isJob ? overAt(job) : null,
    listed && isSuspended(task),
  ]
}

/** A plain job that was granted before and is not listed: it holds a lease, waits for a message, or is over. */
export function isUnlisted(row: RowState, job: Job, task: Task | null): boolean {
  return row.stage === JOB_ROW && task !== null && task.attempt > 0 && !isListed(job, task)
}

/** Which row it is, also by version and position, and the columns of `UNLISTED_COLUMNS`. */
export function unlistedColumns(row: RowState, job: Job, records: Records): Value[] {
  const task = job.task as Task
  return [
    row.job,
    row.version,
    row.position,
    row.lastPosition,
    task.version,
    task.state,
    records.ofJob(job),
    task.dueAt,
    task.lease?.expiresAt ?? null,
    task.commit !== null,
    task.attempt,
    task.endedAt,
    overAt(job),
  ]
}

function pipelineColumns(row: RowState, job: Job, records: Records): Value[] {
  const nothing = null
  return [
    row.lastPosition,
    job.version,
    PIPELINE,
    records.ofJob(job),
    nothing,
    nothing,
    nothing,
    job.dueAt,
    job.dueAt,
    row.position,
    nothing,
    nothing,
    nothing,
    false,
    0,
    nothing,
    nothing,
    false,
  ]
}

/** Where a task is listed: tasks that are granted alone have a channel of their own. */
export function channelOf({ spec }: Job, task: Task): string {
  const stage = spec.stages?.[task.stage]?.name ?? null
  const { queue } = task.policy
  if (!isSuspect(task)) return channelName(queue, spec.type, stage)
  return isLastChance(task)
    ? lastChanceChannelName(queue, spec.type, stage)
    : suspectChannelName(queue, spec.type, stage)
}

export function levelOf(priority: number, task: Task, ageingMs: number | null): number {
  if (task.commit !== null) return RESUMED
  return ageingMs === null ? priority : 0
}

/** When a plain job came to its end; for a pipeline, upkeep writes that. */
function overAt(job: Job): number | null {
  return isFinal(jobState(job, NO_TALLIES, 0)) ? jobEndedAt(job, NO_TALLIES) : null
}

/** The columns of `LOADED_COLUMNS`, and the record of the job's JobSubmitted. */
export interface LoadedColumns extends Omit<
  RowState,
  'countedAs' | 'error' | 'held' | 'questions'
> {
  /** Null: it has not changed since it was submitted. */
  readonly record: Uint8Array | null
  /** Of a job's own row; null: it was not read. */
  readonly spec: Uint8Array | null
}

export function loadedColumns(row: Row, from = 0): LoadedColumns {
  return {
    job: row[from] as string,
    stage: row[from + 1] as number,
    segment: row[from + 2] as number,
    position: row[from + 3] as number,
    lastPosition: row[from + 4] as number,
    version: row[from + 5] as number,
    turn: row[from + 6] as number | null,
    parked: row[from + 7] as string | null,
    record: row[from + 8] as Uint8Array | null,
    spec: row[from + 9] as Uint8Array | null,
  }
}

/** Jobs whose rows come one after the other, each job's own row first. */
export function jobRecords(rows: readonly Row[], records: Records): JobRecord[] {
  const found: JobRecord[] = []
  for (const row of rows) {
    const columns = loadedColumns(row)
    const last = found.at(-1)
    if (columns.stage === JOB_ROW) {
      const submitted = records.submitted(columns.spec as Uint8Array, columns.position)
      found.push(jobRecord(columns, submitted, records))
    } else if (last?.job.id === columns.job) addTask(last, columns, records)
  }
  return found
}

/** Without the tasks of a pipeline. */
export function jobRecord(
  columns: LoadedColumns,
  submitted: JobSubmitted,
  records: Records,
): JobRecord {
  const { position, lastPosition, record } = columns
  const job = records.job(record, submitted)
  job.firstPosition = position
  job.lastPosition = lastPosition
  return { job, stages: job.opened?.map((n) => (n < 0 ? null : [])) ?? null }
}

function addTask({ job, stages }: JobRecord, columns: LoadedColumns, records: Records): void {
  const { stage, segment, lastPosition, record } = columns
  const tasks = stages?.[stage]
  if (tasks != null) tasks[segment] = records.task(record as Uint8Array, job, stage, segment)
  job.lastPosition = Math.max(job.lastPosition, lastPosition)
}

export type TaskWithLease = Task & { readonly lease: Lease }

/** The tasks in these rows that hold a lease, the oldest grant first. */
export function leasedTasks(rows: readonly Row[], records: Records): TaskWithLease[] {
  const found: TaskWithLease[] = []
  for (const { job, stages } of jobRecords(rows, records)) {
    const tasks = job.task === null ? (stages ?? []).flat() : [job.task]
    for (const task of tasks) if (task != null && isLeased(task)) found.push(task)
  }
  return found.toSorted(byGrant)
}

function isLeased(task: Task): task is TaskWithLease {
  return task.lease !== null
}

/** Within a millisecond by name, so that all stores agree. */
function byGrant(a: TaskWithLease, b: TaskWithLease): number {
  const apart = a.lease.grantedAt - b.lease.grantedAt
  if (apart !== 0) return apart
  if (a.job !== b.job) return a.job < b.job ? -1 : 1
  return a.stage - b.stage || a.segment - b.segment
}

/** What the counts have a row as. Null: it is not counted here. A pipeline's own row is counted by `pipelines`. */
export function countedAs(job: Job, task: Task | null, turn: number | null): JobState | null {
  if (task === null) return null
  const listed = isListed(job, task)
  if (job.task === null) {
    if (task.lease !== null) return 'RUNNING'
    if (!listed) return null
    return turn === null ? 'CREATED' : 'QUEUED'
  }
  switch (task.state) {
    case 'COMPLETED':
      return 'SUCCEEDED'
    case 'FAILED':
      return 'FAILED'
    case 'DEAD':
      return 'QUARANTINED'
    case 'LEASED':
      return 'RUNNING'
    case 'WAITING':
      if (listed && turn !== null) return 'QUEUED'
      return waitingAs(task.attempt, isSuspended(task))
  }
}

/** A task that waits for its time, or for the first claim after it. */
export function waitingAs(attempt: number, suspended: boolean): JobState {
  if (attempt === 0) return 'CREATED'
  return suspended ? 'SUSPENDED' : 'RETRYING'
}

/** As the column `tags` has them. */
export function tagsColumn(tags: readonly string[]): string | null {
  return tags.length === 0 ? null : JSON.stringify([...new Set(tags)])
}
