/**
 * What follows when a lease ends without a result: the policies, in one place.
 *
 * Before the commit the task is tried again, or given up. After it the execution stays
 * committed; an effect that was started and not finished has an unknown outcome.
 */
import { isLost } from '../derive.ts'
import type { Aftermath, Settlement } from '../entries.ts'
import type { Commit, Effect, Task } from '../model.ts'
import { taskName } from '../model.ts'
import { retryDelayMs } from '../retry.ts'

/**
 * A lease that ended and cost nothing: due at once, and since when it was, so that a task which
 * comes back from a worker that stopped takes its old place among those that wait.
 */
export function given(task: Task): Aftermath {
  return { next: 'WAITING', dueAt: task.dueAt, retries: task.retries, settled: [] }
}

/**
 * Expiry and revocation cost a retry if work had begun, but no delay: the time is already lost. A lease
 * that was not started may have waited in a worker that died of another job, so its first loss is free.
 * From the second loss in a row each costs a retry: a job that kills its worker before the start is
 * reported must not be granted for ever.
 */
export function lost(task: Task, now: number): Aftermath {
  if (task.commit !== null) return interrupted(task, now, -1, true)
  if (task.lease?.startedAt == null && !wasLostBefore(task)) return given(task)
  return task.retries < task.budget ? { ...given(task), retries: task.retries + 1 } : givenUp(task)
}

/**
 * A process that died may have died of this very job. So from the second loss in a row its retry delay
 * applies: else one job that kills its worker would, within seconds, use up the retries of those that
 * happen to run beside it.
 */
export function lostByPresence(task: Task, now: number): Aftermath {
  const after = lost(task, now)
  return wasLostBefore(task) ? putOff(after, now + delayMs(task, task.retries + 1)) : after
}

/** What is tried again waits until then. */
export function putOff(after: Aftermath, dueAt: number): Aftermath {
  return after.next === 'WAITING' ? { ...after, dueAt } : after
}

/** The lease before the held one was lost, too. */
function wasLostBefore({ leases }: Task): boolean {
  return isLost(leases.at(-2)?.endedBy)
}

/** As many retries as it had from the start, on top of those that were used. */
export function freshBudget(task: Task): number {
  return task.retries + task.policy.retry.max
}

/** A failure that may be tried again waits for its delay, or for its own if it has one. */
export function failed(task: Task, now: number, ownMs: number | null): Aftermath {
  if (task.retries >= task.budget) return givenUp(task)
  const retries = task.retries + 1
  const dueAt = now + (ownMs ?? delayMs(task, retries))
  return { next: 'WAITING', dueAt, retries, settled: [] }
}

/** Put off: it waits as after a failure, and no retry is charged. */
export function snoozed(task: Task, now: number, ownMs: number | null): Aftermath {
  const dueAt = now + (ownMs ?? delayMs(task, task.retries + 1))
  return { next: 'WAITING', dueAt, retries: task.retries, settled: [] }
}

/** Before the given retry of a task. */
function delayMs(task: Task, retry: number): number {
  return retryDelayMs(task.policy.retry, retry, taskName(task.job, task.stage, task.segment))
}

export function failedForGood(task: Task): Aftermath {
  return { next: 'FAILED', dueAt: task.dueAt, retries: task.retries, settled: [] }
}

function givenUp(task: Task): Aftermath {
  const next = task.policy.quarantine === 'never' ? 'FAILED' : 'DEAD'
  return { next, dueAt: task.dueAt, retries: task.retries, settled: [] }
}

/**
 * After the commit: resumed at once, unless an effect must wait for a person. A lease that was
 * lost had its time to reconcile what it found unknown: that is charged, or nobody would ever be
 * told of a check that fails for ever.
 */
export function interrupted(task: Task, now: number, except = -1, leaseIsLost = false): Aftermath {
  const settled: Settlement[] = []
  task.commit?.effects.forEach((effect, index) => {
    const isOpen = effect.state === 'STARTED' || (leaseIsLost && mustBeReconciled(effect))
    if (isOpen && index !== except) settled.push(settlement(effect, index))
  })
  const held = settled.some((one) => one.to === 'HELD')
  return { next: held ? 'DEAD' : 'WAITING', dueAt: now, retries: task.retries, settled }
}

function mustBeReconciled({ state, promise }: Effect): boolean {
  return state === 'UNKNOWN' && !promise.idempotent
}

function settlement(effect: Effect, index: number): Settlement {
  const { idempotent, reconcile } = effect.promise
  if (effect.retries >= effect.budget) return { effect: index, to: 'HELD', retries: effect.retries }
  return {
    effect: index,
    to: idempotent || reconcile ? 'UNKNOWN' : 'HELD',
    retries: effect.retries + 1,
  }
}

/** Where a task stands once one more of its effects is finished, or one is let out of HELD. */
export function afterEffect(
  task: Task,
  index: number,
  finished: boolean,
): 'WAITING' | 'LEASED' | 'COMPLETED' | 'DEAD' {
  const { effects } = task.commit as Commit
  const others = effects.filter((_, other) => other !== index)
  if (finished && others.every((effect) => effect.state === 'FINISHED')) return 'COMPLETED'
  if (others.some((effect) => effect.state === 'HELD')) return 'DEAD'
  return task.state === 'LEASED' ? 'LEASED' : 'WAITING'
}
