/**
 * What the indexes know of a task BEFORE an entry changes it, to be compared with what is after.
 */
import type { Job, Lease, Task } from '../../kernel/index.ts'
import { isHeldBack, NEVER_DUE } from '../../kernel/index.ts'

/** One object for all entries: they come one after the other, and there are many. */
export class TaskSnapshot {
  listed = false
  state: Task['state'] = 'WAITING'
  attempt = 0
  dueAt = 0
  waitingSince = 0
  lease: Lease | null = null
  expiresAt = 0

  note(job: Job, task: Task): this {
    this.listed = isListed(job, task)
    this.state = task.state
    this.attempt = task.attempt
    this.dueAt = task.dueAt
    this.waitingSince = waitingSince(task)
    this.lease = task.lease
    this.expiresAt = task.lease === null ? 0 : task.lease.expiresAt
    return this
  }
}

/** The ready-index holds it: nothing but time, pause and limits keeps it from being granted. */
export function isListed(job: Job, task: Task): boolean {
  return task.state === 'WAITING' && task.dueAt !== NEVER_DUE && !isHeldBack(job)
}

/**
 * Of a task that waits: since when it could have been granted. What comes back keeps its due time,
 * which may be long before; until its last entry it was held back, or a worker had it.
 */
export function waitingSince({ dueAt, time }: Task): number {
  return Math.max(dueAt, time)
}

export function isNeverTaken(task: Task): boolean {
  return task.state === 'WAITING' && task.attempt === 0
}
