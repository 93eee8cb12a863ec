/**
 * Entries as bytes: which number each type has, and which functions write and read it.
 *
 * Only the body is written here. The number, the version and the checksums belong to the
 * record that the body stands in.
 */
import type { Entry, EntryOf, EntryType } from '../../kernel/index.ts'
import type { ByteReader, ByteWriter } from './bytes.ts'
import type { Interning } from './interning.ts'
import * as jobs from './job-entries.ts'
import * as tasks from './task-entries.ts'
import * as waiting from './waiting-codec.ts'

interface EntryCodec<T extends EntryType> {
  readonly code: number
  readonly write: (writer: ByteWriter, entry: EntryOf<T>) => void
  readonly read: (reader: ByteReader, interning: Interning) => EntryOf<T>
}

function codec<T extends EntryType>(
  code: number,
  write: EntryCodec<T>['write'],
  read: EntryCodec<T>['read'],
): EntryCodec<T> {
  return { code, write, read }
}

/**
 * The number of each type, for ever: logs on disk name their entries by it. A new type gets
 * the next one; the number of a type that is gone is never given again.
 */
const CODECS: { readonly [T in EntryType]: EntryCodec<T> } = {
  JobSubmitted: codec(1, jobs.writeJobSubmitted, jobs.readJobSubmitted),
  JobReleased: codec(2, jobs.writeJobReleased, jobs.readJobReleased),
  StageOpened: codec(3, jobs.writeStageOpened, jobs.readStageOpened),
  JobCancelled: codec(4, jobs.writeJobCancelled, jobs.readJobCancelled),
  JobForgotten: codec(5, jobs.writeJobForgotten, jobs.readJobForgotten),
  LeaseGranted: codec(6, tasks.writeLeaseGranted, tasks.readLeaseGranted),
  ExecutionStarted: codec(7, tasks.writeExecutionStarted, tasks.readExecutionStarted),
  LeaseExtended: codec(8, tasks.writeLeaseExtended, tasks.readLeaseExtended),
  LeaseReleased: codec(9, tasks.writeLeaseReleased, tasks.readLeaseReleased),
  StepRecorded: codec(10, tasks.writeStepRecorded, tasks.readStepRecorded),
  ExecutionCommitted: codec(11, tasks.writeExecutionCommitted, tasks.readExecutionCommitted),
  EffectStarted: codec(12, tasks.writeEffectStarted, tasks.readEffectStarted),
  EffectFinished: codec(13, tasks.writeEffectFinished, tasks.readEffectFinished),
  EffectFailed: codec(14, tasks.writeEffectFailed, tasks.readEffectFailed),
  EffectResolved: codec(15, tasks.writeEffectResolved, tasks.readEffectResolved),
  TaskFailed: codec(16, tasks.writeTaskFailed, tasks.readTaskFailed),
  LeaseExpired: codec(17, tasks.writeLeaseExpired, tasks.readLeaseExpired),
  LeaseRevoked: codec(18, tasks.writeLeaseRevoked, tasks.readLeaseRevoked),
  ReportRefused: codec(19, tasks.writeReportRefused, tasks.readReportRefused),
  TaskStopped: codec(20, tasks.writeTaskStopped, tasks.readTaskStopped),
  TaskRetried: codec(21, tasks.writeTaskRetried, tasks.readTaskRetried),
  TaskForced: codec(22, tasks.writeTaskForced, tasks.readTaskForced),
  QueueConfigured: codec(23, jobs.writeQueueConfigured, jobs.readQueueConfigured),
  QueuePaused: codec(24, jobs.writeQueuePaused, jobs.readQueuePaused),
  QueueResumed: codec(25, jobs.writeQueueResumed, jobs.readQueueResumed),
  ScheduleSet: codec(26, jobs.writeScheduleSet, jobs.readScheduleSet),
  ScheduleFired: codec(27, jobs.writeScheduleFired, jobs.readScheduleFired),
  ScheduleRemoved: codec(28, jobs.writeScheduleRemoved, jobs.readScheduleRemoved),
  ExecutionSuspended: codec(29, waiting.writeExecutionSuspended, waiting.readExecutionSuspended),
  WaitEnded: codec(30, waiting.writeWaitEnded, waiting.readWaitEnded),
  MessageSent: codec(31, waiting.writeMessageSent, waiting.readMessageSent),
  MessageKept: codec(32, waiting.writeMessageKept, waiting.readMessageKept),
  TaskRescheduled: codec(33, tasks.writeTaskRescheduled, tasks.readTaskRescheduled),
  ExecutionContinued: codec(34, waiting.writeExecutionContinued, waiting.readExecutionContinued),
  JobReplaced: codec(35, jobs.writeJobReplaced, jobs.readJobReplaced),
  StreamAppended: codec(36, tasks.writeStreamAppended, tasks.readStreamAppended),
  JobErased: codec(37, jobs.writeJobErased, jobs.readJobErased),
}

const TYPES = Object.keys(CODECS) as EntryType[]

export const ENTRY_CODES = Object.fromEntries(
  TYPES.map((type) => [type, CODECS[type].code]),
) as Readonly<Record<EntryType, number>>

const TYPE_BY_CODE = new Map(TYPES.map((type) => [CODECS[type].code, type]))
const READ_BY_CODE = new Map(TYPES.map((type) => [CODECS[type].code, CODECS[type].read]))

/** The type that a number stands for; undefined if there is none. */
export function entryType(code: number): EntryType | undefined {
  return TYPE_BY_CODE.get(code)
}

/** Writes the body of an entry. */
export function writeEntry(writer: ByteWriter, entry: Entry): void {
  const write = CODECS[entry.type].write as (writer: ByteWriter, entry: Entry) => void
  write(writer, entry)
}

/** Reads the body of an entry of the current version. */
export function readEntry(reader: ByteReader, code: number, interning: Interning): Entry {
  const read = READ_BY_CODE.get(code)
  if (read === undefined) throw reader.malformed(`no type of entry has the number ${code}`)
  return read(reader, interning)
}
