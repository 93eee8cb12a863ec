/**
 * Pawl, as it is imported: definitions, the engine, and what they throw.
 */
export type {
  AnyJob,
  ArtifactContent,
  ArtifactDraft,
  ArtifactPlace,
  ArtifactRef,
  AnyPipeline,
  BatchOptions,
  ChildCall,
  ChildOptions,
  Commit,
  Duration,
  EffectCall,
  EffectContext,
  EffectDefinition,
  EffectOptions,
  Failed,
  JobDefinition,
  JobDetails,
  JobOptions,
  LimitOptions,
  OutcomeOf,
  Pipeline,
  PipelineDefinition,
  PipelineOptions,
  Reconciled,
  RetryOptions,
  RunContext,
  SchemaIssue,
  SegmentContext,
  SegmentOutput,
  StageContext,
  StageDetails,
  StageOptions,
  StalledOptions,
  StandardSchema,
  StoredArtifact,
} from './definition/index.ts'
export {
  batchJob,
  child,
  effect,
  failed,
  InvalidDefinition,
  InvalidValue,
  job,
  pipeline,
  StageOutputs,
  TerminalError,
  typed,
  UnreadablePayload,
  UnserializableValue,
} from './definition/index.ts'
export * from './engine/index.ts'
export type { Entry, ErrorKind, Failure, JobState, Rejection } from './kernel/index.ts'
export { PawlError } from './kernel/index.ts'
export type {
  Distribution,
  Holder,
  JobSummary,
  JobsPage,
  Metrics,
  Positioned,
  Traffic,
} from './store/index.ts'
export {
  BadRequest,
  CorruptLog,
  DirectoryInUse,
  DirectoryNotUsable,
  DiskFull,
  FolderNotEmpty,
  NewerEntry,
  NewerFormat,
  NoSuchPosition,
  StoreClosed,
  StoreEnded,
  UnknownOutcome,
} from './store/index.ts'
export type { AbortReason, Isolation, StalledTask, Worker, WorkerOptions } from './worker/index.ts'
export { Aborted, ArtifactCorrupt, ArtifactMissing, ReconcileFailed } from './worker/index.ts'
