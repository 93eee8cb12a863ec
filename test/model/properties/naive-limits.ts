/**
 * Limits in the naive model: count who holds a lease, and pour every grant that is on record
 * out of a bucket that refills with time.
 */
import type { LimitSpec, Rate } from '../../../src/kernel/index.ts'
import type { Histories } from './naive-history.ts'
import { readQueue } from './naive-history.ts'
import type { LeaseReading } from './naive-task.ts'
import { readTask, taskPolicy } from './naive-task.ts'

interface Use {
  readonly lease: LeaseReading
  readonly queue: string
  readonly limits: readonly LimitSpec[]
}

function uses(histories: Histories): Use[] {
  return [...histories.jobs.values()].flatMap((job) =>
    job.tasks.flatMap((task) => {
      const { limits } = taskPolicy(job, task.stage)
      return readTask(job, task).leases.map((lease) => ({ lease, queue: lease.queue, limits }))
    }),
  )
}

/** A bucket fills by this many drops each millisecond; a token is so many whole drops. */
const DROPS = 1_024

function bucketHasToken(grants: readonly number[], { count, perMs }: Rate, now: number): boolean {
  const token = Math.ceil((perMs * DROPS) / count)
  let level = token * count
  let time = 0
  const fillUntil = (then: number): void => {
    level = Math.min(token * count, level + (then - time) * DROPS)
    time = then
  }
  for (const at of grants.toSorted((a, b) => a - b)) {
    fillUntil(at)
    level -= token
  }
  fillUntil(now)
  return level >= token
}

/** Finishing what is committed, and going on after a wait, takes none. */
function takesToken({ lease }: Use): boolean {
  return !lease.resumes && !lease.afterWait
}

/** Whether one more lease may be given to a task of this queue with these limits. */
export function limitsAllow(
  histories: Histories,
  queue: string,
  limits: readonly LimitSpec[],
  now: number,
  goesOn: boolean,
): boolean {
  const { concurrency, rate } = readQueue(histories, queue)
  if (concurrency === null && rate === null && limits.length === 0) return true
  const all = uses(histories)
  const held = all.filter((use) => use.lease.endedBy === null)
  const inQueue = (use: Use): boolean => use.queue === queue
  if (concurrency !== null && held.filter(inQueue).length >= concurrency) return false
  if (rate !== null && !goesOn) {
    const grants = all
      .filter((use) => inQueue(use) && takesToken(use))
      .map((use) => use.lease.grantedAt)
    if (!bucketHasToken(grants, rate, now)) return false
  }
  return limits.every((limit) => {
    const sharing = (use: Use): boolean => use.limits.some((other) => other.key === limit.key)
    if (limit.concurrency !== null && held.filter(sharing).length >= limit.concurrency) return false
    if (limit.rate === null || goesOn) return true
    const grants = all
      .filter((use) => sharing(use) && takesToken(use))
      .map((use) => use.lease.grantedAt)
    return bucketHasToken(grants, limit.rate, now)
  })
}
