/**
 * Copies of records that can be changed without touching the original.
 *
 * `apply` works in place; whoever needs the state before and after (a preview, the explorer)
 * copies first. What never changes (specs, promises, past steps) is shared.
 */
import type { Commit, Job, Lease, Task, Waiting } from './model.ts'

export function copyJob(job: Job): Job {
  return {
    id: job.id,
    // By name: a store may keep it elsewhere until it is asked for.
    spec: job.spec,
    version: job.version,
    time: job.time,
    submittedAt: job.submittedAt,
    dueAt: job.dueAt,
    deadlineAt: job.deadlineAt,
    held: job.held,
    cancelled: job.cancelled,
    erased: job.erased,
    opened: job.opened === null ? null : [...job.opened],
    task: job.task === null ? null : copyTask(job.task),
    messages: [...job.messages],
    // Its input may be kept elsewhere, too.
    replaced: job.replaced === null ? null : { ...job.replaced },
    firstPosition: job.firstPosition,
    lastPosition: job.lastPosition,
  }
}

export function copyTask(task: Task): Task {
  const leases = task.leases.map((lease): Lease => ({ ...lease }))
  return {
    ...task,
    leases,
    // The held lease is always the newest.
    lease: task.lease === null ? null : (leases.at(-1) as Lease),
    steps: [...task.steps],
    commit: task.commit === null ? null : copyCommit(task.commit),
    interventions: [...task.interventions],
    waiting: task.waiting === null ? null : copyWaiting(task.waiting),
    streams: task.streams.length === 0 ? task.streams : task.streams.map((one) => ({ ...one })),
  }
}

function copyWaiting(waiting: Waiting): Waiting {
  return {
    ...waiting,
    waits: waiting.waits.map((wait) => ({ ...wait })),
    messages: waiting.messages.map((message) => ({ ...message })),
  }
}

function copyCommit(commit: Commit): Commit {
  return {
    ...commit,
    effects: commit.effects.map((effect) => ({
      ...effect,
      starts: [...effect.starts],
      resolutions: [...effect.resolutions],
    })),
  }
}
