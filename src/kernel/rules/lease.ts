/**
 * Leases: how work is owned, kept, given back and lost.
 */
import { committed, reject } from '../answers.ts'
import { findLease } from '../apply.ts'
import type {
  ExpireLease,
  ExtendLease,
  GrantLease,
  ReleaseLease,
  RevokeLease,
} from '../commands.ts'
import type { Guard, Reads } from '../guards.ts'
import {
  CURRENT_LEASE,
  leaseKnown,
  nameOf,
  reportedLease,
  safety,
  taskKnown,
  theJob,
  theTask,
  validation,
} from '../guards.ts'
import type { LimitSpec, Rate, Task, Usage } from '../model.ts'
import { executionStatus, isHeldBack, isUnderWay, missedDeadline, missedStart } from '../derive.ts'
import { given, interrupted, lost, lostByPresence, putOff } from './aftermath.ts'
import type { Rule } from './rule.ts'
import { taskHead } from './rule.ts'
import { mayStartAt } from '../usage.ts'
import { isSuspended, timedOutAt } from '../waits.ts'

/** A committed execution is finished whatever pause and limits say: it is already decided. */
function resumes(reads: Reads): boolean {
  return theTask(reads).commit !== null
}

const taskWaiting: Guard<GrantLease> = safety(
  'task-waiting',
  'The task is WAITING: nobody owns it and it is not over.',
  (command, reads) => {
    const { state } = theTask(reads)
    return state === 'WAITING'
      ? null
      : reject('TaskNotWaiting', `Task ${nameOf(command)} is ${state}, so it cannot be granted.`, {
          state,
        })
  },
)

const taskDue: Guard<GrantLease> = safety('task-due', 'The task is due.', (command, reads, now) => {
  const { dueAt } = theTask(reads)
  return dueAt <= now
    ? null
    : reject('TaskNotDue', `Task ${nameOf(command)} is not due for another ${dueAt - now} ms.`, {
        dueAt,
      })
})

const jobReleased: Guard<GrantLease> = safety(
  'job-not-held',
  'The job is not held.',
  (command, reads) =>
    isHeldBack(theJob(reads))
      ? reject('JobHeld', `Job ${command.job} is held: release it first.`, { job: command.job })
      : null,
)

const startByNotPassed: Guard<GrantLease> = safety(
  'start-by',
  'A first attempt begins before its start-by time.',
  (command, reads, now) => {
    const { startBy } = theTask(reads)
    return !missedStart(theTask(reads), now)
      ? null
      : reject(
          'StartByPassed',
          `Task ${nameOf(command)} was to start by ${startBy}; it is too late.`,
          {
            startBy,
          },
        )
  },
)

const deadlineNotPassed: Guard<GrantLease> = safety(
  'deadline',
  'The deadline of the job has not passed, or the task is committed or on-failure.',
  (command, reads, now) => {
    const job = theJob(reads)
    return !missedDeadline(job, theTask(reads), now)
      ? null
      : reject('DeadlinePassed', `Job ${command.job} was to end by ${job.deadlineAt}.`, {
          deadlineAt: job.deadlineAt,
        })
  },
)

const queueRunning: Guard<GrantLease> = safety(
  'queue-not-paused',
  'The queue is not paused.',
  (_command, reads) =>
    reads.queue?.paused === true && !resumes(reads)
      ? reject('QueuePaused', `Queue ${reads.queue.name} is paused: resume it first.`, {
          queue: reads.queue.name,
        })
      : null,
)

const withinLimits: Guard<GrantLease> = safety(
  'within-limits',
  'Every limit of the task and its queue has room.',
  (command, reads, now) => {
    if (resumes(reads)) return null
    const { queue } = reads
    // What goes on after a wait has had its token.
    const goesOn = isSuspended(theTask(reads))
    const rateFor = ({ rate }: { readonly rate: Rate | null }): Rate | null =>
      goesOn ? null : rate
    if (queue !== null && (queue.concurrency !== null || queue.rate !== null)) {
      const own = { key: queue.name, concurrency: queue.concurrency, rate: rateFor(queue) }
      const full = limitReached(command, own, reads.queueUsage ?? undefined, now)
      if (full !== null) return full
    }
    for (const limit of reads.limits) {
      const { key, concurrency, usage } = limit
      const full = limitReached(command, { key, concurrency, rate: rateFor(limit) }, usage, now)
      if (full !== null) return full
    }
    return null
  },
)

function limitReached(
  command: GrantLease,
  limit: LimitSpec,
  usage: Usage | undefined,
  now: number,
): ReturnType<Guard<GrantLease>['check']> {
  const startAt = mayStartAt(limit, usage, now)
  return startAt <= now
    ? null
    : reject(
        'LimitReached',
        `Task ${nameOf(command)} waits for limit '${limit.key}', which is used up.`,
        {
          key: limit.key,
          held: usage?.held ?? 0,
          concurrency: limit.concurrency,
          freeAt: startAt === Infinity ? null : startAt,
        },
      )
}

/** The worker asks again with the same request number: the lease it was given then. */
function grantedBefore(command: GrantLease, reads: Reads): ReturnType<Rule<GrantLease>['repeat']> {
  const leases = reads.task?.leases ?? []
  for (let i = leases.length - 1; i >= 0; i--) {
    const lease = leases[i]
    if (lease?.worker === command.worker && lease.request === command.request) {
      return committed(null, lease.number)
    }
  }
  return null
}

export const grantLease: Rule<GrantLease> = {
  repeat: grantedBefore,
  guards: [
    taskKnown,
    taskWaiting,
    taskDue,
    jobReleased,
    startByNotPassed,
    deadlineNotPassed,
    queueRunning,
    withinLimits,
  ],
  entry: ({ job, stage, segment, worker, request, started, session = '' }, reads, now) => {
    const task = theTask(reads)
    return {
      type: 'LeaseGranted',
      at: now,
      version: task.version + 1,
      job,
      stage,
      segment,
      lease: task.attempt + 1,
      worker,
      request,
      expiresAt: now + task.policy.leaseMs,
      started,
      session,
      timedOut: task.waiting !== null && timedOutAt(task, now).length > 0,
    }
  },
  value: (_command, reads) => theTask(reads).attempt + 1,
  head: taskHead,
  locksJob: false,
}

export const extendLease: Rule<ExtendLease> = {
  repeat: (command, reads) => {
    const lease = reportedLease(command, reads)
    return lease !== null && command.extension <= lease.extension ? committed(null, null) : null
  },
  guards: CURRENT_LEASE,
  entry: ({ job, stage, segment, lease, extension }, reads, now) => {
    const task = theTask(reads)
    return {
      type: 'LeaseExtended',
      at: now,
      version: task.version + 1,
      job,
      stage,
      segment,
      lease,
      extension,
      expiresAt: now + task.policy.leaseMs,
    }
  },
  head: taskHead,
  locksJob: false,
}

export const releaseLease: Rule<ReleaseLease> = {
  repeat: (command, reads) =>
    reportedLease(command, reads)?.endedBy === 'LeaseReleased' ? committed(null, null) : null,
  guards: CURRENT_LEASE,
  entry: ({ job, stage, segment, lease }, reads, now) => {
    const task = theTask(reads)
    return {
      type: 'LeaseReleased',
      at: now,
      version: task.version + 1,
      job,
      stage,
      segment,
      lease,
      ...(task.commit === null ? given(task) : interrupted(task, now)),
    }
  },
  head: taskHead,
  locksJob: false,
}

type LeaseEnding = ExpireLease | RevokeLease

/** Unlike a report, this asks about somebody else's lease: the answer is no, not cancelled. */
const stillHeld: Guard<LeaseEnding> = safety(
  'lease-held',
  'The lease is the one that the task holds.',
  (command, reads) =>
    theTask(reads).lease?.number === command.lease
      ? null
      : reject(
          'LeaseNotHeld',
          `Lease ${command.lease} of task ${nameOf(command)} ${howItEnded(theTask(reads), command.lease)}.`,
          { lease: command.lease },
        ),
)

function howItEnded(task: Task, lease: number): string {
  const by = findLease(task, lease)?.endedBy
  if (by != null) return `is already over: ended by ${by}`
  return lease === 0
    ? 'was never granted: no worker has had the task'
    : 'is already over: it is no longer remembered'
}

const overdue: Guard<ExpireLease> = safety(
  'lease-overdue',
  'The time of the lease is over.',
  (command, reads, now) => {
    const expiresAt = theTask(reads).lease?.expiresAt ?? 0
    return now >= expiresAt
      ? null
      : reject(
          'LeaseNotOverdue',
          `Lease ${command.lease} of task ${nameOf(command)} has ${expiresAt - now} ms left.`,
          { expiresAt },
        )
  },
)

export const expireLease: Rule<ExpireLease> = {
  repeat: (command, reads) => endedBefore(command, reads, 'LeaseExpired'),
  guards: [taskKnown, leaseKnown, stillHeld, overdue],
  entry: ({ job, stage, segment, lease }, reads, now) => {
    const task = theTask(reads)
    return {
      type: 'LeaseExpired',
      at: now,
      version: task.version + 1,
      job,
      stage,
      segment,
      lease,
      diagnostic: diagnose(task, now),
      ...lost(task, now),
    }
  },
  head: taskHead,
  locksJob: false,
}

/** It could not be held; this says what to do. */
const attemptSeen: Guard<RevokeLease> = validation(
  'attempt-seen',
  'The task is still at the attempt whose lease was seen.',
  (command, reads) => {
    const { attempt } = theTask(reads)
    return command.lease === attempt
      ? null
      : reject(
          'TaskChanged',
          `Task ${nameOf(command)} is at attempt ${attempt}, not ${command.lease}: look again first.`,
          { attempt },
        )
  },
)

/** Its worker has spoken since: who was taken for dead is alive. */
const notExtendedSince: Guard<RevokeLease> = safety(
  'extension-seen',
  'The lease was not extended since the extension that was seen.',
  (command, reads) => {
    const seen = command.seen ?? null
    const extension = theTask(reads).lease?.extension
    return seen === null || extension === seen
      ? null
      : reject(
          'LeaseChanged',
          `Lease ${command.lease} of task ${nameOf(command)} is at extension ${extension}, not ${seen}: its worker is alive, or look again.`,
          { extension },
        )
  },
)

/** The request of a process that died may still be on its way: only time tells that it arrived nowhere. */
const noEffectUnderWay: Guard<RevokeLease> = safety(
  'effect-left-to-time',
  'Presence takes no lease whose effect was started and is not idempotent.',
  (command, reads) => {
    if (command.presence !== true) return null
    const effects = theTask(reads).commit?.effects ?? []
    const index = effects.findIndex(isUnderWay)
    return index < 0
      ? null
      : reject(
          'EffectUnderWay',
          `Effect ${index} of task ${nameOf(command)} was started and is not idempotent: its lease is left to time.`,
          { effect: index },
        )
  },
)

export const revokeLease: Rule<RevokeLease> = {
  repeat: (command, reads) => endedBefore(command, reads, 'LeaseRevoked'),
  guards: [taskKnown, attemptSeen, stillHeld, notExtendedSince, noEffectUnderWay],
  entry: (
    { job, stage, segment, lease, seen = null, presence = false, delayMs = null, by, reason },
    reads,
    now,
  ) => {
    const task = theTask(reads)
    const after = presence ? lostByPresence(task, now) : lost(task, now)
    return {
      type: 'LeaseRevoked',
      at: now,
      version: task.version + 1,
      job,
      stage,
      segment,
      lease,
      extension: seen,
      presence,
      by,
      reason,
      ...(delayMs === null ? after : putOff(after, now + delayMs)),
    }
  },
  head: taskHead,
  locksJob: false,
}

function endedBefore(
  command: LeaseEnding,
  reads: Reads,
  by: 'LeaseExpired' | 'LeaseRevoked',
): ReturnType<Rule<LeaseEnding>['repeat']> {
  if (reads.task === null) return null
  return findLease(reads.task, command.lease)?.endedBy === by ? committed(null, null) : null
}

function diagnose(task: Task, now: number): string {
  const lease = task.lease
  if (lease === null) return ''
  const phase = executionStatus(task, lease)
  return `worker ${lease.worker} fell silent while ${phase}: lease ${lease.number} ran out ${now - lease.expiresAt} ms ago`
}
