/**
 * Pawl, as it is imported: definitions, the engine, and what they throw.
 */
export type {
  BatchOptions,
  ChildCall,
  ChildOptions,
  Commit,
  Duration,
  EffectCall,
  EffectContext,
  EffectDefinition,
  EffectOptions,
  JobDefinition,
  JobDetails,
  JobOptions,
  LimitOptions,
  Reconciled,
  RetryOptions,
  RunContext,
  SchemaIssue,
  StandardSchema,
} from './definition/index.ts'
export {
  batchJob,
  child,
  effect,
  failed,
  InvalidDefinition,
  InvalidValue,
  job,
  TerminalError,
  typed,
  UnreadablePayload,
  UnserializableValue,
} from './definition/index.ts'
export * from './engine/index.ts'
export type { Entry, ErrorKind, Failure, JobState, Rejection } from './kernel/index.ts'
export { PawlError } from './kernel/index.ts'
export type { JobSummary, JobsPage, Notice, Positioned } from './store/index.ts'
export {
  CorruptLog,
  DirectoryInUse,
  DirectoryNotUsable,
  DiskFull,
  StoreClosed,
  StoreEnded,
  UnknownOutcome,
} from './store/index.ts'
export type { AbortReason, Worker, WorkerOptions } from './worker/index.ts'
export { Aborted } from './worker/index.ts'
