/**
 * The engine: what a developer opens, submits to and asks.
 */
export type { ArtifactCheck, Artifacts } from './artifacts/artifacts.ts'
export type { Backup, BackupOptions } from './artifacts/backup.ts'
export * from './errors.ts'
export { diagram } from './client/diagram.ts'
export type { JobEvent, JobEventName } from './hooks/job-events.ts'
export type { JobListener, ListenOptions } from './hooks/subscription.ts'
export type { Explanation, Obstacle, Reason } from './inspect/explain.ts'
export { Handle } from './client/handle.ts'
export type { StreamItem, StreamOptions } from './client/job-stream.ts'
export type { Broken, Health, OutageInfo, StalledInfo, Unserved } from './inspect/health.ts'
export type { EngineMetrics } from './inspect/engine-metrics.ts'
export type { HolderInfo } from './inspect/holder-info.ts'
export type { JobList, JobListItem, ListFilter } from './client/job-list.ts'
export type {
  AnswerOptions,
  InboxFilter,
  InboxItem,
  InboxPage,
  QuestionRef,
} from './messages/inbox.ts'
export type { SendOptions, SentMessage } from './messages/messages.ts'
export type { WaitInfo } from './inspect/wait-info.ts'
export type { FailureReason } from './failure-reason.ts'
export type { ExecutionInfo, ExecutionsFilter, ExecutionsPage } from './inspect/executions.ts'
export type { SegmentList, SegmentListItem, SegmentsFilter } from './inspect/segments.ts'
export type { EffectInfo, JobInfo, SegmentInfo, StageInfo } from './client/job-info.ts'
export type { HistoryItem, HistoryOptions, RecordedItem, TimedItem } from './inspect/history.ts'
export type { CountedJobs, JobCounts, NamedCount, PastFilter } from './client/snapshot.ts'
export { Snapshot } from './client/snapshot.ts'
export type { WorkerInfo } from './inspect/worker-info.ts'
export type { MigrateOptions, MigrationSqlOptions } from './migrate.ts'
export { migrate, migrationSql } from './migrate.ts'
export type { Logger } from './logger.ts'
export type { OpenOptions } from './open-options.ts'
export { open } from './open.ts'
export type { EraseOptions } from './operator/erasure.ts'
export type {
  DiscardOptions,
  EffectAnswer,
  ForceOptions,
  QueueOptions,
  RerunOptions,
  RescheduleOptions,
  RetryJobOptions,
  RevokeOptions,
  SeenAttempt,
} from './operator/operator.ts'
export type { TaskChoice } from './operator/operator-commands.ts'
export type { AcceptedAction, AcceptedActions } from './operator/accepted-actions.ts'
export type { EngineRefusalCode, RefusalCode, RefusedCommand } from './refusals.ts'
export type { ItemOptions, SubmitOptions, SubmitSummary } from './client/submitter.ts'
export type { MaxWaiting } from './client/waiting-bounds.ts'
export type {
  CountedGroup,
  Counts,
  CountsOptions,
  ErrorSample,
  QueueListItem,
} from './inspect/counts.ts'
export type { BulkReport, PaceOptions } from './operator/batch-run.ts'
export type { BulkAction, BulkFilter, BulkOptions } from './client/bulk.ts'
export type { QueueInfo } from './inspect/queue-info.ts'
export type { Notice } from './pawl-parts.ts'
export { Pawl } from './pawl.ts'
export type { Quarantine, QuarantineGroup, QuarantineItem } from './operator/quarantine.ts'
export type {
  QuarantineFilter,
  QuarantineSelection,
  RedriveOptions,
} from './operator/quarantine-selection.ts'
export type { Actor } from './actor.ts'
export type { Missed } from './schedule/stored-schedule.ts'
export type {
  ScheduleChange,
  ScheduleInfo,
  UnreadableScheduleInfo,
} from './schedule/schedule-info.ts'
export type { LimitList, LimitListItem, LimitsFilter } from './inspect/limit-list.ts'
export type { ScheduleOptions, ScheduleTerms } from './schedule/terms.ts'
export type { RunScheduleOptions } from './schedule/run-now.ts'
export { ScheduleHandle } from './schedule/schedule-handle.ts'
