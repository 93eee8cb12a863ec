/**
 * Why a task is FAILED or DEAD, as its record says it. The record keeps who forced it and how its last
 * lease ended, so nothing more has to be read.
 */
import type { Task } from '../../kernel/index.ts'
import type { FailureCause } from '../store.ts'

/** Null: it is neither, or it was only stopped because its job is ending for another reason. */
export function causeOf(task: Task): FailureCause | null {
  const { state, endedAt, error, attempt, startBy, leases, interventions } = task
  if (state !== 'FAILED' && state !== 'DEAD') return null
  const last = interventions.at(-1)
  if (last?.kind === 'force' && last.to === 'FAILED' && last.at === endedAt) {
    return { why: 'forced', by: last.by, reason: last.reason }
  }
  if (attempt === 0) {
    if (error !== null) return because('terminal')
    return startBy !== null && (endedAt ?? 0) >= startBy ? because('start-by') : null
  }
  const lease = leases.at(-1)
  if (lease?.endedAt !== endedAt || lease.endedBy === 'TaskStopped') return null
  const isTerminal = lease.endedBy === 'TaskFailed' && error?.type === 'TERMINAL'
  if (isTerminal) return because('terminal')
  return lease.endedBy === 'JobCancelled' ? null : because('retries')
}

function because(why: FailureCause['why']): FailureCause {
  return { why, by: null, reason: null }
}
