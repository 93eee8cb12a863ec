/**
 * The tables of allowed transitions, and by which entry.
 *
 * The explorer checks every step it takes against them, `decide` refuses what the job table
 * does not allow, and `docs/model.md` is drawn from them. Staying in a state is always
 * allowed and changes nothing; states whose row is empty are final.
 */
import type { EntryType } from './entries.ts'
import type { EffectState, ExecutionStatus, JobState, TaskState } from './model.ts'

export type Table<S extends string> = {
  readonly [From in S]: { readonly [To in S]?: readonly EntryType[] }
}

export const TASK_TRANSITIONS: Table<TaskState> = {
  WAITING: {
    LEASED: ['LeaseGranted'],
    COMPLETED: ['TaskForced', 'EffectFinished', 'EffectResolved'],
    FAILED: ['TaskStopped', 'TaskForced', 'JobCancelled'],
  },
  LEASED: {
    WAITING: [
      'ExecutionSuspended',
      'ExecutionContinued',
      'TaskFailed',
      'LeaseExpired',
      'LeaseRevoked',
      'LeaseReleased',
      'EffectFailed',
      'TaskForced',
    ],
    COMPLETED: ['ExecutionCommitted', 'EffectFinished', 'EffectResolved', 'TaskForced'],
    FAILED: [
      'TaskFailed',
      'LeaseExpired',
      'LeaseRevoked',
      'TaskStopped',
      'TaskForced',
      'JobCancelled',
    ],
    DEAD: ['TaskFailed', 'LeaseExpired', 'LeaseRevoked', 'LeaseReleased', 'EffectFailed'],
  },
  DEAD: {
    WAITING: ['TaskRetried', 'TaskForced', 'EffectFinished', 'EffectResolved'],
    COMPLETED: ['TaskForced', 'EffectFinished', 'EffectResolved'],
    FAILED: ['TaskForced', 'JobCancelled'],
  },
  COMPLETED: {},
  FAILED: {},
}

/** Every entry that can end a lease before the commit aborts the execution. */
const ABORTS: readonly EntryType[] = [
  'TaskFailed',
  'LeaseExpired',
  'LeaseRevoked',
  'LeaseReleased',
  'TaskStopped',
  'TaskForced',
  'JobCancelled',
]

export const EXECUTION_TRANSITIONS: Table<ExecutionStatus> = {
  LEASED: {
    IN_PROGRESS: ['ExecutionStarted', 'StepRecorded', 'StreamAppended', 'WaitEnded'],
    SUSPENDED: ['ExecutionSuspended', 'ExecutionContinued'],
    COMMITTED: ['ExecutionCommitted'],
    DONE: ['ExecutionCommitted'],
    ABORTED: ABORTS,
  },
  IN_PROGRESS: {
    SUSPENDED: ['ExecutionSuspended', 'ExecutionContinued'],
    COMMITTED: ['ExecutionCommitted'],
    DONE: ['ExecutionCommitted'],
    ABORTED: ABORTS,
  },
  COMMITTED: { DONE: ['EffectFinished', 'EffectResolved'] },
  SUSPENDED: {},
  DONE: {},
  ABORTED: {},
}

export const EFFECT_TRANSITIONS: Table<EffectState> = {
  PROMISED: { STARTED: ['EffectStarted'], FINISHED: ['EffectFinished'] },
  STARTED: {
    FINISHED: ['EffectFinished'],
    PROMISED: ['EffectFailed'],
    UNKNOWN: ['LeaseExpired', 'LeaseRevoked', 'LeaseReleased', 'EffectFailed'],
    HELD: ['LeaseExpired', 'LeaseRevoked', 'LeaseReleased', 'EffectFailed'],
  },
  UNKNOWN: {
    STARTED: ['EffectStarted'],
    PROMISED: ['EffectResolved'],
    FINISHED: ['EffectFinished', 'EffectResolved'],
    HELD: ['LeaseExpired', 'LeaseRevoked'],
  },
  HELD: { PROMISED: ['EffectResolved'], FINISHED: ['EffectFinished', 'EffectResolved'] },
  FINISHED: {},
}

/** A job has no transition of its own: this is what its derived state may do. */
export type JobTable = { readonly [From in JobState]: readonly JobState[] }

export const PLAIN_JOB_TRANSITIONS: JobTable = {
  CREATED: ['QUEUED', 'SUCCEEDED', 'FAILED'],
  QUEUED: ['CREATED', 'RUNNING', 'RETRYING', 'SUCCEEDED', 'FAILED'],
  RUNNING: ['QUEUED', 'SUSPENDED', 'RETRYING', 'QUARANTINED', 'SUCCEEDED', 'FAILED'],
  SUSPENDED: ['QUEUED', 'SUCCEEDED', 'FAILED'],
  RETRYING: ['QUEUED', 'SUCCEEDED', 'FAILED'],
  QUARANTINED: ['QUEUED', 'SUCCEEDED', 'FAILED'],
  SUCCEEDED: [],
  FAILED: [],
}

export const PIPELINE_JOB_TRANSITIONS: JobTable = {
  CREATED: ['QUEUED', 'RUNNING', 'SUSPENDED', 'RETRYING', 'QUARANTINED', 'SUCCEEDED', 'FAILED'],
  QUEUED: ['CREATED', 'RUNNING', 'SUSPENDED', 'RETRYING', 'QUARANTINED', 'SUCCEEDED', 'FAILED'],
  RUNNING: ['SUSPENDED', 'RETRYING', 'QUARANTINED', 'SUCCEEDED', 'FAILED'],
  SUSPENDED: ['RUNNING', 'RETRYING', 'QUARANTINED', 'SUCCEEDED', 'FAILED'],
  RETRYING: ['RUNNING', 'SUSPENDED', 'QUARANTINED', 'SUCCEEDED', 'FAILED'],
  QUARANTINED: ['RUNNING', 'SUSPENDED', 'RETRYING', 'SUCCEEDED', 'FAILED'],
  SUCCEEDED: [],
  FAILED: [],
}

export function isFinal(state: JobState): boolean {
  return state === 'SUCCEEDED' || state === 'FAILED'
}

/** Whether a task's transition, made by this entry, is in the table. */
export function taskMayMove(from: TaskState, to: TaskState, by: EntryType): boolean {
  return from === to || (TASK_TRANSITIONS[from][to]?.includes(by) ?? false)
}

export function effectMayMove(from: EffectState, to: EffectState, by: EntryType): boolean {
  return from === to || (EFFECT_TRANSITIONS[from][to]?.includes(by) ?? false)
}

export function executionMayMove(
  from: ExecutionStatus,
  to: ExecutionStatus,
  by: EntryType,
): boolean {
  return from === to || (EXECUTION_TRANSITIONS[from][to]?.includes(by) ?? false)
}

export function jobMayMove(table: JobTable, from: JobState, to: JobState): boolean {
  return from === to || table[from].includes(to)
}
