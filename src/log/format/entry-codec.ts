/**
 * Entries as bytes: which number each type has, and which functions write and read it.
 *
 * Only the body is written here. The number, the version and the checksums belong to the
 * record that the body stands in.
 */
import type { Entry, EntryType } from '../../kernel/index.ts'
import type { ByteReader, ByteWriter } from './bytes.ts'
import type { Interning } from './interning.ts'
import * as jobs from './job-entries.ts'
import * as leases from './lease-entries.ts'
import * as tasks from './task-entries.ts'

/**
 * The number of each type, for ever: logs on disk name their entries by it. A new type gets
 * the next one; the number of a type that is gone is never given again.
 */
export const ENTRY_CODES: Readonly<Record<EntryType, number>> = {
  JobSubmitted: 1,
  JobReleased: 2,
  StageOpened: 3,
  JobCancelled: 4,
  JobForgotten: 5,
  LeaseGranted: 6,
  ExecutionStarted: 7,
  LeaseExtended: 8,
  LeaseReleased: 9,
  StepRecorded: 10,
  ExecutionCommitted: 11,
  EffectStarted: 12,
  EffectFinished: 13,
  EffectFailed: 14,
  EffectResolved: 15,
  TaskFailed: 16,
  LeaseExpired: 17,
  LeaseRevoked: 18,
  ReportRefused: 19,
  TaskStopped: 20,
  TaskRetried: 21,
  TaskForced: 22,
  QueueConfigured: 23,
  QueuePaused: 24,
  QueueResumed: 25,
  ScheduleSet: 26,
  ScheduleFired: 27,
  ScheduleRemoved: 28,
}

/** The type that a number stands for; undefined if there is none. */
export function entryType(code: number): EntryType | undefined {
  return TYPES[code]
}

const TYPES: readonly (EntryType | undefined)[] = typesByCode()

function typesByCode(): (EntryType | undefined)[] {
  const types: (EntryType | undefined)[] = [undefined]
  for (const [type, code] of Object.entries(ENTRY_CODES)) types[code] = type as EntryType
  return types
}

/** Writes the body of an entry. What is written most often is asked for first. */
export function writeEntry(writer: ByteWriter, entry: Entry): void {
  switch (entry.type) {
    case 'JobSubmitted':
      return jobs.writeJobSubmitted(writer, entry)
    case 'LeaseGranted':
      return leases.writeLeaseGranted(writer, entry)
    case 'ExecutionCommitted':
      return tasks.writeExecutionCommitted(writer, entry)
    case 'ExecutionStarted':
      return leases.writeExecutionStarted(writer, entry)
    case 'LeaseExtended':
      return leases.writeLeaseExtended(writer, entry)
    case 'StepRecorded':
      return tasks.writeStepRecorded(writer, entry)
    case 'EffectStarted':
      return tasks.writeEffectStarted(writer, entry)
    case 'EffectFinished':
      return tasks.writeEffectFinished(writer, entry)
    case 'JobReleased':
      return jobs.writeJobReleased(writer, entry)
    case 'StageOpened':
      return jobs.writeStageOpened(writer, entry)
    case 'JobCancelled':
      return jobs.writeJobCancelled(writer, entry)
    case 'JobForgotten':
      return jobs.writeJobForgotten(writer, entry)
    case 'LeaseReleased':
      return leases.writeLeaseReleased(writer, entry)
    case 'EffectFailed':
      return tasks.writeEffectFailed(writer, entry)
    case 'EffectResolved':
      return tasks.writeEffectResolved(writer, entry)
    case 'TaskFailed':
      return leases.writeTaskFailed(writer, entry)
    case 'LeaseExpired':
      return leases.writeLeaseExpired(writer, entry)
    case 'LeaseRevoked':
      return leases.writeLeaseRevoked(writer, entry)
    case 'ReportRefused':
      return leases.writeReportRefused(writer, entry)
    case 'TaskStopped':
      return tasks.writeTaskStopped(writer, entry)
    case 'TaskRetried':
      return tasks.writeTaskRetried(writer, entry)
    case 'TaskForced':
      return tasks.writeTaskForced(writer, entry)
    case 'QueueConfigured':
      return jobs.writeQueueConfigured(writer, entry)
    case 'QueuePaused':
      return jobs.writeQueuePaused(writer, entry)
    case 'QueueResumed':
      return jobs.writeQueueResumed(writer, entry)
    case 'ScheduleSet':
      return jobs.writeScheduleSet(writer, entry)
    case 'ScheduleFired':
      return jobs.writeScheduleFired(writer, entry)
    case 'ScheduleRemoved':
      return jobs.writeScheduleRemoved(writer, entry)
  }
}

/** Reads the body of an entry of the current version. */
export function readEntry(reader: ByteReader, code: number, interning: Interning): Entry {
  switch (code) {
    case 1:
      return jobs.readJobSubmitted(reader, interning)
    case 2:
      return jobs.readJobReleased(reader, interning)
    case 3:
      return jobs.readStageOpened(reader, interning)
    case 4:
      return jobs.readJobCancelled(reader, interning)
    case 5:
      return jobs.readJobForgotten(reader)
    case 6:
      return leases.readLeaseGranted(reader, interning)
    case 7:
      return leases.readExecutionStarted(reader)
    case 8:
      return leases.readLeaseExtended(reader)
    case 9:
      return leases.readLeaseReleased(reader)
    case 10:
      return tasks.readStepRecorded(reader, interning)
    case 11:
      return tasks.readExecutionCommitted(reader, interning)
    case 12:
      return tasks.readEffectStarted(reader)
    case 13:
      return tasks.readEffectFinished(reader)
    case 14:
      return tasks.readEffectFailed(reader, interning)
    case 15:
      return tasks.readEffectResolved(reader, interning)
    case 16:
      return leases.readTaskFailed(reader, interning)
    case 17:
      return leases.readLeaseExpired(reader)
    case 18:
      return leases.readLeaseRevoked(reader, interning)
    case 19:
      return leases.readReportRefused(reader, interning)
    case 20:
      return tasks.readTaskStopped(reader)
    case 21:
      return tasks.readTaskRetried(reader, interning)
    case 22:
      return tasks.readTaskForced(reader, interning)
    case 23:
      return jobs.readQueueConfigured(reader, interning)
    case 24:
      return jobs.readQueuePaused(reader, interning)
    case 25:
      return jobs.readQueueResumed(reader, interning)
    case 26:
      return jobs.readScheduleSet(reader, interning)
    case 27:
      return jobs.readScheduleFired(reader, interning)
    case 28:
      return jobs.readScheduleRemoved(reader, interning)
  }
  throw reader.malformed(`no type of entry has the number ${code}`)
}
