/**
 * Limits in the naive model: count who holds a lease, and pour every grant that is on record
 * out of a bucket that refills with time.
 */
import type { LimitSpec, Rate } from '../../src/kernel/index.ts'
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
      const { queue, limits } = taskPolicy(job, task.stage)
      return readTask(job, task).leases.map((lease) => ({ lease, queue, limits }))
    }),
  )
}

/** One token is `perMs / count` of the bucket, and the bucket fills by one each millisecond. */
function bucketHasToken(grants: readonly { at: number; rate: Rate }[], rate: Rate, now: number) {
  let level = rate.perMs
  let time = 0
  for (const grant of grants.toSorted((a, b) => a.at - b.at)) {
    level = Math.min(rate.perMs, level + grant.at - time) - grant.rate.perMs / grant.rate.count
    time = grant.at
  }
  return Math.min(rate.perMs, level + now - time) >= rate.perMs / rate.count
}

/** Whether one more lease may be given to a task of this queue with these limits. */
export function limitsAllow(
  histories: Histories,
  queue: string,
  limits: readonly LimitSpec[],
  now: number,
): boolean {
  const { concurrency, rate } = readQueue(histories, queue)
  if (concurrency === null && rate === null && limits.length === 0) return true
  const all = uses(histories)
  const held = all.filter((use) => use.lease.endedBy === null)
  const inQueue = (use: Use): boolean => use.queue === queue
  if (concurrency !== null && held.filter(inQueue).length >= concurrency) return false
  if (rate !== null) {
    const grants = all
      .filter((use) => inQueue(use) && !use.lease.resumes)
      .map((use) => ({ at: use.lease.grantedAt, rate }))
    if (!bucketHasToken(grants, rate, now)) return false
  }
  return limits.every((limit) => {
    const sharing = (use: Use): boolean => use.limits.some((other) => other.key === limit.key)
    if (limit.concurrency !== null && held.filter(sharing).length >= limit.concurrency) return false
    if (limit.rate === null) return true
    const grants = all
      .filter((use) => sharing(use) && !use.lease.resumes)
      .map((use) => ({ at: use.lease.grantedAt, rate: limit.rate as Rate }))
    return bucketHasToken(grants, limit.rate, now)
  })
}
