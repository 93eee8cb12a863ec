/**
 * What a person may do to a task, and what stops one that nobody needs any more.
 *
 * An operator names the attempt that was seen, so that a decision about an old state never
 * hits a new one, and asking twice changes nothing.
 */
import type { Rejection } from '../answers.ts'
import { committed, reject } from '../answers.ts'
import type { ForceTask, RescheduleTask, RetryTask, StopTask, TaskAddress } from '../commands.ts'
import { isEnding, missedStart, stageIsDone } from '../derive.ts'
import type { Guard, Reads } from '../guards.ts'
import { beforeCommit, nameOf, safety, taskKnown, theJob, theTask, validation } from '../guards.ts'
import type { Payload, Task, TaskState } from '../model.ts'
import { stagesOf } from '../model.ts'
import { isSuspended } from '../waits.ts'
import { freshBudget } from './aftermath.ts'
import type { Rule } from './rule.ts'
import { taskHead } from './rule.ts'

type OperatorCommand = RetryTask | ForceTask | RescheduleTask

const sameAttempt: Guard<OperatorCommand> = safety(
  'attempt-seen',
  'The task is still at the attempt that the operator saw.',
  (command, reads) => {
    const { attempt } = theTask(reads)
    return command.attempt === attempt
      ? null
      : reject(
          'TaskChanged',
          `Task ${nameOf(command)} is at attempt ${attempt}, not ${command.attempt}: look again first.`,
          { attempt },
        )
  },
)

const notEnding: Guard<OperatorCommand> = safety(
  'job-not-ending',
  'The job is not ending.',
  (command, reads) =>
    isEnding(theJob(reads), reads.tallies)
      ? reject('JobEnding', `Job ${command.job} is ending: run it again as a new job instead.`)
      : null,
)

const stageNotDone: Guard<OperatorCommand> = safety(
  'stage-not-done',
  'The stage is not DONE: later stages have not built on it.',
  (command, reads) =>
    stageIsDone(theJob(reads), reads.tallies, command.stage)
      ? reject(
          'StageDone',
          `The stage of task ${nameOf(command)} is done without it; nothing waits for it.`,
        )
      : null,
)

const taskDead: Guard<RetryTask> = safety('task-dead', 'The task is DEAD.', (command, reads) => {
  const { state } = theTask(reads)
  return state === 'DEAD'
    ? null
    : reject(
        'TaskNotDead',
        `Task ${nameOf(command)} is ${state}: only a DEAD task is retried by hand.`,
        {
          state,
        },
      )
})

const taskNotFinal: Guard<ForceTask> = safety(
  'task-not-final',
  'The task is neither COMPLETED nor FAILED.',
  (command, reads) => {
    const { state } = theTask(reads)
    return state !== 'COMPLETED' && state !== 'FAILED'
      ? null
      : reject('TaskFinal', `Task ${nameOf(command)} is ${state}, which is final.`, { state })
  },
)

/** A grant would be refused, so nothing would come of it. */
const canStillStart: Guard<ForceTask | RescheduleTask> = validation(
  'start-by',
  'A task that nobody took is forced to WAITING, or rescheduled, only before its start-by time.',
  (command, reads, now) => {
    const { startBy } = theTask(reads)
    return ('to' in command && command.to !== 'WAITING') || !missedStart(theTask(reads), now)
      ? null
      : reject(
          'StartByPassed',
          `Task ${nameOf(command)} was to start by ${startBy}: submit it again instead.`,
          { startBy },
        )
  },
)

function suspendedRejection(command: OperatorCommand): Rejection {
  return reject(
    'TaskSuspended',
    `Task ${nameOf(command)} waits, and goes on when its wait ends: send the message, cancel the job, or force the task to COMPLETED or FAILED.`,
  )
}

/** Made due by hand, it would run into the wait that it is in. */
const notForcedOutOfWait: Guard<ForceTask> = safety(
  'not-suspended',
  'A task that waits in a suspension is not forced to WAITING.',
  (command, reads) =>
    command.to === 'WAITING' && isSuspended(theTask(reads)) ? suspendedRejection(command) : null,
)

/** It is not DEAD either; this says what to do. */
const notRetriedInWait: Guard<RetryTask> = validation(
  'not-suspended',
  'The task does not wait in a suspension.',
  (command, reads) => (isSuspended(theTask(reads)) ? suspendedRejection(command) : null),
)

function intervenedBefore(
  reads: Reads,
  kind: 'retry' | 'force',
  attempt: number,
  to: TaskState,
  payload: Payload | null,
): ReturnType<Rule<RetryTask>['repeat']> {
  const known = reads.task?.interventions.some(
    (one) =>
      one.kind === kind && one.attempt === attempt && one.to === to && one.payload === payload,
  )
  return known === true ? committed(null, null) : null
}

/** Only what is forced to COMPLETED has an output; JSON's null if none is given. */
function forcedOutput({ to, output }: Pick<ForceTask, 'to' | 'output'>): Payload | null {
  return to === 'COMPLETED' ? (output ?? 'null') : null
}

export const retryTask: Rule<RetryTask> = {
  repeat: (command, reads) =>
    intervenedBefore(reads, 'retry', command.attempt, 'WAITING', command.input),
  guards: [
    taskKnown,
    sameAttempt,
    notRetriedInWait,
    taskDead,
    beforeCommit,
    notEnding,
    stageNotDone,
  ],
  entry: ({ job, stage, segment, attempt, input, by, reason }, reads, now) => {
    const task = theTask(reads)
    return {
      type: 'TaskRetried',
      at: now,
      version: task.version + 1,
      job,
      stage,
      segment,
      attempt,
      budget: freshBudget(task),
      input,
      by,
      reason,
    }
  },
  head: taskHead,
  locksJob: true,
}

export const forceTask: Rule<ForceTask> = {
  repeat: (command, reads) =>
    intervenedBefore(reads, 'force', command.attempt, command.to, forcedOutput(command)),
  guards: [
    taskKnown,
    sameAttempt,
    taskNotFinal,
    beforeCommit,
    notEnding,
    stageNotDone,
    canStillStart,
    notForcedOutOfWait,
  ],
  entry: ({ job, stage, segment, attempt, to, output, by, reason }, reads, now) => {
    const task = theTask(reads)
    return {
      type: 'TaskForced',
      at: now,
      version: task.version + 1,
      job,
      stage,
      segment,
      attempt,
      to,
      budget: freshBudget(task),
      output: forcedOutput({ to, output }),
      by,
      reason,
    }
  },
  head: taskHead,
  locksJob: true,
}

const taskWaits: Guard<RescheduleTask> = safety(
  'task-waiting',
  'The task is WAITING: nobody has it.',
  (command, reads) => {
    const { state } = theTask(reads)
    return state === 'WAITING'
      ? null
      : reject(
          'TaskNotWaiting',
          `Task ${nameOf(command)} is ${state}: only what waits can be rescheduled.`,
          { state },
        )
  },
)

const notRescheduledInWait: Guard<RescheduleTask> = safety(
  'not-suspended',
  'The task does not wait in a suspension.',
  (command, reads) => (isSuspended(theTask(reads)) ? suspendedRejection(command) : null),
)

/** It is as it was asked to be. What waits in a suspension is so since then, and by no reschedule. */
function isScheduledAs(command: RescheduleTask, task: Task): boolean {
  const { attempt, dueAt, priority, toQueue: queue } = command
  return (
    task.state === 'WAITING' &&
    !isSuspended(task) &&
    task.attempt === attempt &&
    (dueAt === null || dueAt === task.dueAt) &&
    (priority === null || priority === task.priority) &&
    (queue === null || queue === task.policy.queue)
  )
}

/** As long after its due time as before. Once it was granted it has met it. */
function movedStartBy(task: Task, dueAt: number, now: number): number | null {
  if (task.startBy === null || task.attempt > 0) return task.startBy
  return Math.max(dueAt, now) + task.startBy - task.dueAt
}

export const rescheduleTask: Rule<RescheduleTask> = {
  repeat: (command, reads) =>
    reads.task !== null && isScheduledAs(command, reads.task) ? committed(null, null) : null,
  guards: [
    taskKnown,
    sameAttempt,
    taskWaits,
    notRescheduledInWait,
    beforeCommit,
    notEnding,
    canStillStart,
  ],
  entry: ({ job, stage, segment, attempt, by, reason, ...wanted }, reads, now) => {
    const task = theTask(reads)
    const dueAt = wanted.dueAt ?? task.dueAt
    return {
      type: 'TaskRescheduled',
      at: now,
      version: task.version + 1,
      job,
      stage,
      segment,
      attempt,
      dueAt,
      startBy: wanted.dueAt === null ? task.startBy : movedStartBy(task, dueAt, now),
      priority: wanted.priority ?? task.priority,
      toQueue: wanted.toQueue ?? task.policy.queue,
      by,
      reason,
    }
  },
  head: taskHead,
  locksJob: true,
}

const taskOpen: Guard<StopTask> = safety(
  'task-open',
  'The task is WAITING or LEASED.',
  (command, reads) => {
    const { state } = theTask(reads)
    return state === 'WAITING' || state === 'LEASED'
      ? null
      : reject('TaskNotOpen', `Task ${nameOf(command)} is ${state}: there is nothing to stop.`, {
          state,
        })
  },
)

const reasonToStop: Guard<StopTask> = safety(
  'reason-to-stop',
  'The job is ending (and the stage is not on-failure), or the start-by time passed unused.',
  (command, reads, now) =>
    stopReason(command, reads, now) === null
      ? reject(
          'NothingToStop',
          `Task ${nameOf(command)} may go on: nothing ends it and it is not late.`,
        )
      : null,
)

function stopReason(command: TaskAddress, reads: Reads, now: number): 'ending' | 'start-by' | null {
  const task = theTask(reads)
  const job = theJob(reads)
  if (missedStart(task, now)) return 'start-by'
  const onFailure = stagesOf(job)[command.stage]?.onFailure === true
  return !onFailure && isEnding(job, reads.tallies) ? 'ending' : null
}

export const stopTask: Rule<StopTask> = {
  // FAILED already, by this or another entry: what was asked for is so.
  repeat: (_command, reads) => (reads.task?.state === 'FAILED' ? committed(null, null) : null),
  guards: [taskKnown, taskOpen, beforeCommit, reasonToStop],
  entry: ({ job, stage, segment }, reads, now) => ({
    type: 'TaskStopped',
    at: now,
    version: theTask(reads).version + 1,
    job,
    stage,
    segment,
    reason: stopReason({ job, stage, segment }, reads, now) ?? 'ending',
  }),
  head: taskHead,
  locksJob: false,
}
