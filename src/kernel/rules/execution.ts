/**
 * Executions: started, saved step by step, and committed or failed, once. What they put out meanwhile
 * goes to streams. A worker need not report the start: the first step, append, commit or failure of a
 * lease counts as its start, too.
 */
import { committed, reject } from '../answers.ts'
import type {
  AppendStream,
  CommitExecution,
  FailTask,
  RecordStep,
  StartExecution,
} from '../commands.ts'
import type { Aftermath } from '../entries.ts'
import type { Guard } from '../guards.ts'
import {
  beforeCommit,
  CURRENT_LEASE,
  definitionNotOlder,
  nameOf,
  reportedLease,
  safety,
  theTask,
  validation,
} from '../guards.ts'
import { LIMITS } from '../limits.ts'
import type { Task, TaskStream } from '../model.ts'
import { invalidPromise } from '../spec.ts'
import { findWait } from '../waits.ts'
import { failed, failedForGood, snoozed } from './aftermath.ts'
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

const nameNoWait: Guard<RecordStep> = validation(
  'name-free',
  'No wait of the task has the name of the step.',
  (command, reads) =>
    findWait(theTask(reads), command.name) === undefined
      ? null
      : reject(
          'NameTaken',
          `Task ${nameOf(command)} waits, or waited, under the name '${command.name}': give the step another one.`,
          { name: command.name },
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
  guards: [...CURRENT_LEASE, beforeCommit, definitionNotOlder, nameNoWait, roomForStep],
  entry: ({ job, stage, segment, lease, name, value, definitionVersion }, reads, now) => ({
    type: 'StepRecorded',
    at: now,
    version: theTask(reads).version + 1,
    job,
    stage,
    segment,
    lease,
    name,
    value,
    definitionVersion,
  }),
  value: (command) => command.value,
  head: taskHead,
  locksJob: false,
}

function streamOf({ name }: AppendStream, { streams }: Task): TaskStream | undefined {
  return streams.find((one) => one.name === name)
}

/** A gap would be read as values that are lost, and an offset that comes twice has two values. */
const offsetIsNext: Guard<AppendStream> = safety(
  'offset-next',
  'The first value gets the next offset of the stream.',
  (command, reads) => {
    const next = streamOf(command, theTask(reads))?.next ?? 0
    return command.offset === next
      ? null
      : reject(
          'WrongOffset',
          `Stream '${command.name}' of task ${nameOf(command)} goes on at offset ${next}, not at ${command.offset}: append there.`,
          { next },
        )
  },
)

const roomForValues: Guard<AppendStream> = validation(
  'room-for-values',
  `A task has at most ${LIMITS.streams} streams of ${LIMITS.streamLength} values, and an append at most ${LIMITS.commitChars} characters.`,
  (command, reads) => {
    const { name, offset, values } = command
    const { streams } = theTask(reads)
    if (offset === 0 && streams.length >= LIMITS.streams) {
      return reject(
        'LimitExceeded',
        `Task ${nameOf(command)} has ${LIMITS.streams} streams, which is the most: append to one of them.`,
        { limit: 'streams' },
      )
    }
    if (offset + values.length > LIMITS.streamLength) {
      return reject(
        'LimitExceeded',
        `Stream '${name}' of task ${nameOf(command)} would have more than ${LIMITS.streamLength} values: put several into one.`,
        { limit: 'streamLength' },
      )
    }
    const chars = values.reduce((sum, value) => sum + value.length, 0)
    return chars <= LIMITS.commitChars
      ? null
      : reject(
          'LimitExceeded',
          `The values for stream '${name}' have ${chars} characters, more than ${LIMITS.commitChars}: append fewer at once.`,
          { limit: 'commitChars', chars },
        )
  },
)

export const appendStream: Rule<AppendStream> = {
  // All from `since` on is of one lease, and what a worker appended under it the worker knows: it need
  // not send the same values in the same pieces.
  repeat: (command, reads) => {
    if (reportedLease(command, reads) === null || reads.task === null) return null
    const stream = streamOf(command, reads.task)
    if (stream === undefined || stream.lease !== command.lease) return null
    const next = command.offset + command.values.length
    return command.offset >= stream.since && next <= stream.next ? committed(null, next) : null
  },
  guards: [...CURRENT_LEASE, offsetIsNext, roomForValues],
  entry: ({ job, stage, segment, lease, name, offset, values }, reads, now) => ({
    type: 'StreamAppended',
    at: now,
    version: theTask(reads).version + 1,
    job,
    stage,
    segment,
    lease,
    name,
    offset,
    values,
  }),
  value: ({ offset, values }) => offset + values.length,
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

/** Costs no retry: bounded, or a job could be put off for ever. */
function isSnooze({ error, free }: FailTask, { snoozes }: Task): boolean {
  return free === true && error.type === 'RETRYABLE' && snoozes < LIMITS.snoozes
}

function aftermathOf(command: FailTask, task: Task, now: number, free: boolean): Aftermath {
  if (command.error.type === 'TERMINAL') return failedForGood(task)
  const delayMs = command.delayMs ?? null
  return free ? snoozed(task, now, delayMs) : failed(task, now, delayMs)
}

export const failTask: Rule<FailTask> = {
  repeat: (command, reads) =>
    reportedLease(command, reads)?.endedBy === 'TaskFailed' ? committed(null, null) : null,
  guards: [...CURRENT_LEASE, beforeCommit],
  entry: (command, reads, now) => {
    const { job, stage, segment, lease, error } = command
    const task = theTask(reads)
    const free = isSnooze(command, task)
    return {
      type: 'TaskFailed',
      at: now,
      version: task.version + 1,
      job,
      stage,
      segment,
      lease,
      error,
      free,
      ...aftermathOf(command, task, now, free),
    }
  },
  head: taskHead,
  locksJob: false,
}
