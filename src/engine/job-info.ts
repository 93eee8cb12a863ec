/**
 * A job as a client sees it: what was asked for, where it stands, and what came of it.
 */
import { fromJson } from '../definition/index.ts'
import type { Failure, JobState, Task } from '../kernel/index.ts'
import { effectKey } from '../kernel/index.ts'
import type { JobView } from '../store/index.ts'

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
  readonly queue: string
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
  /** The schedule that made it, and the time that it stands for. */
  readonly schedule: { readonly id: string; readonly time: Date } | null
  /** What its handler said last, if it runs in this process now. Not durable. */
  readonly progress: unknown
  /** The newest lines that its handler wrote. Not durable. */
  readonly lines: readonly string[]
}

export function jobInfo(
  { job, state, stages }: JobView,
  progress: string | null,
  lines: readonly string[],
): JobInfo {
  const { spec } = job
  const task = stages[0]?.tasks[0] as Task
  const { cancelled } = job
  return {
    id: job.id,
    type: spec.type,
    version: spec.version,
    state,
    input: fromJson(task.input ?? spec.input),
    output: task.output === null ? undefined : fromJson(task.output),
    error: task.error,
    attempt: task.attempt,
    retries: task.retries,
    attempts: attemptsOf(task),
    effects: effectsOf(task),
    steps: task.steps.map(({ name }) => name),
    queue: task.policy.queue,
    priority: spec.priority,
    key: spec.key,
    group: spec.group,
    tags: spec.tags,
    submittedAt: new Date(job.submittedAt),
    dueAt: new Date(task.dueAt),
    endedAt: dateOf(task.endedAt),
    cancelled: cancelled === null ? null : { ...cancelled, at: new Date(cancelled.at) },
    parent: spec.parent?.job ?? null,
    rerunOf: spec.rerunOf,
    schedule:
      spec.schedule === null ? null : { id: spec.schedule.id, time: new Date(spec.schedule.tick) },
    progress: progress === null ? undefined : fromJson(progress),
    lines,
  }
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
