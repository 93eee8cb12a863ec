/**
 * Which command an entry came from: both have the same identity, made of their own nouns, and
 * what they say must be the same.
 */
import type { Command, CommandType, Entry, EntryType } from '../../../src/kernel/index.ts'
import { sameContent } from '../../../src/kernel/index.ts'

/** The entry that each command leads to, when it is not refused. */
const ENTRY_OF: Readonly<Record<CommandType, EntryType>> = {
  SubmitJob: 'JobSubmitted',
  ReleaseJob: 'JobReleased',
  ReplaceJob: 'JobReplaced',
  OpenStage: 'StageOpened',
  GrantLease: 'LeaseGranted',
  StartExecution: 'ExecutionStarted',
  ExtendLease: 'LeaseExtended',
  ReleaseLease: 'LeaseReleased',
  RecordStep: 'StepRecorded',
  AppendStream: 'StreamAppended',
  EndWait: 'WaitEnded',
  SuspendExecution: 'ExecutionSuspended',
  ContinueExecution: 'ExecutionContinued',
  AnswerCall: 'MessageSent',
  SendMessage: 'MessageSent',
  CommitExecution: 'ExecutionCommitted',
  FailTask: 'TaskFailed',
  StartEffect: 'EffectStarted',
  FinishEffect: 'EffectFinished',
  FailEffect: 'EffectFailed',
  ResolveEffect: 'EffectResolved',
  ExpireLease: 'LeaseExpired',
  RevokeLease: 'LeaseRevoked',
  CancelJob: 'JobCancelled',
  StopTask: 'TaskStopped',
  RetryTask: 'TaskRetried',
  ForceTask: 'TaskForced',
  RescheduleTask: 'TaskRescheduled',
  EraseJob: 'JobErased',
  ForgetJob: 'JobForgotten',
  ConfigureQueue: 'QueueConfigured',
  PauseQueue: 'QueuePaused',
  ResumeQueue: 'QueueResumed',
  SetSchedule: 'ScheduleSet',
  FireSchedule: 'ScheduleFired',
  RemoveSchedule: 'ScheduleRemoved',
}

const NOUNS = ['job', 'stage', 'segment', 'lease', 'effect', 'extension', 'schedule', 'definition']
const CONTENT = ['spec', 'output', 'effects', 'value', 'error', 'by', 'reason', 'definition']

type Fields = Readonly<Record<string, unknown>>

export function entryIdentity(entry: Entry): string {
  return identity(entry.type, entry as unknown as Fields)
}

export function commandIdentity(command: Command): string {
  return identity(ENTRY_OF[command.type], command as unknown as Fields)
}

export function grantIdentity(job: string, stage: number, segment: number, lease: number): string {
  return identity('LeaseGranted', { job, stage, segment, lease })
}

/** The refusal on record of whatever was reported under a lease. */
export function refusalIdentity(command: Command): string {
  return identity('ReportRefused', command as unknown as Fields)
}

function identity(type: EntryType, fields: Fields): string {
  // The first value of a step stands, whoever asks.
  if (type === 'StepRecorded') return `${type} ${taskOf(fields)} ${String(fields['name'])}`
  if (type === 'StreamAppended') {
    return `${type} ${taskOf(fields)} ${String(fields['name'])} ${String(fields['offset'])}`
  }
  if (type === 'MessageSent') return `${type} ${taskOf(fields)} ${String(fields['id'])}`
  if (type === 'ReportRefused') return `${type} ${taskOf(fields)} ${String(fields['lease'])}`
  const nouns = NOUNS.filter((noun) => fields[noun] !== undefined)
  return `${type} ${nouns.map((noun) => String(fields[noun])).join(' ')}`
}

function taskOf({ job, stage, segment }: Fields): string {
  return `${String(job)} ${String(stage)} ${String(segment)}`
}

/** The entry says what the command asked for. */
export function saysTheSame(command: Command, entry: Entry): boolean {
  const asked = command as unknown as Fields
  const written = entry as unknown as Fields
  return CONTENT.every(
    (field) =>
      asked[field] === undefined ||
      written[field] === undefined ||
      sameContent(asked[field], written[field]),
  )
}
