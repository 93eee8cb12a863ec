/** Granting, expiring and revoking leases in the naive model. */
import type { CommandOf } from '../../../src/kernel/index.ts'
import { isHeldBack } from './naive-derive.ts'
import type { Histories, JobHistory } from './naive-history.ts'
import { findTask, jobDeadline, readQueue } from './naive-history.ts'
import { limitsAllow } from './naive-limits.ts'
import type { Opinion } from './naive-opinion.ts'
import { accepted, known, refused, unless } from './naive-opinion.ts'
import { readTask, taskPolicy } from './naive-task.ts'

export function answerLeaseCommand(
  histories: Histories,
  command: CommandOf<'GrantLease' | 'ExpireLease' | 'RevokeLease'>,
  now: number,
): Opinion {
  const job = histories.jobs.get(command.job)
  const history = job === undefined ? undefined : findTask(job, command.stage, command.segment)
  if (job === undefined || history === undefined) return refused('UnknownJob', 'UnknownTask')
  if (command.type === 'GrantLease') return answerGrant(histories, command, now)
  const task = readTask(job, history)
  const lease = task.leases[command.lease - 1]
  const isRevoked = command.type === 'RevokeLease'
  if (lease === undefined && isRevoked && command.lease === task.leases.length) {
    return refused('LeaseNotHeld')
  }
  if (lease === undefined) return refused(isRevoked ? 'TaskChanged' : 'UnknownLease')
  if (lease.endedBy === command.type && !lease.forgotten) return known()
  return unless({
    LeaseNotHeld: lease.endedBy !== null,
    TaskChanged: isRevoked && command.lease < task.leases.length,
    LeaseNotOverdue: command.type === 'ExpireLease' && now < lease.expiresAt,
    LeaseChanged:
      command.type === 'RevokeLease' && (command.seen ?? lease.extension) !== lease.extension,
    // What may be on its way is not given up because its sender died.
    EffectUnderWay:
      command.type === 'RevokeLease' &&
      command.presence === true &&
      task.effects.some(({ state, promise }) => state === 'STARTED' && !promise.idempotent),
  })
}

function isRescue(job: JobHistory, stage: number): boolean {
  return job.spec.stages?.[stage]?.onFailure === true
}

function answerGrant(histories: Histories, command: CommandOf<'GrantLease'>, now: number): Opinion {
  const job = histories.jobs.get(command.job)
  const history = job === undefined ? undefined : findTask(job, command.stage, command.segment)
  if (job === undefined || history === undefined) return refused('UnknownJob', 'UnknownTask')
  const task = readTask(job, history)
  const given = task.leases.find(
    (lease) =>
      !lease.forgotten && lease.worker === command.worker && lease.request === command.request,
  )
  if (given !== undefined) return known(given.number)
  const { limits } = taskPolicy(job, history.stage)
  const { queue } = task
  const fresh = task.committedBy === null
  return unless(
    {
      TaskNotWaiting: task.state !== 'WAITING',
      TaskNotDue: now < task.dueAt,
      JobHeld: isHeldBack(job),
      StartByPassed: task.leases.length === 0 && now >= task.startBy,
      DeadlinePassed: fresh && !isRescue(job, history.stage) && now >= jobDeadline(job),
      QueuePaused: fresh && readQueue(histories, queue).paused,
      LimitReached: fresh && !limitsAllow(histories, queue, limits, now, task.suspended !== null),
    },
    accepted(task.leases.length + 1),
  )
}
