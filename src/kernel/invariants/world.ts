/**
 * What must hold between jobs: keys, queues and limits. And everything, together.
 */
import { jobState } from '../derive.ts'
import { keepsKey } from '../keys.ts'
import type { Job, Lease, Task } from '../model.ts'
import type { Indexes } from '../reads.ts'
import { isFinal } from '../transitions.ts'
import type { World } from '../world.ts'
import { countTallies, tasksOf } from '../world.ts'
import type { Violation } from './invariant.ts'
import { Findings } from './invariant.ts'
import { jobViolations } from './job.ts'

/** Everything that is wrong with a world at a time; empty when all is well. */
export function worldViolations(world: World, indexes: Indexes, now: number): Violation[] {
  const violations = [...world.jobs.values()].flatMap((job) =>
    jobViolations(world, job, indexes.tallies(job), now),
  )
  return [...violations, ...sharedViolations(world)]
}

export function sharedViolations(world: World): Violation[] {
  const found = new Findings(() => 'world')
  checkKeys(world, found)
  const leased: Leased[] = []
  for (const job of world.jobs.values()) {
    for (const task of tasksOf(world, job)) if (isLeased(task)) leased.push(task)
  }
  checkQueues(world, leased, found)
  checkLimits(leased, found)
  return found.violations
}

function checkKeys(world: World, found: Findings): void {
  const holders = new Map<string, string>()
  for (const job of world.jobs.values()) {
    const { id, spec } = job
    if (spec.key === null || !keepsKey(job, isOver(world, job))) continue
    const key = JSON.stringify([spec.type, spec.key])
    found.expect(
      !holders.has(key),
      11,
      () => `key '${spec.key}' belongs to ${holders.get(key)} and ${id}`,
    )
    holders.set(key, id)
  }
}

/** Time makes no job final, so none is needed to tell. */
function isOver(world: World, job: Job): boolean {
  return isFinal(jobState(job, countTallies(world, job), 0))
}

type Leased = Task & { lease: Lease }

function isLeased(task: Task): task is Leased {
  return task.lease !== null
}

/** A lease that finishes what was committed is granted whatever pause and limits say. */
function resumed(task: Leased): boolean {
  return task.commit !== null && task.lease.number > task.commit.lease
}

function checkQueues(world: World, leased: readonly Leased[], found: Findings): void {
  for (const queue of world.queues.values()) {
    if (!queue.paused) continue
    for (const task of leased) {
      if (task.policy.queue !== queue.name || resumed(task)) continue
      found.expect(
        task.lease.grantedAt <= queue.pausedAt,
        9,
        `${task.job} was granted while queue ${queue.name} was paused`,
      )
    }
  }
}

function checkLimits(leased: readonly Leased[], found: Findings): void {
  const held = new Map<string, number>()
  const widest = new Map<string, number>()
  for (const task of leased) {
    if (resumed(task)) continue
    for (const limit of task.policy.limits) {
      held.set(limit.key, (held.get(limit.key) ?? 0) + 1)
      // Tasks of one key may declare different bounds: the widest one must hold in any case.
      const bound = limit.concurrency ?? Infinity
      widest.set(limit.key, Math.max(widest.get(limit.key) ?? 0, bound))
    }
  }
  for (const [key, count] of held) {
    const most = widest.get(key) as number
    found.expect(count <= most, 9, () => `${count} hold limit '${key}' of ${most}`)
  }
}
