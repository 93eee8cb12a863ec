/**
 * The records: what the log is folded into.
 *
 * Owns the shape of the four aggregates (job, task, queue, schedule) and of what a client
 * submits. Everything here is data; nothing here decides. Records are changed by `apply`
 * only, in place, one entry at a time.
 *
 * Payloads (inputs, outputs, step values) are JSON text. The kernel never looks inside one,
 * except to count the elements of an `each`.
 */
import { LATEST_TIME_MS } from './limits.ts'

export type TaskState = 'WAITING' | 'LEASED' | 'COMPLETED' | 'FAILED' | 'DEAD'
export type ExecutionStatus =
  | 'LEASED'
  | 'IN_PROGRESS'
  | 'SUSPENDED'
  | 'COMMITTED'
  | 'DONE'
  | 'ABORTED'
export type EffectState = 'PROMISED' | 'STARTED' | 'UNKNOWN' | 'HELD' | 'FINISHED'
export type StageState = 'NEW' | 'READY' | 'RUNNING' | 'DONE' | 'ERROR'
export type JobState =
  | 'CREATED'
  | 'QUEUED'
  | 'RUNNING'
  | 'SUSPENDED'
  | 'RETRYING'
  | 'QUARANTINED'
  | 'SUCCEEDED'
  | 'FAILED'

/** JSON text. */
export type Payload = string

/** How long to wait before attempt after attempt. Data, so that the kernel can compute it. */
export interface RetryPolicy {
  /** How many failures are given another attempt. */
  readonly max: number
  readonly backoff: 'fixed' | 'exponential' | 'list'
  /** Fixed: the delay. Exponential: the first delay, doubled each time. List: unused. */
  readonly delayMs: number
  /** Exponential: no delay is longer than this. */
  readonly capMs: number
  /** List: the delay after each failure; the last one repeats. */
  readonly delaysMs: readonly number[]
  /** The share of the delay that is varied: 0 none, 1 anything from 0 to the whole delay. */
  readonly jitter: number
}

/** A bound on how many tasks that share a key run at once, or start per period. */
export interface LimitSpec {
  readonly key: string
  readonly concurrency: number | null
  readonly rate: Rate | null
}

/** A token bucket: `count` at once, refilled evenly over `perMs`. */
export interface Rate {
  readonly count: number
  readonly perMs: number
}

/** What a task carries with it wherever it goes; fixed at submit. */
export interface TaskPolicy {
  readonly queue: string
  readonly leaseMs: number
  /** Longest run of one attempt; whoever watches the worker revokes the lease. */
  readonly timeoutMs: number | null
  readonly retry: RetryPolicy
  /** Where a task goes that used up its retries: DEAD for a person, or FAILED. */
  readonly quarantine: 'always' | 'never'
  readonly limits: readonly LimitSpec[]
}

export interface StageSpec {
  readonly name: string
  /** Names of the stages that must be DONE before this one opens. */
  readonly after: readonly string[]
  /** `input`, `input.field` or an earlier stage's name: one task per element. */
  readonly each: string | null
  /** Opened once, when the job is ending and everything else has settled. */
  readonly onFailure: boolean
  /** How many tasks may end FAILED or DEAD without failing the stage. */
  readonly tolerate: number
  readonly version: number
  readonly policy: TaskPolicy
}

/** The effect of a parent's commit that this job carries out. */
export interface ParentRef {
  readonly job: string
  readonly stage: number
  readonly segment: number
  readonly effect: number
}

/** The wait of another job's task that this job answers. */
export interface CallerRef {
  readonly job: string
  readonly stage: number
  readonly segment: number
  /** Of the wait. */
  readonly name: string
  /**
   * The caller's own word for its run: after new input, and in another life of its id, the same name
   * asks for another job.
   */
  readonly run: string
  /** How many callers are above it, from 1. */
  readonly depth: number
  /** It is cancelled, if it is not over by then, when its caller is over. */
  readonly withCaller: boolean
}

/** A step that a new run begins with, by value. */
export interface KeptStep {
  readonly name: string
  readonly value: Payload
}

/** Who asked for something, and why. */
export interface Asked {
  readonly by: string
  readonly reason: string
}

/** Everything that a client submits, kept whole: exactly one of `policy` and `stages` is set. */
export interface JobSpec {
  readonly type: string
  /** The version of the definition that it was submitted under, from 1: its worker is told. */
  readonly version: number
  readonly input: Payload
  readonly priority: number
  readonly delayMs: number
  /** Not before this time of the authority's clock; together with `delayMs` the later one counts. */
  readonly dueAt: number | null
  /** Tasks that open with the job are stopped if nobody took them this long after they were due. */
  readonly startWithinMs: number | null
  /** Over all attempts, from the submit on: it is cancelled if it is not committed by then. */
  readonly deadlineMs: number | null
  /** The same as a time of the authority's clock; together with `deadlineMs` the earlier one counts. */
  readonly deadlineAt: number | null
  readonly key: string | null
  /** The key is kept only while the job is not final, and other input is no error. */
  readonly unique: boolean
  readonly held: boolean
  readonly group: string | null
  readonly tags: readonly string[]
  readonly parent: ParentRef | null
  readonly schedule: { readonly id: string; readonly tick: number } | null
  readonly rerunOf: string | null
  /** Who had that job run again, and why; null: it is no such job, or nobody kept it then. */
  readonly asked: Asked | null
  /** Who submitted it; null: nobody said. */
  readonly submittedBy: string | null
  /** Small, for people and tools: no handler is given it. Null: none. */
  readonly metadata: Payload | null
  /** The wait that it answers; null: no job waits for it. */
  readonly caller: CallerRef | null
  /** Of a job that is run again from a step: those before it. Its handler gets them back. */
  readonly steps: readonly KeptStep[]
  /** How long it stays readable once it is over; null: as long as its store keeps others. */
  readonly retainMs: number | null
  /** A plain job: how its one task runs. */
  readonly policy: TaskPolicy | null
  /** A pipeline: its stages. */
  readonly stages: readonly StageSpec[] | null
}

export interface Job {
  readonly id: string
  /** As submitted, until it is erased. */
  spec: JobSpec
  /** Counts the entries of this aggregate. A plain job's are counted by its task: see `headOf`. */
  version: number
  time: number
  readonly submittedAt: number
  dueAt: number
  /** Not granted any more from then on, and cancelled; null: no such time. */
  deadlineAt: number | null
  held: boolean
  cancelled: Cancelled | null
  /** Its payloads are gone; null: they are not. */
  erased: Erased | null
  /** Pipeline: number of segments of each stage, or NOT_OPENED. Plain: null. */
  opened: number[] | null
  /** Plain: the one task. Pipeline: null, its tasks are aggregates of their own. */
  task: Task | null
  /** Pipeline: messages for stages that are not open yet. */
  messages: KeptMessage[]
  /** What later submits put in place of the first one's input; null: there was none. */
  replaced: Replaced | null
  /**
   * Where a store with a log finds the job's first and newest entry, its tasks' included; 0
   * where nobody keeps that. Written by the store, and never read here.
   */
  firstPosition: number
  lastPosition: number
}

export interface Replaced {
  /** The ids of the submits that replaced it, newest last; only the newest are kept. */
  readonly ids: readonly string[]
  /** When the newest one did: a deadline after the submit counts from here. */
  readonly at: number
  readonly input: Payload
  /** The version of the definition that the input was made under. */
  readonly definitionVersion: number
}

export interface Cancelled {
  readonly at: number
  readonly by: string
  readonly reason: string
  /** By time: its deadline had passed. */
  readonly deadline: boolean
}

export interface Erased {
  readonly at: number
  readonly by: string
  readonly reason: string
  /** The time of the job's entry before: when a pipeline came to its end may follow from it. */
  readonly timeBefore: number
}

export const NOT_OPENED = -1

export interface Task {
  readonly job: string
  readonly stage: number
  readonly segment: number
  /** As submitted, but for the queue, which may be another one by now. */
  policy: TaskPolicy
  /** The job's, unless it was rescheduled with another one. */
  priority: number
  version: number
  time: number
  state: TaskState
  dueAt: number
  /** Never granted from this time on, if nobody took it before; null: no such time. */
  startBy: number | null
  /** Counts grants; the number of the newest lease. */
  attempt: number
  /** Counts failures that were given another attempt. */
  retries: number
  /** How far `retries` may grow. */
  budget: number
  /** Counts failures that cost no retry. */
  snoozes: number
  /** The held lease, also the last of `leases`; null unless LEASED. */
  lease: Lease | null
  leases: Lease[]
  steps: Step[]
  commit: Commit | null
  output: Payload | null
  error: Failure | null
  /** New input, by an operator or by its own continuation: it replaces the job's for this task. */
  input: Payload | null
  interventions: Intervention[]
  /** When it became COMPLETED, FAILED or DEAD; null while it is neither. */
  endedAt: number | null
  /** The highest version of the definition that recorded a step or a wait, or continued; 0: none did. */
  definitionVersion: number
  /** What it waits or waited for, and what was sent to it; null: nothing ever. */
  waiting: Waiting | null
  /** How far its streams came, in the order in which they began. */
  streams: TaskStream[]
}

/** A stream of values, each with an offset from 0 on. The values are in the entries only. */
export interface TaskStream {
  readonly name: string
  /** The offset that the next value gets. */
  next: number
  /** The lease that appended last. */
  lease: number
  /** The offset of the first value that this lease appended. */
  since: number
}

/** The due time of a task that waits for something that has no time: it comes, or it does not. */
export const NEVER_DUE = LATEST_TIME_MS

/** Which of its waits must end before a suspended task goes on. */
export type WaitsNeeded = 'any' | 'all'

export interface Waiting {
  /** Not null: the newest lease ended by suspending, and no grant followed yet. */
  suspended: WaitsNeeded | null
  /** When the task was due before its first suspension, by which it stands in line; null: there was none. */
  firstDueAt: number | null
  /** In the order in which they were recorded. */
  waits: Wait[]
  /** In the order in which they were sent; of those that are settled only the newest are kept. */
  messages: Message[]
}

/** What a handler asks to wait for. Without a message and a callee it is a sleep, and needs a time. */
export interface WaitSpec {
  readonly name: string
  /** The name of the message that ends it; null: only time does, or the end of its callee. */
  readonly message: string | null
  /** What a value must be to end it, as the handler's worker said it; null: anything. */
  readonly schema: Payload | null
  /** What is asked, for people: opaque here. */
  readonly ask: Payload | null
  /** Its time, from when it is recorded; null: see `dueAt`. */
  readonly delayMs: number | null
  /** Its time, by the authority's clock; null with `delayMs` null: it has none. */
  readonly dueAt: number | null
  /** The job whose end it waits for, with this wait as its caller; null: it calls none. */
  readonly callee: JobSpec | null
}

/** A wait as it is recorded when it begins. */
export interface PendingWait {
  readonly name: string
  readonly message: string | null
  readonly schema: Payload | null
  readonly ask: Payload | null
  /** It ends at this time if nothing ended it before; null: it has no such time. */
  readonly until: number | null
  /** What is submitted AFTER the suspension, while the wait is pending; null: it calls no job. */
  readonly callee: JobSpec | null
}

/** What ends a wait. */
export type WaitEnd = 'time' | 'message' | 'callee'

export interface Wait extends PendingWait {
  readonly since: number
  /** The newest lease that named it. */
  lease: number
  /** That lease suspended for it; else the wait ended in place. */
  suspends: boolean
  endedAt: number | null
  /** Null while it is open. */
  endedBy: WaitEnd | null
  /** What the message said that ended it, or how its callee ended. */
  value: Payload | null
}

export interface Message {
  readonly id: string
  readonly name: string
  /** Null once it is settled: the wait that it ended has it. */
  value: Payload | null
  readonly at: number
  readonly by: string
  readonly reason: string
  /** Taken: it ended a wait. Skipped: it did not fit one, and will end none. */
  state: 'KEPT' | 'TAKEN' | 'SKIPPED'
}

/** A message that the job keeps until the stage of its task is opened. */
export interface KeptMessage {
  readonly stage: number
  readonly segment: number
  readonly id: string
  readonly name: string
  readonly value: Payload
  readonly at: number
  readonly by: string
  readonly reason: string
}

export interface Lease {
  readonly number: number
  readonly worker: string
  readonly request: number
  /** Of the process that claimed it: presence judges it by that. '': it is not known. */
  readonly session: string
  /** That it was granted from: its rate was charged. */
  readonly queue: string
  readonly grantedAt: number
  expiresAt: number
  /** The number of the newest extension that was recorded. */
  extension: number
  startedAt: number | null
  endedAt: number | null
  endedBy: LeaseEnd | null
  /** The effect whose failure ended the lease. */
  endedByEffect: number | null
  /** A late report was refused on record; further ones are only answered. */
  refused: boolean
}

/** The entries that can end a lease. */
export type LeaseEnd =
  | 'ExecutionCommitted'
  | 'ExecutionSuspended'
  | 'ExecutionContinued'
  | 'TaskFailed'
  | 'LeaseReleased'
  | 'LeaseExpired'
  | 'LeaseRevoked'
  | 'EffectFinished'
  | 'EffectFailed'
  | 'EffectResolved'
  | 'JobCancelled'
  | 'TaskStopped'
  | 'TaskForced'

export interface Step {
  readonly name: string
  readonly value: Payload
  readonly lease: number
}

export interface Commit {
  readonly lease: number
  readonly at: number
  readonly effects: Effect[]
}

export interface EffectPromise {
  readonly name: string
  readonly input: Payload
  /** Safe to run again under the same key. */
  readonly idempotent: boolean
  /** The definition can tell whether it happened. */
  readonly reconcile: boolean
  readonly retry: RetryPolicy
  /** A child job that the engine submits itself; such an effect is idempotent. */
  readonly child: JobSpec | null
}

export interface Effect {
  readonly promise: EffectPromise
  state: EffectState
  /** Numbers of the leases that started it, newest last. */
  starts: number[]
  retries: number
  budget: number
  error: Failure | null
  resolutions: Resolution[]
}

export interface Resolution {
  /** The start whose outcome was resolved. */
  readonly start: number
  readonly outcome: 'happened' | 'again'
  readonly at: number
  readonly by: string
  readonly reason: string
}

export interface Failure {
  readonly type: 'RETRYABLE' | 'TERMINAL'
  readonly code: string
  readonly message: string
  readonly stack: string | null
}

export interface Intervention {
  readonly kind: 'retry' | 'force'
  /** The attempt that the operator saw; with the next two it identifies the intervention. */
  readonly attempt: number
  readonly to: TaskState
  /** The new input or output that was given. */
  readonly payload: Payload | null
  readonly at: number
  readonly by: string
  readonly reason: string
}

export interface Queue {
  readonly name: string
  version: number
  time: number
  paused: boolean
  pausedAt: number
  /** Who paused it, and why; null: it is not paused. */
  pausedBy: string | null
  pauseReason: string | null
  concurrency: number | null
  rate: Rate | null
  /** A waiting task rises by one priority each time that it waited so long; null: it does not. */
  ageingMs: number | null
}

export interface Schedule {
  readonly id: string
  version: number
  time: number
  /** What the engine makes of it (cron, zone, template): opaque here. Null: removed. */
  definition: string | null
  /** The newest tick that was fired or skipped; older ones count as fired. */
  firedTick: number | null
}

/** How much of a limit is used right now. Computed from the tasks; never logged. */
export interface Usage {
  /** Tasks that hold a lease. */
  held: number
  /** The token bucket is full again at this time. */
  fullAt: number
}

/** A limit of a task, and how much of its key is used. */
export interface LimitUse extends LimitSpec {
  readonly usage: Usage
}

/** The record that carries version and time: a plain job and its task are one aggregate. */
export function headOf(job: Job): Job | Task {
  return job.task ?? job
}

/** The stages of a pipeline; a plain job has none to look at. */
export function stagesOf(job: Job): readonly StageSpec[] {
  return job.spec.stages ?? []
}

/** Where the stage of that name stands; -1 if there is none. */
export function stageIndex(job: Job, name: string): number {
  return stagesOf(job).findIndex((stage) => stage.name === name)
}

/** How many segments a stage was opened with, or NOT_OPENED. */
export function segmentsOf(job: Job, stage: number): number {
  return job.opened?.[stage] ?? NOT_OPENED
}

/** What its handlers are given, unless an operator gave a task something else. */
export function inputOf(job: Pick<Job, 'spec' | 'replaced'>): Payload {
  // Not both: a store may have to read the spec.
  return job.replaced === null ? job.spec.input : job.replaced.input
}

/** The version of the definition that its input was made under. */
export function inputVersionOf(job: Pick<Job, 'spec' | 'replaced'>): number {
  return job.replaced === null ? job.spec.version : job.replaced.definitionVersion
}

/** The earlier of the two that a spec may name. */
export function deadlineOf(
  { deadlineMs, deadlineAt }: JobSpec,
  submittedAt: number,
): number | null {
  if (deadlineMs === null) return deadlineAt
  const own = submittedAt + deadlineMs
  return deadlineAt === null ? own : Math.min(own, deadlineAt)
}

export function policyOf(spec: JobSpec, stage: number): TaskPolicy {
  return (spec.policy ?? spec.stages?.[stage]?.policy) as TaskPolicy
}

/** Names a task in messages and logs. */
export function taskName(job: string, stage: number, segment: number): string {
  return `${job}/${stage}/${segment}`
}

/** The stable key of an effect: the same for every attempt, so receivers can use it to deduplicate. */
export function effectKey(job: string, stage: number, segment: number, effect: number): string {
  return `${taskName(job, stage, segment)}/${effect}`
}
