/**
 * The log: entries on a disk, in order, checked, and durable BEFORE a caller is answered.
 */
export * from './errors.ts'

export type { Disk, DiskFile } from './disk/disk.ts'
export { replaceFile } from './disk/disk.ts'
export { eventLoopTurn } from './disk/event-loop-turn.ts'
export type { FileLock } from './disk/file-lock.ts'
export { tryLockFile } from './disk/file-lock.ts'
export type { Owner } from './disk/owner.ts'
export { DirectoryInUse, DirectoryNotUsable, takeOwnership } from './disk/owner.ts'
export { packageFile } from './disk/thread-file.ts'
export { realDisk } from './disk/real-disk.ts'

export { ByteReader, ByteWriter, MalformedBytes } from './format/bytes.ts'
export type { CheckpointMarker, StoredBucket } from './format/checkpoint-marker.ts'
export { checksumOf } from './format/checksum.ts'
export { ENTRY_CODES, writeEntry } from './format/entry-codec.ts'
export { SubmittedAlike } from './format/job-entries.ts'
export { MARKER_CODE, UNIT } from './format/format.ts'
export { Interning } from './format/interning.ts'
export { readQueue, readSchedule, writeQueue, writeSchedule } from './format/queue-codec.ts'
export type { JobRecord, KeepsTask, StepsElsewhere } from './format/record-codec.ts'
export {
  readErased,
  readJob,
  readReplaced,
  readTask,
  readTaskHead,
  recordTallies,
  setReplaced,
  writeErased,
  writeJob,
  writeReplaced,
  writeTask,
} from './format/record-codec.ts'
export { readKeptMessages, writeKeptMessages } from './format/waiting-codec.ts'
export { CURRENT_VERSION, NewerEntry, upcast } from './format/versions.ts'

export { archiveSegment } from './segments/archive.ts'
export { createMark, findMark } from './segments/durable-mark.ts'
export type { EntryFilter, LoggedEntry } from './segments/log-reader.ts'
export { decodeEntry, LogReader, readEntryNow } from './segments/log-reader.ts'
export type { Segment } from './segments/segments.ts'
export { listSegments } from './segments/segments.ts'

export type { WriterStart } from './writer/log-writer.ts'
export { LogWriter } from './writer/log-writer.ts'

export type { LogFound, Torn } from './recovery/tail.ts'
export { readLog, recoverTail } from './recovery/tail.ts'

export { backUp } from './checkpoint/backup.ts'
export type { CheckpointMade } from './checkpoint/checkpoint.ts'
export { makeCheckpoint, writeInitialCheckpoint } from './checkpoint/checkpoint.ts'
export { checkpointRunner } from './checkpoint/checkpoint-runner.ts'
export type { FinishedCell } from './checkpoint/finished-cells.ts'
export type { FinishedKind, JobKind } from './checkpoint/finished-index.ts'
export type { FinishedTable } from './checkpoint/finished-table.ts'
export { FinishedBuffer, FinishedFile } from './checkpoint/finished-table.ts'
export { HashFilter, hashKey, hashText, NONE as NO_HASH } from './checkpoint/hash-index.ts'
export { findJob, jobsInOrder } from './checkpoint/jobs-in-order.ts'
export { LiveFile } from './checkpoint/live-file.ts'
export type { ErasedJob, Manifest } from './checkpoint/manifest.ts'
export { listCheckpoints, removeOtherCheckpoints } from './checkpoint/manifest.ts'
export { readRecords } from './checkpoint/record-file.ts'
export { countUpTo } from './checkpoint/sorted-rows.ts'

export type { CheckpointJob } from './repair/checkpoint-survey.ts'
export { isReadable, readCheckpoint, surveyCheckpoints } from './repair/checkpoint-survey.ts'
export type { LogRun, LogSurvey, Problem } from './repair/log-survey.ts'
export { damageIn, surveyLog } from './repair/log-survey.ts'
export type { RepairReport } from './repair/repair-log.ts'
export { NotRepairable, repairLog } from './repair/repair-log.ts'
export { allProblems } from './repair/repair-plan.ts'
export type { GivenUp, Salvage, Unreadable } from './repair/salvage.ts'
