/**
 * Executions: started, saved step by step, and committed or failed, once. A worker need not report the
 * start: the first step, commit or failure of a lease counts as its start, too.
 */
import { committed, reject } from '../answers.ts'
import type { CommitExecution, FailTask, RecordStep, StartExecution } from '../commands.ts'
import type { Guard } from '../guards.ts'
import {
  beforeCommit,
  CURRENT_LEASE,
  nameOf,
  reportedLease,
  theTask,
  validation,
} from '../guards.ts'
import { LIMITS } from '../limits.ts'
import { invalidPromise } from '../spec.ts'
import { failed, failedForGood } from './aftermath.ts'
import type { Rule } from './rule.ts'
import { taskHead } from './rule.ts'

export const startExecution: Rule<StartExecution> = {
  // A lease that resumes a commit has nothing to start: the same state is no change.
  repeat: (command, reads) => {
    const lease = reportedLease(command, reads)
    if (lease === null) return null
    const resumed = reads.task?.commit != null && lease.number > reads.task.commit.lease
    return lease.startedAt !== null || resumed ? committed(null, null) : null
  },
  guards: CURRENT_LEASE,
  entry: ({ job, stage, segment, lease }, reads, now) => ({
    type: 'ExecutionStarted',
    at: now,
    version: theTask(reads).version + 1,
    job,
    stage,
    segment,
    lease,
  }),
  head: taskHead,
  locksJob: false,
}

const roomForStep: Guard<RecordStep> = validation(
  'room-for-step',
  `A task records at most ${LIMITS.steps} steps.`,
  (command, reads) =>
    theTask(reads).steps.length < LIMITS.steps
      ? null
      : reject(
          'LimitExceeded',
          `Task ${nameOf(command)} has ${LIMITS.steps} steps, which is the most: record fewer, larger ones.`,
          { limit: 'steps' },
        ),
)

export const recordStep: Rule<RecordStep> = {
  // The first value stands, whoever asks; a lease that is over hears of nothing recorded since.
  repeat: (command, reads) => {
    const lease = reportedLease(command, reads)
    if (lease === null) return null
    const step = reads.task?.steps.find((one) => one.name === command.name)
    return step !== undefined && step.lease <= lease.number ? committed(null, step.value) : null
  },
  guards: [...CURRENT_LEASE, beforeCommit, roomForStep],
  entry: ({ job, stage, segment, lease, name, value }, reads, now) => ({
    type: 'StepRecorded',
    at: now,
    version: theTask(reads).version + 1,
    job,
    stage,
    segment,
    lease,
    name,
    value,
  }),
  value: (command) => command.value,
  head: taskHead,
  locksJob: false,
}

const validPromises: Guard<CommitExecution> = validation(
  'valid-promises',
  'Every promised effect and child could be carried out.',
  (command) => {
    for (let i = 0; i < command.effects.length; i++) {
      const wrong = invalidPromise(command.effects[i] as CommitExecution['effects'][number], i)
      if (wrong !== null) return wrong
    }
    return null
  },
)

const roomForCommit: Guard<CommitExecution> = validation(
  'room-for-commit',
  `A commit carries at most ${LIMITS.commitChars} characters in all.`,
  (command) => {
    let chars = command.output.length
    for (const { input, child } of command.effects) {
      chars += input.length + (child === null ? 0 : child.input.length)
    }
    return chars <= LIMITS.commitChars
      ? null
      : reject(
          'LimitExceeded',
          `The commit of task ${nameOf(command)} has ${chars} characters, more than ${LIMITS.commitChars}: put large data elsewhere and pass its address.`,
          { limit: 'commitChars', chars },
        )
  },
)

export const commitExecution: Rule<CommitExecution> = {
  repeat: (command, reads) =>
    reportedLease(command, reads) !== null && reads.task?.commit?.lease === command.lease
      ? committed(null, null)
      : null,
  guards: [...CURRENT_LEASE, beforeCommit, validPromises, roomForCommit],
  entry: ({ job, stage, segment, lease, output, effects }, reads, now) => ({
    type: 'ExecutionCommitted',
    at: now,
    version: theTask(reads).version + 1,
    job,
    stage,
    segment,
    lease,
    output,
    effects,
  }),
  head: taskHead,
  locksJob: false,
}

export const failTask: Rule<FailTask> = {
  repeat: (command, reads) =>
    reportedLease(command, reads)?.endedBy === 'TaskFailed' ? committed(null, null) : null,
  guards: [...CURRENT_LEASE, beforeCommit],
  entry: ({ job, stage, segment, lease, error }, reads, now) => {
    const task = theTask(reads)
    return {
      type: 'TaskFailed',
      at: now,
      version: task.version + 1,
      job,
      stage,
      segment,
      lease,
      error,
      ...(error.type === 'TERMINAL' ? failedForGood(task) : failed(task, now)),
    }
  },
  head: taskHead,
  locksJob: false,
}
