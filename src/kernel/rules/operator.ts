/**
 * What a person may do to a task, and what stops one that nobody needs any more.
 *
 * An operator names the attempt that was seen, so that a decision about an old state never
 * hits a new one, and asking twice changes nothing.
 */
import { committed, reject } from '../answers.ts'
import type { ForceTask, RetryTask, StopTask, TaskAddress } from '../commands.ts'
import { isEnding, missedStart, stageIsDone } from '../derive.ts'
import type { Guard, Reads } from '../guards.ts'
import { beforeCommit, nameOf, safety, taskKnown, theJob, theTask, validation } from '../guards.ts'
import type { Payload, Task, TaskState } from '../model.ts'
import { stagesOf } from '../model.ts'
import type { Rule } from './rule.ts'
import { taskHead } from './rule.ts'

type OperatorCommand = RetryTask | ForceTask

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
const canStillStart: Guard<ForceTask> = validation(
  'start-by',
  'A task that nobody took is forced to WAITING only before its start-by time.',
  (command, reads, now) => {
    const { startBy } = theTask(reads)
    return command.to !== 'WAITING' || !missedStart(theTask(reads), now)
      ? null
      : reject(
          'StartByPassed',
          `Task ${nameOf(command)} was to start by ${startBy}: submit it again instead.`,
          { startBy },
        )
  },
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

function freshBudget(task: Task): number {
  return task.retries + task.policy.retry.max
}

export const retryTask: Rule<RetryTask> = {
  repeat: (command, reads) =>
    intervenedBefore(reads, 'retry', command.attempt, 'WAITING', command.input),
  guards: [taskKnown, sameAttempt, taskDead, beforeCommit, notEnding, stageNotDone],
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
