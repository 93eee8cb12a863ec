/**
 * What can be asked of the authority, one interface a command.
 *
 * A command is identified by its own nouns (job id, task and lease number, effect, tick), so
 * sending it again is safe and gets the same answer. Names are imperative; the entry that a
 * command leads to is the same verb in the past tense.
 */
import type { EffectPromise, Failure, JobSpec, Payload, Rate } from './model.ts'

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
}

export interface CommitExecution extends LeaseAddress {
  readonly type: 'CommitExecution'
  readonly output: Payload
  readonly effects: readonly EffectPromise[]
}

export interface FailTask extends LeaseAddress {
  readonly type: 'FailTask'
  readonly error: Failure
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
}

export interface CancelJob extends OnRecord {
  readonly type: 'CancelJob'
  readonly job: string
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

export type JobCommand = ReleaseJob | OpenStage | CancelJob | ForgetJob
export type QueueCommand = ConfigureQueue | PauseQueue | ResumeQueue
export type ScheduleCommand = SetSchedule | FireSchedule | RemoveSchedule

export type Command = SubmitJob | JobCommand | TaskCommand | QueueCommand | ScheduleCommand
export type CommandType = Command['type']
export type CommandOf<T extends CommandType> = Extract<Command, { type: T }>
