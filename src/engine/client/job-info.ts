/**
 * A job as a client sees it: what was asked for, where it stands, and what came of it.
 */
import { fromJson } from '../../definition/index.ts'
import type {
  Failure,
  Job,
  JobState,
  StageSpec,
  StageState,
  Task,
  TaskState,
} from '../../kernel/index.ts'
import { effectKey, isFinal, jobEndedAt } from '../../kernel/index.ts'
import type { JobOverview, StageOverview } from '../../store/index.ts'

export interface EffectInfo {
  readonly name: string
  readonly key: string
  readonly state: 'PROMISED' | 'STARTED' | 'UNKNOWN' | 'HELD' | 'FINISHED'
  readonly error: Failure | null
}

export interface AttemptInfo {
  /** The number of the lease. */
  readonly number: number
  readonly worker: string
  readonly from: Date
  readonly to: Date | null
  /** The entry that ended it. */
  readonly endedBy: string | null
}

/** One task of a stage that failed or waits for a person. */
export interface SegmentInfo {
  /** From 0; of a stage that runs once, 0. */
  readonly segment: number
  readonly state: TaskState
  readonly attempt: number
  readonly error: Failure | null
  readonly effects: readonly EffectInfo[]
}

export interface StageInfo {
  readonly name: string
  readonly state: StageState
  readonly version: number
  readonly queue: string
  readonly after: readonly string[]
  readonly each: string | null
  readonly tolerate: number
  readonly onFailure: boolean
  /** How many segments it was opened with; null: not opened yet. */
  readonly segments: number | null
  /** Segments by their state. */
  readonly waiting: number
  readonly running: number
  readonly completed: number
  readonly failed: number
  readonly dead: number
  /** The first 20 that are DEAD or, if there is room, FAILED. */
  readonly troubled: readonly SegmentInfo[]
}

export interface JobInfo {
  readonly id: string
  readonly type: string
  readonly version: number
  readonly state: JobState
  readonly input: unknown
  /** Undefined until there is one. */
  readonly output: unknown
  readonly error: Failure | null
  readonly attempt: number
  readonly retries: number
  readonly attempts: readonly AttemptInfo[]
  readonly effects: readonly EffectInfo[]
  readonly steps: readonly string[]
  /** Null for a pipeline: each of its stages has its own. */
  readonly queue: string | null
  /** Of a pipeline; none of a plain job. */
  readonly stages: readonly StageInfo[]
  readonly priority: number
  readonly key: string | null
  readonly group: string | null
  readonly tags: readonly string[]
  readonly submittedAt: Date
  readonly dueAt: Date
  readonly endedAt: Date | null
  readonly cancelled: { readonly at: Date; readonly by: string; readonly reason: string } | null
  /** The id of the job whose commit promised this one. */
  readonly parent: string | null
  readonly rerunOf: string | null
  /** Who had that job run again, and why. */
  readonly asked: { readonly by: string; readonly reason: string } | null
  /** The schedule that made it, and the time that it stands for. */
  readonly schedule: { readonly id: string; readonly time: Date } | null
  /** What its handler said last, if it runs in this process now. Not durable. */
  readonly progress: unknown
  /** The newest lines that its handler wrote. Not durable. */
  readonly lines: readonly string[]
  /** Since when its handler, in this process, said nothing, if that is too long. Not durable. */
  readonly stalledSince: Date | null
}

export function jobInfo(
  view: JobOverview,
  progress: string | null,
  lines: readonly string[],
  stalledSince: number | null,
): JobInfo {
  const { job, state } = view
  const { spec, cancelled } = job
  return {
    id: job.id,
    type: spec.type,
    version: spec.version,
    state,
    ...(job.task === null ? pipelinePart(view) : plainPart(job, job.task)),
    priority: spec.priority,
    key: spec.key,
    group: spec.group,
    tags: spec.tags,
    submittedAt: new Date(job.submittedAt),
    cancelled: cancelled === null ? null : { ...cancelled, at: new Date(cancelled.at) },
    parent: spec.parent?.job ?? null,
    rerunOf: spec.rerunOf,
    asked: spec.asked,
    schedule:
      spec.schedule === null ? null : { id: spec.schedule.id, time: new Date(spec.schedule.tick) },
    progress: progress === null ? undefined : fromJson(progress),
    lines,
    stalledSince: dateOf(stalledSince),
  }
}

type JobPart = Pick<
  JobInfo,
  | 'input'
  | 'output'
  | 'error'
  | 'attempt'
  | 'retries'
  | 'attempts'
  | 'effects'
  | 'steps'
  | 'queue'
  | 'stages'
  | 'dueAt'
  | 'endedAt'
>

function plainPart({ spec }: Job, task: Task): JobPart {
  return {
    input: fromJson(task.input ?? spec.input),
    output: task.output === null ? undefined : fromJson(task.output),
    error: task.error,
    attempt: task.attempt,
    retries: task.retries,
    attempts: attemptsOf(task),
    effects: effectsOf(task),
    steps: task.steps.map(({ name }) => name),
    queue: task.policy.queue,
    stages: [],
    dueAt: new Date(task.dueAt),
    endedAt: dateOf(task.endedAt),
  }
}

/** What a single task has, a pipeline shows by its stages. */
function pipelinePart({ job, state, stages }: JobOverview): JobPart {
  const specs = job.spec.stages ?? []
  const tallies = stages.map(({ tally }) => tally)
  const troubled = stages.flatMap((stage) => stage.troubled).filter(({ error }) => error !== null)
  const blamed = troubled.find((task) => task.state === (state === 'FAILED' ? 'FAILED' : 'DEAD'))
  return {
    input: fromJson(job.spec.input),
    output: undefined,
    error: (blamed ?? troubled[0])?.error ?? null,
    attempt: 0,
    retries: 0,
    attempts: [],
    effects: [],
    steps: [],
    queue: null,
    stages: stages.map((stage, i) => stageInfo(specs[i] as StageSpec, stage)),
    dueAt: new Date(job.dueAt),
    endedAt: isFinal(state) ? new Date(jobEndedAt(job, tallies)) : null,
  }
}

function stageInfo(
  spec: StageSpec,
  { state, segments, tally, troubled }: StageOverview,
): StageInfo {
  const { name, version, policy, after, each, tolerate, onFailure } = spec
  const { waiting, leased: running, completed, failed, dead } = tally
  return {
    name,
    state,
    version,
    queue: policy.queue,
    after,
    each,
    tolerate,
    onFailure,
    segments,
    waiting,
    running,
    completed,
    failed,
    dead,
    troubled: troubled.map(segmentInfo),
  }
}

function segmentInfo(task: Task): SegmentInfo {
  const { segment, state, attempt, error } = task
  return { segment, state, attempt, error, effects: effectsOf(task) }
}

function dateOf(ms: number | null): Date | null {
  return ms === null ? null : new Date(ms)
}

function attemptsOf({ leases }: Task): AttemptInfo[] {
  return leases.map(({ number, worker, grantedAt, endedAt, endedBy }) => ({
    number,
    worker,
    from: new Date(grantedAt),
    to: dateOf(endedAt),
    endedBy,
  }))
}

function effectsOf({ job, stage, segment, commit }: Task): EffectInfo[] {
  return (commit?.effects ?? []).map(({ promise, state, error }, i) => ({
    name: promise.name,
    key: effectKey(job, stage, segment, i),
    state,
    error,
  }))
}
