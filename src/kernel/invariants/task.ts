/**
 * What must hold of a task's own records, whatever else is going on.
 */
import { LIMITS } from '../limits.ts'
import type { Commit, Effect, Lease, LeaseEnd, Task } from '../model.ts'
import { taskName } from '../model.ts'
import type { Violation } from './invariant.ts'
import { Findings } from './invariant.ts'
import { checkWaiting } from './waits.ts'

/** Ended by the holder's own report, so before the time was over. */
const BY_REPORT: ReadonlySet<LeaseEnd | null> = new Set<LeaseEnd>([
  'ExecutionCommitted',
  'ExecutionSuspended',
  'ExecutionContinued',
  'TaskFailed',
  'LeaseReleased',
  'EffectFailed',
])

export function taskViolations(task: Task): Violation[] {
  const found = new Findings(() => taskName(task.job, task.stage, task.segment))
  checkLeases(task, found)
  checkState(task, found)
  checkBudget(task, found)
  checkSteps(task, found)
  if (task.streams.length > 0) checkStreams(task, found)
  if (task.waiting !== null) checkWaiting(task, task.waiting, found)
  if (task.commit !== null) checkCommit(task, task.commit, found)
  return found.violations
}

function checkLeases(task: Task, found: Findings): void {
  const { leases, lease } = task
  const open = leases.filter((one) => one.endedBy === null)
  found.expect(open.length <= 1, 1, () => `${open.length} leases are not over`)
  found.expect(
    (leases.at(-1)?.number ?? 0) === task.attempt,
    5,
    'the newest lease is not the newest attempt',
  )
  leases.forEach((one, i) => {
    const previous = leases[i - 1]
    found.expect(
      previous === undefined || one.number === previous.number + 1,
      5,
      'lease numbers have a gap',
    )
    found.expect(
      previous === undefined || previous.endedAt === null || previous.endedAt <= one.grantedAt,
      1,
      () => `lease ${one.number} was granted while lease ${previous?.number} was held`,
    )
    checkLeaseTimes(task, one, found)
  })
  found.expect(lease === null || lease === leases.at(-1), 1, 'the held lease is not the newest')
  found.expect(lease === null || lease.endedBy === null, 1, 'the held lease is over')
  found.expect(
    (lease !== null) === (task.state === 'LEASED'),
    2,
    () => `${task.state} with ${lease === null ? 'no' : 'a'} lease`,
  )
  found.expect(lease !== null || open.length === 0, 2, 'a lease that nobody holds is not over')
}

function checkLeaseTimes(task: Task, lease: Lease, found: Findings): void {
  const { grantedAt, startedAt, endedAt, expiresAt, endedBy } = lease
  found.expect(
    startedAt === null || startedAt < expiresAt,
    9,
    () => `lease ${lease.number} was started after its time`,
  )
  found.expect(
    startedAt === null || startedAt >= grantedAt,
    5,
    () => `lease ${lease.number} was started before it was granted`,
  )
  found.expect(
    endedBy !== 'LeaseExpired' || (endedAt ?? 0) >= expiresAt,
    9,
    () => `lease ${lease.number} expired before its time was over`,
  )
  found.expect(
    !BY_REPORT.has(endedBy) || (endedAt ?? 0) < expiresAt,
    9,
    () => `lease ${lease.number} was ended by ${endedBy} after its time was over`,
  )
  found.expect(
    lease.number > 1 || task.startBy === null || grantedAt < task.startBy,
    9,
    () => `lease ${lease.number} was granted after the start-by time`,
  )
}

function checkState(task: Task, found: Findings): void {
  const over = task.state === 'COMPLETED' || task.state === 'FAILED' || task.state === 'DEAD'
  found.expect(
    over === (task.endedAt !== null),
    6,
    () => `${task.state}, but endedAt is ${task.endedAt}`,
  )
  found.expect(task.state !== 'COMPLETED' || task.output !== null, 3, 'COMPLETED without an output')
}

function checkBudget(task: Task, found: Findings): void {
  found.expect(
    task.retries >= 0 && task.retries <= task.budget,
    5,
    () => `retries ${task.retries} of ${task.budget}`,
  )
  found.expect(
    task.snoozes >= 0 && task.snoozes <= LIMITS.snoozes,
    5,
    () => `${task.snoozes} snoozes`,
  )
  found.expect(
    task.retries <= task.attempt,
    5,
    () => `${task.retries} retries after ${task.attempt} attempts`,
  )
}

function checkSteps(task: Task, found: Findings): void {
  if (task.steps.length === 0) return
  const names = new Set(task.steps.map((step) => step.name))
  found.expect(names.size === task.steps.length, 3, 'a step is recorded twice')
  const last = task.commit?.lease ?? task.attempt
  found.expect(
    task.steps.every((step) => step.lease <= last),
    3,
    'a step was recorded after the commit',
  )
}

function checkStreams({ streams, attempt }: Task, found: Findings): void {
  const names = new Set(streams.map(({ name }) => name))
  found.expect(names.size === streams.length, 13, 'a stream is recorded twice')
  found.expect(streams.length <= LIMITS.streams, 13, () => `${streams.length} streams`)
  for (const { name, next, lease, since } of streams) {
    const isSound = since < next && next <= LIMITS.streamLength && lease >= 1 && lease <= attempt
    found.expect(isSound, 13, () => `stream '${name}' has no such offset, or no such lease`)
  }
}

function checkCommit(task: Task, commit: Commit, found: Findings): void {
  found.expect(task.state !== 'FAILED', 3, 'FAILED although it is committed')
  const lease = task.leases.find((one) => one.number === commit.lease)
  if (lease !== undefined) {
    found.expect(lease.startedAt !== null, 6, 'committed without being started')
    found.expect(commit.at < lease.expiresAt, 9, 'committed after the time of the lease')
    found.expect(
      lease.endedAt === null || commit.at <= lease.endedAt,
      1,
      'committed after the lease was over',
    )
  }
  commit.effects.forEach((effect, i) => checkEffect(task, effect, i, found))
  const finished = commit.effects.every((effect) => effect.state === 'FINISHED')
  found.expect(
    (task.state === 'COMPLETED') === finished,
    3,
    () => `${task.state} with effects ${finished ? 'all' : 'not all'} finished`,
  )
  const held = commit.effects.some((effect) => effect.state === 'HELD')
  found.expect(
    (task.state === 'DEAD') === held,
    7,
    () => `${task.state} with ${held ? 'a' : 'no'} held effect`,
  )
}

function checkEffect(task: Task, effect: Effect, index: number, found: Findings): void {
  found.expect(
    effect.retries <= effect.budget,
    5,
    () => `effect ${index} has retries ${effect.retries} of ${effect.budget}`,
  )
  found.expect(
    effect.state !== 'STARTED' || effect.starts.at(-1) === task.lease?.number,
    3,
    () => `effect ${index} is STARTED, but not under the held lease`,
  )
  found.expect(
    effect.state === 'PROMISED' || effect.starts.length > 0,
    3,
    () => `effect ${index} is ${effect.state} and was never started`,
  )
  found.expect(
    new Set(effect.starts).size === effect.starts.length,
    3,
    () => `effect ${index} was started twice under one lease`,
  )
}
