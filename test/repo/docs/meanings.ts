/**
 * What the kernel's names mean, for `docs/model.md`.
 *
 * Every record here is complete by its type: a new entry, command, rejection or limit without
 * a meaning does not compile. What can be checked by running is checked in `model.test.ts`.
 */
import type {
  CommandType,
  EffectState,
  EntryType,
  ExecutionStatus,
  JobState,
  LIMITS,
  RejectionCode,
  StageState,
  TaskState,
} from '../../../src/kernel/index.ts'

export const TASK_STATES: { readonly [S in TaskState]: string } = {
  WAITING: 'No worker has it. It can be granted once it is due.',
  LEASED: 'One worker holds its lease.',
  COMPLETED: 'Final. It has its output, and every promised effect is finished.',
  FAILED:
    'Final. A terminal error, a stop, a cancel, a force, or retries used up without quarantine.',
  DEAD: 'Over for machines, open for a person: retries used up, or an effect is held.',
}

export const EXECUTION_STATES: { readonly [S in ExecutionStatus]: string } = {
  LEASED: 'A worker was given the lease and has not reported a start.',
  IN_PROGRESS: 'The start is recorded. From here an expiry costs a retry.',
  SUSPENDED: 'It waits, and holds nothing. The next one goes on from its record.',
  COMMITTED: 'The outcome stands. Only its effects are left to do.',
  DONE: 'Committed, and every effect is finished.',
  ABORTED: 'The lease ended before a commit. Nothing of it counts but its recorded steps.',
}

export const EFFECT_STATES: { readonly [S in EffectState]: string } = {
  PROMISED: 'The commit promised it. It may be started.',
  STARTED: 'A worker is carrying it out under the held lease.',
  UNKNOWN: 'It was started and its lease ended without a word: it may have happened.',
  HELD: 'It waits for a person, and its task is DEAD.',
  FINISHED: 'Final. It happened, on record.',
}

export const STAGE_STATES: { readonly [S in StageState]: string } = {
  NEW: 'Not opened: it has no tasks yet.',
  ERROR: 'More tasks are FAILED or DEAD than it tolerates, or one is DEAD after its commit.',
  DONE: 'No task is open.',
  RUNNING: 'A task is LEASED.',
  READY: 'Every open task is WAITING.',
}

export const JOB_STATES: { readonly [S in JobState]: string } = {
  CREATED: 'Held, or not due yet, and never granted.',
  QUEUED: 'Due, and no worker has it. A pipeline: no task was granted yet.',
  RUNNING: 'A task is LEASED. A pipeline: also between tasks, and while it is ending.',
  SUSPENDED: 'Every open task waits for its retry time or in a wait, and one in a wait.',
  RETRYING: 'Every open task waits for its retry time.',
  QUARANTINED: 'Nothing is open, and a DEAD task needs a person.',
  SUCCEEDED: 'Final. Every stage but on-failure ones is DONE.',
  FAILED: 'Final. The job ended without success, and everything in it has settled.',
}

interface CommandMeaning {
  readonly entry: EntryType
  readonly sender: string
  /** What makes a second one the same as the first. */
  readonly nouns: string
}

export const COMMANDS: { readonly [T in CommandType]: CommandMeaning } = {
  SubmitJob: {
    entry: 'JobSubmitted',
    sender: "client, schedule, a parent's effect, a caller's wait",
    nouns: 'The id with the same content; or the key with the same input.',
  },
  ReleaseJob: { entry: 'JobReleased', sender: 'client', nouns: 'The job is not held.' },
  ReplaceJob: {
    entry: 'JobReplaced',
    sender: 'client',
    nouns: 'The id of the submit that replaces, as long as it is among the newest.',
  },
  OpenStage: { entry: 'StageOpened', sender: 'orchestrator', nouns: 'The stage is open.' },
  GrantLease: {
    entry: 'LeaseGranted',
    sender: 'store, for a worker that asks',
    nouns: 'The worker and its request number: the lease of that time.',
  },
  StartExecution: {
    entry: 'ExecutionStarted',
    sender: 'worker',
    nouns: 'The lease is started, or it only resumes a commit.',
  },
  ExtendLease: {
    entry: 'LeaseExtended',
    sender: 'worker',
    nouns: 'The lease and the number of the extension.',
  },
  ReleaseLease: { entry: 'LeaseReleased', sender: 'worker', nouns: 'The lease ended this way.' },
  RecordStep: {
    entry: 'StepRecorded',
    sender: 'worker',
    nouns: 'The name of the step: the first value stands.',
  },
  AppendStream: {
    entry: 'StreamAppended',
    sender: 'worker',
    nouns: 'The offsets: this lease has appended there, and none after it.',
  },
  EndWait: {
    entry: 'WaitEnded',
    sender: 'worker',
    nouns: 'The wait has ended, by this lease or one before.',
  },
  SuspendExecution: {
    entry: 'ExecutionSuspended',
    sender: 'worker',
    nouns: 'The lease ended this way.',
  },
  ContinueExecution: {
    entry: 'ExecutionContinued',
    sender: 'worker',
    nouns: 'The lease ended this way.',
  },
  CommitExecution: {
    entry: 'ExecutionCommitted',
    sender: 'worker',
    nouns: 'The lease is the one that committed.',
  },
  FailTask: { entry: 'TaskFailed', sender: 'worker', nouns: 'The lease ended this way.' },
  StartEffect: {
    entry: 'EffectStarted',
    sender: 'worker',
    nouns: 'The effect runs since its start under this lease, which is still current.',
  },
  FinishEffect: {
    entry: 'EffectFinished',
    sender: 'worker',
    nouns: 'The effect is finished, and this lease started it.',
  },
  FailEffect: {
    entry: 'EffectFailed',
    sender: 'worker',
    nouns: 'The lease ended by the failure of this effect.',
  },
  ResolveEffect: {
    entry: 'EffectResolved',
    sender: 'operator, reconcile',
    nouns: 'The effect, the start and the outcome.',
  },
  ExpireLease: { entry: 'LeaseExpired', sender: 'time', nouns: 'The lease ended this way.' },
  RevokeLease: {
    entry: 'LeaseRevoked',
    sender: 'operator, watchdog, presence',
    nouns: 'The lease ended this way.',
  },
  CancelJob: { entry: 'JobCancelled', sender: 'client, operator', nouns: 'The job is cancelled.' },
  StopTask: { entry: 'TaskStopped', sender: 'orchestrator, time', nouns: 'The task is FAILED.' },
  RetryTask: {
    entry: 'TaskRetried',
    sender: 'operator',
    nouns: 'The attempt that was seen was retried before, with the same input.',
  },
  ForceTask: {
    entry: 'TaskForced',
    sender: 'operator',
    nouns: 'The attempt that was seen was forced to the same state and output before.',
  },
  SendMessage: {
    entry: 'MessageSent',
    sender: 'client, operator',
    nouns: 'The id of the message, to the same task.',
  },
  AnswerCall: {
    entry: 'MessageSent',
    sender: 'worker, upkeep',
    nouns: 'The wait has ended, however it did.',
  },
  RescheduleTask: {
    entry: 'TaskRescheduled',
    sender: 'operator, client',
    nouns: 'At the attempt that was seen, the task waits as it was asked for.',
  },
  EraseJob: { entry: 'JobErased', sender: 'client, operator', nouns: 'The job is erased.' },
  ForgetJob: { entry: 'JobForgotten', sender: 'retention', nouns: 'There is no such job.' },
  ConfigureQueue: {
    entry: 'QueueConfigured',
    sender: 'operator',
    nouns: 'The queue has these limits, and ages in this way.',
  },
  PauseQueue: { entry: 'QueuePaused', sender: 'operator', nouns: 'The queue is paused.' },
  ResumeQueue: { entry: 'QueueResumed', sender: 'operator', nouns: 'The queue is not paused.' },
  SetSchedule: {
    entry: 'ScheduleSet',
    sender: 'client',
    nouns: 'The schedule has this definition.',
  },
  FireSchedule: {
    entry: 'ScheduleFired',
    sender: 'engine',
    nouns: 'This tick or a later one was fired.',
  },
  RemoveSchedule: { entry: 'ScheduleRemoved', sender: 'client', nouns: 'It is not set.' },
}

interface EntryMeaning {
  readonly aggregate: 'job' | 'task' | 'queue' | 'schedule'
  readonly says: string
}

export const ENTRIES: { readonly [T in EntryType]: EntryMeaning } = {
  JobSubmitted: {
    aggregate: 'job',
    says: "The job exists, with its whole shape. Creates a plain job's task.",
  },
  JobReleased: { aggregate: 'job', says: 'The job is no longer held.' },
  JobReplaced: {
    aggregate: 'job',
    says: 'A later submit took the place of what was submitted: its input, its due time; start-by time and deadline count from here. Steps that the job began with are dropped.',
  },
  StageOpened: {
    aggregate: 'job',
    says: 'The stage has so many segments, and a task for each. An `each` that names no array in an output gives one FAILED task.',
  },
  JobCancelled: {
    aggregate: 'job',
    says: "The job is ending. A plain job's task is FAILED by this very entry.",
  },
  JobErased: {
    aggregate: 'job',
    says: 'What the job and its tasks were given, and made, is gone: inputs, outputs, steps, messages, errors, reasons. That it ran stays.',
  },
  JobForgotten: {
    aggregate: 'job',
    says: 'The job and its tasks are removed; id and key are free.',
  },
  LeaseGranted: {
    aggregate: 'task',
    says: 'A worker owns the task until a time. The only way to own. Counts an attempt.',
  },
  ExecutionStarted: { aggregate: 'task', says: 'Work began under the lease.' },
  LeaseExtended: { aggregate: 'task', says: 'The lease runs until a later time.' },
  LeaseReleased: {
    aggregate: 'task',
    says: 'The worker gave the lease back. Costs no retry; effects under way are treated as by expiry.',
  },
  StepRecorded: {
    aggregate: 'task',
    says: 'A value is kept for the attempts to come.',
  },
  StreamAppended: {
    aggregate: 'task',
    says: 'Values of a stream, from an offset on, by this attempt. The task keeps the next offset only.',
  },
  WaitEnded: {
    aggregate: 'task',
    says: 'A wait ended in place, by the first message that is kept for it, by its callee, which is over, or by its time. The lease goes on.',
  },
  ExecutionSuspended: {
    aggregate: 'task',
    says: 'The attempt ended and waits, for any or for all of these; a wait may carry the job that it calls. Costs nothing, and gives a fresh budget. Only the newest leases stay in mind.',
  },
  ExecutionContinued: {
    aggregate: 'task',
    says: 'The run is over, and the next one begins anew with this input: without steps and waits, with what nobody took. Costs nothing, and gives a fresh budget.',
  },
  MessageSent: {
    aggregate: 'task',
    says: 'A message came: it ends the pending wait for it, or is kept for a later one. The end of a callee comes the same way.',
  },
  MessageKept: {
    aggregate: 'job',
    says: 'A message came for a stage that is not open: the job keeps it until then.',
  },
  ExecutionCommitted: {
    aggregate: 'task',
    says: 'The output and the promised effects, all or none. Without effects it completes the task.',
  },
  EffectStarted: { aggregate: 'task', says: 'The effect is being carried out under the lease.' },
  EffectFinished: {
    aggregate: 'task',
    says: 'The effect happened. The last one completes the task.',
  },
  EffectFailed: {
    aggregate: 'task',
    says: 'The effect did not happen and the lease is over. It is tried again later, or held.',
  },
  EffectResolved: {
    aggregate: 'task',
    says: '`reconcile` or a person found out: it happened, or it may be run again. If it was held, the budget is fresh.',
  },
  TaskFailed: {
    aggregate: 'task',
    says: 'The error, and what follows: another attempt at a time, FAILED, or DEAD.',
  },
  LeaseExpired: {
    aggregate: 'task',
    says: 'The time of the lease was over. Carries what follows and a diagnostic.',
  },
  LeaseRevoked: {
    aggregate: 'task',
    says: 'The lease was taken away before its time, by whom and why. Follows the rules of expiry.',
  },
  ReportRefused: {
    aggregate: 'task',
    says: 'A report came without authority. Changes nothing but the mark that it was said; at most once per lease.',
  },
  TaskStopped: {
    aggregate: 'task',
    says: 'An open task without a commit is FAILED: its job is ending, or its start-by time passed.',
  },
  TaskRetried: {
    aggregate: 'task',
    says: 'A person gave a DEAD task another chance, perhaps with new input.',
  },
  TaskRescheduled: {
    aggregate: 'task',
    says: 'A waiting task has another due time, priority or queue; its start-by time moves with the due time.',
  },
  TaskForced: {
    aggregate: 'task',
    says: 'A person set the state of a task: COMPLETED with an output, FAILED or WAITING.',
  },
  QueueConfigured: {
    aggregate: 'queue',
    says: 'The queue has these limits, and ages in this way.',
  },
  QueuePaused: { aggregate: 'queue', says: 'Nothing new is granted from the queue.' },
  QueueResumed: { aggregate: 'queue', says: 'The queue is granted from again.' },
  ScheduleSet: { aggregate: 'schedule', says: 'The schedule has this definition.' },
  ScheduleFired: {
    aggregate: 'schedule',
    says: 'The tick, and all before it, are dealt with: submitted, or skipped.',
  },
  ScheduleRemoved: { aggregate: 'schedule', says: 'The schedule makes no more jobs.' },
}

export const REJECTIONS: { readonly [C in RejectionCode]: string } = {
  UnknownCommand: 'There is no command of this type.',
  MalformedCommand: 'A field is missing or of the wrong kind.',
  UnknownJob: 'There is no such job, or it was forgotten.',
  UnknownTask: 'There is no such task: unknown job, or the stage is not open.',
  UnknownLease: 'The lease number was never granted.',
  UnknownStage: 'The job has no such stage.',
  UnknownSchedule: 'The schedule is not set.',
  UnknownEffect: 'The commit promised no effect at this place.',
  UnknownParent: 'No commit promised this child.',
  UnknownCaller: 'No wait that is pending calls this job.',
  UnknownCall: 'The task does not wait for a job under this name, or not any more.',
  InvalidSpec: 'A field of the job or of a promise is wrong; the field is named.',
  InvalidShape:
    'The stages do not fit together, or not the input; the stage and the fix are named.',
  LimitExceeded: 'A limit of this page would be exceeded; the limit is named.',
  IdReused: 'The id belongs to a job with other content.',
  KeyReused: 'The key belongs to a job of the type with other input.',
  TickFired: 'The schedule has dealt with this tick.',
  TickNotSubmitted: 'The job of the tick must be submitted before the tick is recorded.',
  EffectFinished: 'The effect is finished: it cannot fail, and its child is not made again.',
  InvalidTransition:
    'The job may not go from this state to that one; both and the allowed set are named.',
  JobHeld: 'The job is held: release it first.',
  JobEnding: 'The job is ending: nothing new starts.',
  JobNotEnding: 'The job is not ending, so its on-failure stages stay closed.',
  JobNotFinal: 'The job is not over.',
  JobNotSettled: 'Something in the ending job is still open, or DEAD after its commit.',
  JobTooYoung: 'The job did not end before the time given, or that time is still to come.',
  OriginNotRecorded: 'The effect or tick that made the job is not recorded yet.',
  CallerNotOver: 'The job that called it may still ask for it.',
  CalleeNotOver: 'The job that the wait calls is not over, or not there.',
  PrerequisitesNotDone: 'A stage before this one is not DONE.',
  StageDone: 'The stage is DONE without the task; later stages have built on it.',
  TaskNotWaiting: 'The task is not WAITING, so it cannot be granted.',
  TaskNotDue: 'The task is not due yet; the time is named.',
  TaskNotDead: 'Only a DEAD task is retried by hand.',
  TaskNotOpen: 'The task is over or DEAD: there is nothing to stop.',
  TaskFinal: 'The task is COMPLETED or FAILED.',
  ScheduleChanged: 'The schedule was set, fired or removed since its sender looked.',
  TaskChanged: 'The task was granted again since the operator looked.',
  TaskSuspended: 'The task waits in a suspension: it goes on when its wait ends.',
  NewerDefinition: 'A newer version of the definition recorded steps or waits of the task.',
  InvalidWait: 'A wait cannot end, asks for nothing by name, or has the name of another one.',
  NameTaken: 'Steps and waits share names: a step, or a wait, has this one.',
  WaitOver: 'The wait has ended, and stays as it ended.',
  WaitSettled: 'A message is kept for the wait, or its time is over: end it in place.',
  WaitNotSettled: 'No message is kept for the wait, and its time is not over.',
  MessageNotKept: 'The message was taken or skipped before, or never sent.',
  MessageNotChecked: 'The wait asks for something else than the value was checked against.',
  StartByPassed: 'It is too late for a first attempt.',
  DeadlinePassed: 'The deadline of the job has passed: nothing of it begins any more.',
  DeadlineNotPassed: 'The job has no deadline, or it has not passed.',
  QueuePaused: 'The queue is paused.',
  LimitReached: 'A concurrency or rate limit has no room; the key and the time are named.',
  LeaseNotHeld: 'The lease is over; how it ended is named.',
  LeaseNotOverdue: 'The lease has time left.',
  LeaseChanged: 'The lease was extended since it was looked at: its worker is alive.',
  EffectUnderWay:
    'An effect of the lease was started and is not idempotent: presence leaves it to time.',
  NotLeaseHolder: 'The lease was given to another worker.',
  NotCommitted: 'The task is not committed, so it has no effects.',
  AlreadyCommitted: 'The task is committed: it is finished from here, never redone or undone.',
  NothingToStop: 'The job is not ending and the task is not late.',
  NothingToCancel: 'Everything in the job is decided.',
  EffectNotStarted: 'The effect was not started under this lease.',
  EffectNotStartable: 'The effect is finished, held or under way.',
  EffectNotUnresolved: 'The effect is neither held nor unknown, or it was started again since.',
  ChildNotSubmitted:
    'The child, as it was promised, must be submitted before its effect is finished.',
  OutcomeUnknown: 'The effect may have happened and is not idempotent: resolve it first.',
  JobBegun:
    'A task of the job was granted, a stage is open, or it is over: what was submitted stays.',
  WrongOffset: 'The stream goes on at another offset, which the rejection names.',
  ClockBackwards: 'The time given is before the newest entry of the aggregate.',
}

export const LIMIT_MEANINGS: { readonly [L in keyof typeof LIMITS]: string } = {
  nameChars: 'Characters of an id or a name',
  keyChars: 'Characters of an idempotency key',
  payloadChars: "Characters of an input, an output, a step's value or an effect's input",
  tags: 'Tags of a job',
  priority: 'Largest priority; its negative is the smallest',
  stages: 'Stages of a pipeline',
  prerequisites: 'Stages that one stage comes after',
  segmentsPerStage: 'Segments of a stage',
  tolerate: 'Failed tasks that a stage may tolerate',
  limitsPerTask: 'Limit keys of a task',
  concurrency: 'Largest concurrency of a limit',
  rateCount: 'Largest count of a rate',
  ratePeriodMs: 'Longest period of a rate',
  ageingMs: 'Longest time to wait until a task rises by one priority',
  retries: 'Largest number of retries in a policy',
  snoozes: 'Failures of a task that cost no retry',
  metadataChars: "Characters of a job's metadata",
  retryDelays: 'Delays in a list',
  retryDelayMs: 'Longest delay of a retry',
  delayMs: 'Longest delay of a job, and longest time to start within',
  leaseMs: 'Longest lease',
  timeoutMs: 'Longest run of one attempt',
  effects: 'Effects and children promised by one commit',
  commitChars: 'Characters of the output and of all inputs in one commit, together',
  steps: 'Steps recorded by a task',
  waits: 'Waits recorded by a task, and named by a suspension',
  callDepth: 'Jobs that wait for each other in a chain, the first caller not counted',
  messages: 'Messages to a task, or kept by a job, that nothing took yet',
  messagesRemembered: 'Messages of a task that are remembered',
  replacements: 'Submits that replaced a job that are remembered',
  streams: 'Streams of a task',
  streamValues: 'Values of a stream that one append carries',
  streamLength: 'Values of a stream',
  people: 'People and groups that one question is for',
  leasesAfterSuspension: 'Leases of a task that a suspension or a continuation leaves in mind',
  errorChars: "Characters of an error's message, and of its stack",
  reasonChars: "Characters of an operator's reason",
  scheduleChars: "Characters of a schedule's definition",
  leasesRemembered: 'Leases of a task that are remembered, and starts of an effect',
  interventions: 'Interventions of a task, and resolutions of an effect, that are kept',
}
