/**
 * What the authority says: committed, cancelled or rejected, and the entry to append, if any.
 *
 * - committed: the log has it, now or already; asking again gives the same.
 * - cancelled: the authority to report was lost; discard the work, it is not a failure.
 * - rejected: the request is wrong. Nothing was written, so it may be right at another time.
 */
import type { Entry } from './entries.ts'

export type Verdict = 'committed' | 'cancelled' | 'rejected'

/** Every reason to say no. `docs/model.md` lists them. */
export const REJECTION_CODES = [
  'UnknownCommand',
  'MalformedCommand',
  'UnknownJob',
  'UnknownTask',
  'UnknownLease',
  'UnknownStage',
  'UnknownSchedule',
  'UnknownEffect',
  'UnknownParent',
  'UnknownCaller',
  'UnknownCall',
  'InvalidSpec',
  'InvalidShape',
  'LimitExceeded',
  'IdReused',
  'KeyReused',
  'TickFired',
  'TickNotSubmitted',
  'ScheduleChanged',
  'EffectFinished',
  'InvalidTransition',
  'JobHeld',
  'JobEnding',
  'JobNotEnding',
  'JobNotFinal',
  'JobNotSettled',
  'JobTooYoung',
  'OriginNotRecorded',
  'CallerNotOver',
  'PrerequisitesNotDone',
  'StageDone',
  'TaskNotWaiting',
  'TaskNotDue',
  'TaskNotDead',
  'TaskNotOpen',
  'TaskFinal',
  'TaskChanged',
  'TaskSuspended',
  'NewerDefinition',
  'InvalidWait',
  'NameTaken',
  'WaitOver',
  'WaitSettled',
  'WaitNotSettled',
  'MessageNotKept',
  'MessageNotChecked',
  'CalleeNotOver',
  'JobBegun',
  'WrongOffset',
  'StartByPassed',
  'DeadlinePassed',
  'DeadlineNotPassed',
  'QueuePaused',
  'LimitReached',
  'LeaseNotHeld',
  'LeaseNotOverdue',
  'LeaseChanged',
  'EffectUnderWay',
  'NotLeaseHolder',
  'NotCommitted',
  'AlreadyCommitted',
  'NothingToStop',
  'NothingToCancel',
  'EffectNotStarted',
  'EffectNotStartable',
  'EffectNotUnresolved',
  'ChildNotSubmitted',
  'OutcomeUnknown',
  'ClockBackwards',
] as const

export type RejectionCode = (typeof REJECTION_CODES)[number]

export interface Rejection {
  readonly code: RejectionCode
  /** The name of the guard that said no; filled in by `decide`. */
  check: string
  /** What was wrong, where, and what to do. */
  readonly message: string
  readonly details: Readonly<Record<string, unknown>>
}

export interface Decision {
  readonly verdict: Verdict
  /** Append this, then apply it, then answer. Null: the log already says so, or nothing happened. */
  readonly entry: Entry | null
  /** Submit: the job's id. Grant: the lease number. Step: the recorded value. Append: the next offset. */
  readonly value: string | number | null
  readonly rejection: Rejection | null
}

export function committed(entry: Entry | null, value: string | number | null): Decision {
  return { verdict: 'committed', entry, value, rejection: null }
}

export function cancelled(entry: Entry | null): Decision {
  return { verdict: 'cancelled', entry, value: null, rejection: null }
}

export function rejected(rejection: Rejection): Decision {
  return { verdict: 'rejected', entry: null, value: null, rejection }
}

export function reject(
  code: RejectionCode,
  message: string,
  details: Readonly<Record<string, unknown>> = {},
): Rejection {
  return { code, check: '', message, details }
}
