/**
 * The only mutations: what the log holds.
 *
 * An entry is a fact, not a request: it carries everything that followed from the decision
 * (the next state, the due time, the new budget), so that `apply` has nothing to decide and a
 * log is folded to the same state for ever, whatever policies later versions compute.
 *
 * `version` is the aggregate's version after the entry; `at` is the authority's time.
 */
import type {
  EffectPromise,
  Failure,
  JobSpec,
  KeptMessage,
  Payload,
  PendingWait,
  Rate,
  WaitsNeeded,
} from './model.ts'

interface Stamp {
  readonly at: number
  readonly version: number
}

interface JobEntryBase extends Stamp {
  readonly job: string
}

interface TaskEntryBase extends JobEntryBase {
  readonly stage: number
  readonly segment: number
}

interface LeaseEntryBase extends TaskEntryBase {
  readonly lease: number
}

/** What became of an effect that was started and not finished when its lease ended. */
export interface Settlement {
  readonly effect: number
  readonly to: 'UNKNOWN' | 'HELD'
  /** Its retries after being charged. */
  readonly retries: number
}

/** What became of a task whose lease ended without a result. */
export interface Aftermath {
  readonly next: 'WAITING' | 'FAILED' | 'DEAD'
  readonly dueAt: number
  readonly retries: number
  readonly settled: readonly Settlement[]
}

export interface JobSubmitted extends JobEntryBase {
  readonly type: 'JobSubmitted'
  readonly spec: JobSpec
  readonly dueAt: number
}

export interface JobReleased extends JobEntryBase {
  readonly type: 'JobReleased'
  readonly by: string
  readonly reason: string
}

/** Counted from its time on, as from a submit: start-by time and deadline. Recorded steps are dropped. */
export interface JobReplaced extends JobEntryBase {
  readonly type: 'JobReplaced'
  readonly replacement: string
  readonly input: Payload
  readonly definitionVersion: number
  readonly dueAt: number
  readonly by: string
  readonly reason: string
}

export interface StageOpened extends JobEntryBase {
  readonly type: 'StageOpened'
  readonly stage: number
  readonly segments: number
  /** Why `each` gave no array: the stage opens with one FAILED task. */
  readonly error: Failure | null
}

/** A message for a task of a stage that is not open: the job keeps it, and `StageOpened` hands it over. */
export interface MessageKept extends JobEntryBase {
  readonly type: 'MessageKept'
  readonly message: KeptMessage
}

export interface JobCancelled extends JobEntryBase {
  readonly type: 'JobCancelled'
  /** By time: its deadline had passed. */
  readonly deadline: boolean
  readonly by: string
  readonly reason: string
}

/** Everything that a user gave or a handler made of it is gone; that it ran stays. Its tasks' too. */
export interface JobErased extends JobEntryBase {
  readonly type: 'JobErased'
  readonly by: string
  readonly reason: string
}

export interface JobForgotten extends JobEntryBase {
  readonly type: 'JobForgotten'
}

export interface LeaseGranted extends LeaseEntryBase {
  readonly type: 'LeaseGranted'
  readonly worker: string
  readonly request: number
  readonly expiresAt: number
  readonly started: boolean
  /** Of the claiming process; '' if it is not known. */
  readonly session: string
  /** The pending waits whose time is over end by this grant: there is one, at least. */
  readonly timedOut: boolean
}

export interface ExecutionStarted extends LeaseEntryBase {
  readonly type: 'ExecutionStarted'
}

export interface LeaseExtended extends LeaseEntryBase {
  readonly type: 'LeaseExtended'
  readonly extension: number
  readonly expiresAt: number
}

export interface LeaseReleased extends LeaseEntryBase, Aftermath {
  readonly type: 'LeaseReleased'
}

export interface StepRecorded extends LeaseEntryBase {
  readonly type: 'StepRecorded'
  readonly name: string
  readonly value: Payload
  readonly definitionVersion: number
}

/** The lease is the attempt that the values are of. */
export interface StreamAppended extends LeaseEntryBase {
  readonly type: 'StreamAppended'
  readonly name: string
  /** Of the first value. */
  readonly offset: number
  readonly values: readonly Payload[]
}

export interface WaitEnded extends LeaseEntryBase {
  readonly type: 'WaitEnded'
  readonly wait: PendingWait
  /** The message, or the callee, that ended it; null: its time did. */
  readonly message: string | null
  /** How its callee ended; null: no callee ended it. */
  readonly answer: Payload | null
  readonly unfit: readonly string[]
  readonly definitionVersion: number
}

export interface ExecutionSuspended extends LeaseEntryBase {
  readonly type: 'ExecutionSuspended'
  readonly needs: WaitsNeeded
  readonly waits: readonly PendingWait[]
  readonly unfit: readonly string[]
  readonly dueAt: number
  readonly budget: number
  readonly definitionVersion: number
}

export interface ExecutionContinued extends LeaseEntryBase {
  readonly type: 'ExecutionContinued'
  readonly input: Payload
  readonly budget: number
  readonly definitionVersion: number
}

/** A message, or the end of a callee: then it has the callee's id, and no record keeps it but the wait. */
export interface MessageSent extends TaskEntryBase {
  readonly type: 'MessageSent'
  readonly id: string
  readonly name: string
  readonly value: Payload
  /** The wait that it ends; null: it is kept. */
  readonly wait: string | null
  /** Of the task, from now on. */
  readonly dueAt: number
  readonly by: string
  readonly reason: string
}

export interface ExecutionCommitted extends LeaseEntryBase {
  readonly type: 'ExecutionCommitted'
  readonly output: Payload
  readonly effects: readonly EffectPromise[]
}

export interface EffectStarted extends LeaseEntryBase {
  readonly type: 'EffectStarted'
  readonly effect: number
}

export interface EffectFinished extends LeaseEntryBase {
  readonly type: 'EffectFinished'
  readonly effect: number
  readonly next: 'WAITING' | 'LEASED' | 'COMPLETED' | 'DEAD'
}

export interface EffectFailed extends LeaseEntryBase, Aftermath {
  readonly type: 'EffectFailed'
  readonly effect: number
  readonly error: Failure
  /** The failed effect itself: tried again, or held for a person. */
  readonly to: 'PROMISED' | 'HELD'
  readonly effectRetries: number
}

export interface EffectResolved extends TaskEntryBase {
  readonly type: 'EffectResolved'
  readonly effect: number
  readonly start: number
  readonly outcome: 'happened' | 'again'
  readonly next: 'WAITING' | 'LEASED' | 'COMPLETED' | 'DEAD'
  readonly budget: number
  readonly by: string
  readonly reason: string
}

export interface TaskFailed extends LeaseEntryBase, Aftermath {
  readonly type: 'TaskFailed'
  readonly error: Failure
  /** It cost no retry. */
  readonly free: boolean
}

export interface LeaseExpired extends LeaseEntryBase, Aftermath {
  readonly type: 'LeaseExpired'
  /** For operators: who went silent, in what phase, and for how long. */
  readonly diagnostic: string
}

export interface LeaseRevoked extends LeaseEntryBase, Aftermath {
  readonly type: 'LeaseRevoked'
  /** The extension that was seen; null: whatever is current was meant. */
  readonly extension: number | null
  /** Its process was known to be dead. */
  readonly presence: boolean
  readonly by: string
  readonly reason: string
}

export interface ReportRefused extends LeaseEntryBase {
  readonly type: 'ReportRefused'
  /** The command that came too late. */
  readonly report: string
}

export interface TaskStopped extends TaskEntryBase {
  readonly type: 'TaskStopped'
  readonly reason: 'ending' | 'start-by'
}

export interface TaskRetried extends TaskEntryBase {
  readonly type: 'TaskRetried'
  readonly attempt: number
  readonly budget: number
  readonly input: Payload | null
  readonly by: string
  readonly reason: string
}

export interface TaskForced extends TaskEntryBase {
  readonly type: 'TaskForced'
  readonly attempt: number
  readonly to: 'COMPLETED' | 'FAILED' | 'WAITING'
  readonly budget: number
  readonly output: Payload | null
  readonly by: string
  readonly reason: string
}

export interface TaskRescheduled extends TaskEntryBase {
  readonly type: 'TaskRescheduled'
  readonly attempt: number
  readonly dueAt: number
  readonly startBy: number | null
  readonly priority: number
  readonly toQueue: string
  readonly by: string
  readonly reason: string
}

interface QueueEntryBase extends Stamp {
  readonly queue: string
}

export interface QueueConfigured extends QueueEntryBase {
  readonly type: 'QueueConfigured'
  readonly concurrency: number | null
  readonly rate: Rate | null
  readonly ageingMs: number | null
  readonly by: string
  readonly reason: string
}

export interface QueuePaused extends QueueEntryBase {
  readonly type: 'QueuePaused'
  readonly by: string
  readonly reason: string
}

export interface QueueResumed extends QueueEntryBase {
  readonly type: 'QueueResumed'
  readonly by: string
  readonly reason: string
}

interface ScheduleEntryBase extends Stamp {
  readonly schedule: string
}

export interface ScheduleSet extends ScheduleEntryBase {
  readonly type: 'ScheduleSet'
  readonly definition: string
  readonly by: string
  readonly reason: string
}

export interface ScheduleFired extends ScheduleEntryBase {
  readonly type: 'ScheduleFired'
  readonly tick: number
  readonly skipped: boolean
}

export interface ScheduleRemoved extends ScheduleEntryBase {
  readonly type: 'ScheduleRemoved'
  readonly by: string
  readonly reason: string
}

export type JobEntry =
  | JobSubmitted
  | JobReleased
  | JobReplaced
  | StageOpened
  | MessageKept
  | JobCancelled
  | JobErased
  | JobForgotten

export type TaskEntry =
  | LeaseGranted
  | ExecutionStarted
  | LeaseExtended
  | LeaseReleased
  | StepRecorded
  | StreamAppended
  | WaitEnded
  | ExecutionSuspended
  | ExecutionContinued
  | MessageSent
  | ExecutionCommitted
  | EffectStarted
  | EffectFinished
  | EffectFailed
  | EffectResolved
  | TaskFailed
  | LeaseExpired
  | LeaseRevoked
  | ReportRefused
  | TaskStopped
  | TaskRetried
  | TaskForced
  | TaskRescheduled

export type QueueEntry = QueueConfigured | QueuePaused | QueueResumed
export type ScheduleEntry = ScheduleSet | ScheduleFired | ScheduleRemoved

export type Entry = JobEntry | TaskEntry | QueueEntry | ScheduleEntry
export type EntryType = Entry['type']
export type EntryOf<T extends EntryType> = Extract<Entry, { type: T }>
