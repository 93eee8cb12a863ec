/**
 * New records: what a job, a task, a queue or a schedule is before anything happened to it. Fields stand in
 * one order, so that all records are of one shape to the virtual machine.
 */
import type { JobSubmitted } from './entries.ts'
import type { Job, JobSpec, KeptStep, Queue, Schedule, Step, Task } from './model.ts'
import { deadlineOf, NOT_OPENED, policyOf } from './model.ts'

/** Most tasks never need most of their lists, so the empty one is shared. */
export const NONE = Object.freeze([]) as unknown as never[]

export function createJob(entry: JobSubmitted): Job {
  const { spec } = entry
  const job: Job = {
    id: entry.job,
    spec,
    version: entry.version,
    time: entry.at,
    submittedAt: entry.at,
    dueAt: entry.dueAt,
    deadlineAt: deadlineOf(spec, entry.at),
    held: spec.held,
    cancelled: null,
    erased: null,
    opened: spec.stages === null ? null : spec.stages.map(() => NOT_OPENED),
    task: null,
    messages: NONE,
    replaced: null,
    firstPosition: 0,
    lastPosition: 0,
  }
  if (spec.policy !== null) job.task = createTask(job, spec, 0, 0, entry.at, entry.version)
  return job
}

export function createTask(
  job: Job,
  spec: JobSpec,
  stage: number,
  segment: number,
  at: number,
  version: number,
): Task {
  const policy = policyOf(spec, stage)
  const own = spec.stages?.[stage]
  const opensWithJob = own === undefined || (own.after.length === 0 && !own.onFailure)
  const dueAt = Math.max(job.dueAt, at)
  return {
    job: job.id,
    stage,
    segment,
    policy,
    priority: spec.priority,
    version,
    time: at,
    state: 'WAITING',
    dueAt,
    startBy: opensWithJob ? startByOf(spec, dueAt) : null,
    attempt: 0,
    retries: 0,
    budget: policy.retry.max,
    snoozes: 0,
    lease: null,
    leases: NONE,
    steps: spec.steps.length === 0 ? NONE : spec.steps.map(keptStep),
    commit: null,
    output: null,
    error: null,
    input: null,
    interventions: NONE,
    endedAt: null,
    definitionVersion: 0,
    waiting: null,
    streams: NONE,
  }
}

/** As if it had been recorded before the first lease. */
export function keptStep({ name, value }: KeptStep): Step {
  return { name, value, lease: 0 }
}

export function createQueue(name: string): Queue {
  return {
    name,
    version: 0,
    time: 0,
    paused: false,
    pausedAt: 0,
    pausedBy: null,
    pauseReason: null,
    concurrency: null,
    rate: null,
    ageingMs: null,
  }
}

export function createSchedule(id: string): Schedule {
  return { id, version: 0, time: 0, definition: null, firedTick: null }
}

export function startByOf({ startWithinMs }: JobSpec, dueAt: number): number | null {
  return startWithinMs === null ? null : dueAt + startWithinMs
}
