/**
 * What was tried, as the records of the tasks have it: the newest attempts of a job, and what follows from
 * all of them (when work began, when something happened last, how often it was tried).
 *
 * A record keeps no error but the newest: who asks for those of earlier attempts reads the history.
 */
import type { Failure, Job, Lease, StageTasks, Task } from '../../kernel/index.ts'
import { executionStatus } from '../../kernel/index.ts'
import type { Execution } from '../store.ts'

/** What a job did so far. */
export interface Activity {
  /** Those that run and, if there is room, the newest that ended, oldest first: at most `MOST_EXECUTIONS`. */
  readonly executions: readonly Execution[]
  /** How many attempts there were at all of its tasks. */
  readonly executionCount: number
  /** When the first attempt that is remembered began to run; null: none did. */
  readonly startedAt: number | null
  readonly updatedAt: number
  /** The highest attempt of a task. */
  readonly attempt: number
  /** Retries that were used, of all tasks. */
  readonly retries: number
  /** The names of the effects that its commits promised. */
  readonly effects: readonly string[]
}

export const MOST_EXECUTIONS = 20

export function activityOf(job: Job, stages: StageTasks | null): Activity {
  const running = new NewestLeases()
  const ended = new NewestLeases()
  let startedAt = Infinity
  let updatedAt = job.time
  let attempt = 0
  let executionCount = 0
  let retries = 0
  const effects = new Set<string>()
  const add = (task: Task): void => {
    updatedAt = Math.max(updatedAt, task.time)
    attempt = Math.max(attempt, task.attempt)
    executionCount += task.attempt
    retries += task.retries
    for (const { promise } of task.commit?.effects ?? []) effects.add(promise.name)
    for (const lease of task.leases) {
      if (lease.startedAt !== null && lease.startedAt < startedAt) startedAt = lease.startedAt
      if (lease.endedAt === null) running.add(task, lease)
      else ended.add(task, lease)
    }
  }
  if (job.task !== null) add(job.task)
  else for (const tasks of stages ?? []) for (const task of tasks ?? []) add(task)
  // What runs comes BEFORE what ended: of many segments, those that ended lately may be more than are shown.
  const runs = running.newest(MOST_EXECUTIONS)
  const shown = [...ended.newest(MOST_EXECUTIONS - runs.length), ...runs].toSorted(isGrantedAfter)
  return {
    executions: shown.map(({ task, lease }) => executionOf(task, lease)),
    executionCount,
    startedAt: startedAt === Infinity ? null : startedAt,
    updatedAt,
    attempt,
    retries,
    effects: [...effects],
  }
}

/** All attempts of a task that its record remembers, oldest first. */
export function executionsOf(task: Task): Execution[] {
  return task.leases.map((lease) => executionOf(task, lease))
}

/** The last ones by the time they were granted, of tasks that come in any order. */
class NewestLeases {
  #kept: { task: Task; lease: Lease }[] = []
  /** Of the oldest that is kept once there are enough: what is older is not kept. */
  #floor = -Infinity

  add(task: Task, lease: Lease): void {
    if (lease.grantedAt < this.#floor) return
    this.#kept.push({ task, lease })
    if (this.#kept.length > 4 * MOST_EXECUTIONS) this.#cut(MOST_EXECUTIONS)
  }

  /** Oldest first. */
  newest(most: number): readonly { readonly task: Task; readonly lease: Lease }[] {
    this.#cut(most)
    return this.#kept
  }

  #cut(most: number): void {
    // A stable sort: within a millisecond the order of the tasks stays.
    const sorted = this.#kept.toSorted(isGrantedAfter)
    this.#kept = sorted.slice(Math.max(0, sorted.length - most))
    this.#floor = this.#kept[0]?.lease.grantedAt ?? -Infinity
  }
}

function isGrantedAfter(a: { readonly lease: Lease }, b: { readonly lease: Lease }): number {
  return a.lease.grantedAt - b.lease.grantedAt
}

export function executionOf(task: Task, lease: Lease): Execution {
  const { number, worker, grantedAt, expiresAt, startedAt, endedAt, endedBy } = lease
  return {
    stage: task.stage,
    segment: task.segment,
    attempt: number,
    status: executionStatus(task, lease),
    worker,
    grantedAt,
    expiresAt,
    startedAt,
    endedAt,
    endedBy,
    error: errorOf(task, lease),
  }
}

/** The newest failure of a task, and of each of its effects, is in the record: it belongs to one lease. */
function errorOf({ leases, error, commit }: Task, lease: Lease): Failure | null {
  const { endedBy, endedByEffect } = lease
  if (endedBy === 'TaskFailed') {
    return leases.findLast((one) => one.endedBy === 'TaskFailed') === lease ? error : null
  }
  if (endedBy !== 'EffectFailed' || endedByEffect === null) return null
  const newest = leases.findLast((one) => one.endedByEffect === endedByEffect)
  return newest === lease ? (commit?.effects[endedByEffect]?.error ?? null) : null
}
