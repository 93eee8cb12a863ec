/**
 * The engine: what a developer opens, submits to and asks.
 */
export type { ArtifactCheck, Artifacts } from './artifacts.ts'
export type { Backup, BackupOptions } from './backup.ts'
export * from './errors.ts'
export type { Explanation, Obstacle, Reason } from './explain.ts'
export { Handle } from './handle.ts'
export type { Broken, Health, Unserved } from './health.ts'
export type { AttemptInfo, EffectInfo, JobInfo, SegmentInfo, StageInfo } from './job-info.ts'
export type { Notice } from './notice.ts'
export type { OnRecord } from './on-record.ts'
export type { OpenOptions } from './open.ts'
export { open } from './open.ts'
export type { TaskChoice } from './job-task.ts'
export type {
  DiscardOptions,
  EffectAnswer,
  ForceOptions,
  QueueOptions,
  RerunOptions,
  RetryJobOptions,
} from './operator.ts'
export type { ListFilter } from './list-filter.ts'
export type { ItemOptions, SubmitOptions } from './submitting.ts'
export type { QueueInfo } from './queue-info.ts'
export { Pawl } from './pawl.ts'
export type {
  Quarantine,
  QuarantineFilter,
  QuarantineGroup,
  QuarantineItem,
  QuarantineReport,
  QuarantineSelection,
  RedriveOptions,
} from './quarantine.ts'
export type {
  Missed,
  OnRecordAt,
  ScheduleInfo,
  ScheduleOptions,
  ScheduleTerms,
  UnreadableScheduleInfo,
} from './schedule/index.ts'
export { ScheduleHandle } from './schedule/index.ts'
