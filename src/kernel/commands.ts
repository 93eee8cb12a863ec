/**
 * What can be asked of the authority, one interface a command.
 *
 * A command is identified by its own nouns (job id, task and lease number, effect, tick), so
 * sending it again is safe and gets the same answer. Names are imperative; the entry that a
 * command leads to is the same verb in the past tense.
 */
import type {
  EffectPromise,
  Failure,
  JobSpec,
  Payload,
  Rate,
  WaitsNeeded,
  WaitSpec,
} from './model.ts'

/** A plain job's task is stage 0, segment 0. */
export interface TaskAddress {
  readonly job: string
  readonly stage: number
  readonly segment: number
}

/** What every report of a worker carries: the lease it speaks under. */
export interface LeaseAddress extends TaskAddress {
  readonly lease: number
  readonly worker: string
}

/** Kept with the entry: who did it, and why. */
export interface OnRecord {
  readonly by: string
  readonly reason: string
}

export interface SubmitJob {
  readonly type: 'SubmitJob'
  readonly job: string
  readonly spec: JobSpec
}

export interface ReleaseJob extends OnRecord {
  readonly type: 'ReleaseJob'
  readonly job: string
}

/** A later submit takes the place of what was submitted, if nothing was done about that yet. */
export interface ReplaceJob extends OnRecord {
  readonly type: 'ReplaceJob'
  readonly job: string
  /** The id of the submit that replaces: the same id is the same replacement. */
  readonly replacement: string
  readonly input: Payload
  /** The version of the definition that the input was made under. */
  readonly definitionVersion: number
  /** From now on; as in a submit, the later of the two counts. */
  readonly delayMs: number
  readonly dueAt: number | null
}

export interface OpenStage {
  readonly type: 'OpenStage'
  readonly job: string
  readonly stage: number
}

export interface GrantLease extends TaskAddress {
  readonly type: 'GrantLease'
  readonly worker: string
  /** The worker's own counter of acquire requests: the same number gets the same lease. */
  readonly request: number
  readonly started: boolean
  /** The session of the claiming process, by which presence judges it. Absent or '': unknown. */
  readonly session?: string | undefined
}

export interface StartExecution extends LeaseAddress {
  readonly type: 'StartExecution'
}

export interface ExtendLease extends LeaseAddress {
  readonly type: 'ExtendLease'
  /** The worker's own counter of extensions of this lease, from 1. */
  readonly extension: number
}

export interface ReleaseLease extends LeaseAddress {
  readonly type: 'ReleaseLease'
}

export interface RecordStep extends LeaseAddress {
  readonly type: 'RecordStep'
  readonly name: string
  readonly value: Payload
  /** The version of the definition that the worker runs; so in the next two. */
  readonly definitionVersion: number
}

export interface AppendStream extends LeaseAddress {
  readonly type: 'AppendStream'
  readonly name: string
  /** Of the first value: the next one of the stream, which begins at 0. */
  readonly offset: number
  readonly values: readonly Payload[]
}

/** A wait ends in place: its outcome is settled, and the lease goes on. */
export interface EndWait extends LeaseAddress {
  readonly type: 'EndWait'
  readonly wait: WaitSpec
  /** The message, or the callee, that ends it; null: its time does. */
  readonly message: string | null
  /** Messages that came before and did not fit. */
  readonly unfit: readonly string[]
  readonly definitionVersion: number
}

export interface SuspendExecution extends LeaseAddress {
  readonly type: 'SuspendExecution'
  readonly needs: WaitsNeeded
  /** Everything that the handler waits for now. */
  readonly waits: readonly WaitSpec[]
  /** Messages that came before and did not fit. */
  readonly unfit: readonly string[]
  readonly definitionVersion: number
}

/** The run is over, and the next one begins anew, with a new input. */
export interface ContinueExecution extends LeaseAddress {
  readonly type: 'ContinueExecution'
  readonly input: Payload
  readonly definitionVersion: number
}

/** The callee of a wait is over: its end is sent to the caller. */
export interface AnswerCall extends TaskAddress {
  readonly type: 'AnswerCall'
  /** Of the caller's wait. */
  readonly name: string
}

export interface SendMessage extends TaskAddress, OnRecord {
  readonly type: 'SendMessage'
  /** The sender's own: the same id is the same message. */
  readonly id: string
  readonly name: string
  readonly value: Payload
  /** The schema that the sender checked the value against; null: it knows of none. */
  readonly checked: Payload | null
}

export interface CommitExecution extends LeaseAddress {
  readonly type: 'CommitExecution'
  readonly output: Payload
  readonly effects: readonly EffectPromise[]
}

export interface FailTask extends LeaseAddress {
  readonly type: 'FailTask'
  readonly error: Failure
  /** How long to wait before the next attempt, as the error says. Absent or null: as the policy says. */
  readonly delayMs?: number | null | undefined
  /** A snooze: it costs no retry, as long as there are not too many. Absent: it does. */
  readonly free?: boolean | undefined
}

export interface StartEffect extends LeaseAddress {
  readonly type: 'StartEffect'
  readonly effect: number
}

export interface FinishEffect extends LeaseAddress {
  readonly type: 'FinishEffect'
  readonly effect: number
}

export interface FailEffect extends LeaseAddress {
  readonly type: 'FailEffect'
  readonly effect: number
  readonly error: Failure
  /** How long to wait before it is run again, as the error says. Absent or null: as its promise says. */
  readonly delayMs?: number | null | undefined
}

export interface ResolveEffect extends TaskAddress, OnRecord {
  readonly type: 'ResolveEffect'
  readonly effect: number
  /** The lease whose start of the effect is being resolved: what the resolver looked at. */
  readonly start: number
  readonly outcome: 'happened' | 'again'
}

export interface ExpireLease extends TaskAddress {
  readonly type: 'ExpireLease'
  readonly lease: number
}

export interface RevokeLease extends TaskAddress, OnRecord {
  readonly type: 'RevokeLease'
  readonly lease: number
  /** The newest extension that was seen: a lease that was extended since is kept. Absent or null: any. */
  readonly seen?: number | null | undefined
  /** The process that holds it is known to be dead, by its session. Absent: a person or a timeout asks. */
  readonly presence?: boolean | undefined
  /** How long the task waits before it is tried again. Absent or null: it is due at once. */
  readonly delayMs?: number | null | undefined
}

export interface CancelJob extends OnRecord {
  readonly type: 'CancelJob'
  readonly job: string
  /** Time asks: the job's deadline has passed. Absent: a person or a program does. */
  readonly deadline?: boolean | undefined
  /** A discard: the attempt at which a plain job was seen in quarantine. Absent or null: whatever it is. */
  readonly attempt?: number | null | undefined
}

export interface StopTask extends TaskAddress {
  readonly type: 'StopTask'
}

export interface RetryTask extends TaskAddress, OnRecord {
  readonly type: 'RetryTask'
  /** The attempt that the operator saw. */
  readonly attempt: number
  /** New input, or null to keep the old one. */
  readonly input: Payload | null
}

export interface ForceTask extends TaskAddress, OnRecord {
  readonly type: 'ForceTask'
  readonly attempt: number
  readonly to: 'COMPLETED' | 'FAILED' | 'WAITING'
  /** The output, when forced to COMPLETED. */
  readonly output: Payload | null
}

export interface RescheduleTask extends TaskAddress, OnRecord {
  readonly type: 'RescheduleTask'
  /** The attempt that was seen. */
  readonly attempt: number
  /** Its new due time; its start-by time moves with it. Null: as it is. */
  readonly dueAt: number | null
  readonly priority: number | null
  readonly toQueue: string | null
}

export interface EraseJob extends OnRecord {
  readonly type: 'EraseJob'
  readonly job: string
}

export interface ForgetJob {
  readonly type: 'ForgetJob'
  readonly job: string
  /** Only if it ended before this time. */
  readonly endedBefore: number
}

export interface ConfigureQueue extends OnRecord {
  readonly type: 'ConfigureQueue'
  readonly queue: string
  readonly concurrency: number | null
  readonly rate: Rate | null
  /** A waiting task rises by one priority each time that it waited so long; null: it does not. */
  readonly ageingMs: number | null
}

export interface PauseQueue extends OnRecord {
  readonly type: 'PauseQueue'
  readonly queue: string
}

export interface ResumeQueue extends OnRecord {
  readonly type: 'ResumeQueue'
  readonly queue: string
}

export interface SetSchedule extends OnRecord {
  readonly type: 'SetSchedule'
  readonly schedule: string
  readonly definition: string
  /** The version that it is a change of; 0: there was none. Null: whatever is there. */
  readonly seen: number | null
}

export interface FireSchedule {
  readonly type: 'FireSchedule'
  readonly schedule: string
  /** The due time that was fired; its job was submitted before, unless it is skipped. */
  readonly tick: number
  readonly skipped: boolean
}

export interface RemoveSchedule extends OnRecord {
  readonly type: 'RemoveSchedule'
  readonly schedule: string
}

/** Sent by the worker that holds, or held, the lease. */
export type Report =
  | StartExecution
  | ExtendLease
  | ReleaseLease
  | RecordStep
  | AppendStream
  | EndWait
  | SuspendExecution
  | ContinueExecution
  | CommitExecution
  | FailTask
  | StartEffect
  | FinishEffect
  | FailEffect

export type TaskCommand =
  | Report
  | GrantLease
  | ExpireLease
  | RevokeLease
  | ResolveEffect
  | StopTask
  | RetryTask
  | ForceTask
  | SendMessage
  | AnswerCall
  | RescheduleTask

export type JobCommand = ReleaseJob | ReplaceJob | OpenStage | CancelJob | EraseJob | ForgetJob
export type QueueCommand = ConfigureQueue | PauseQueue | ResumeQueue
export type ScheduleCommand = SetSchedule | FireSchedule | RemoveSchedule

export type Command = SubmitJob | JobCommand | TaskCommand | QueueCommand | ScheduleCommand
export type CommandType = Command['type']
export type CommandOf<T extends CommandType> = Extract<Command, { type: T }>
