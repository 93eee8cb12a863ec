/**
 * Definitions: what a developer says about jobs and effects, as values.
 */
export type {
  ArtifactContent,
  ArtifactDraft,
  ArtifactPlace,
  ArtifactRef,
  StoredArtifact,
} from './artifact.ts'
export { artifactsIn, isArtifactRef } from './artifact.ts'
export type { BatchOptions, Failed } from './batch-definition.ts'
export { batchJob, failed, isFailed } from './batch-definition.ts'
export type {
  ChildCall,
  HandlerCommit,
  CommitWrites,
  DatabaseClient,
  WriteOptions,
} from './commit.ts'
export { child, isCommit, makeCommit } from './commit.ts'
export type { Duration } from './duration.ts'
export { toMs } from './duration.ts'
export type {
  AnyEffect,
  EffectCall,
  EffectContext,
  EffectDefinition,
  EffectOptions,
  Reconciled,
} from './effect-definition.ts'
export { effect } from './effect-definition.ts'
export type { SchemaIssue } from './errors.ts'
export { InvalidDefinition, InvalidValue } from './errors.ts'
export type {
  AnyJob,
  ChildOptions,
  GivenOf,
  JobDefinition,
  JobDetails,
  JobOptions,
  LimitOptions,
  OutcomeOf,
  RunContext,
  SubmitArguments,
  SubmitItem,
} from './job-definition.ts'
export { job } from './job-definition.ts'
export { inputFor, inputOf, isPipeline, specOf } from './job-spec.ts'
export { assertName } from './names.ts'
export { fromJson, toJson, UnreadablePayload, UnserializableValue } from './json-value.ts'
export type {
  AnyPipeline,
  Pipeline,
  PipelineDefinition,
  PipelineOptions,
  PipelineResult,
} from './pipeline-definition.ts'
export { pipeline } from './pipeline-definition.ts'
export type { RetryOptions } from './retry-options.ts'
export type { Runnable } from './runnable.ts'
export { nameOf } from './runnable.ts'
export type {
  FailureContext,
  PipelineFailure,
  SegmentContext,
  StageContext,
  StageDefinition,
  StageDetails,
  StageOptions,
} from './stage-definition.ts'
export type { StageOutputsPage, ReadOutputs, SegmentOutput } from './stage-outputs.ts'
export { outputFrom, StageOutputs } from './stage-outputs.ts'
export type { StalledOptions } from './stalled.ts'
export type { StandardSchema } from './standard-schema.ts'
export { typed, validated, validatedStored } from './standard-schema.ts'
export { TerminalError } from './terminal-error.ts'
