/**
 * The engine: what a developer opens, submits to and asks.
 */
export type { ArtifactCheck, Artifacts } from './artifacts/artifacts.ts'
export type { Backup, BackupOptions } from './artifacts/backup.ts'
export * from './errors.ts'
export type { Explanation, Obstacle, Reason } from './inspect/explain.ts'
export { Handle } from './client/handle.ts'
export type { Broken, Health, Unserved } from './inspect/health.ts'
export type { AttemptInfo, EffectInfo, JobInfo, SegmentInfo, StageInfo } from './client/job-info.ts'
export type { Notice } from './notice.ts'
export type { Actor } from './client/actor.ts'
export type { OpenOptions } from './open.ts'
export { open } from './open.ts'
export type { TaskChoice } from './operator/task-choice.ts'
export type {
  DiscardOptions,
  EffectAnswer,
  ForceOptions,
  QueueOptions,
  RerunOptions,
  RetryJobOptions,
} from './operator/operator.ts'
export type { ListFilter } from './client/list-filter.ts'
export type { ItemOptions, SubmitOptions } from './client/submitter.ts'
export type { QueueInfo } from './inspect/queue-info.ts'
export { Pawl } from './pawl.ts'
export type {
  Quarantine,
  QuarantineFilter,
  QuarantineGroup,
  QuarantineItem,
  QuarantineReport,
  QuarantineSelection,
  RedriveOptions,
} from './operator/quarantine.ts'
export type {
  Missed,
  OnRecordAt,
  ScheduleInfo,
  ScheduleOptions,
  ScheduleTerms,
  UnreadableScheduleInfo,
} from './schedule/index.ts'
export { ScheduleHandle } from './schedule/index.ts'
