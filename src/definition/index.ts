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
export type {
  ChildCall,
  CommitWrites,
  DatabaseClient,
  HandlerCommit,
  WriteOptions,
} from './commit.ts'
export { isCommit, makeCommit } from './commit.ts'
export type { ByInputOptions } from './by-input.ts'
export type { Continuation } from './continuation.ts'
export { continuedInput, isContinuation, makeContinuation, versionedInput } from './continuation.ts'
export type { Contract, ContractOptions, HandlerOptions } from './contract.ts'
export { contract, handle, jobByName, noHandler } from './contract.ts'
export type { FailedAt, FailedWhy } from './job-errors.ts'
export {
  JobDeadlinePassed,
  JobFailed,
  JobWasCancelled,
  JobWasErased,
  placeOf,
} from './job-errors.ts'
export type { LastStage } from './pipeline-result.ts'
export { pipelineResult } from './pipeline-result.ts'
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
export { effect, effectCalls } from './effect-definition.ts'
export type { SchemaIssue } from './errors.ts'
export { assertName, InvalidDefinition, InvalidValue, TerminalError } from './errors.ts'
export type {
  AnyJob,
  BatchOptions,
  Failed,
  GivenOf,
  JobDefinition,
  JobOptions,
  OutcomeOf,
  SubmitArguments,
  SubmitItem,
} from './job-definition.ts'
export {
  batchJob,
  child,
  failed,
  isFailed,
  isPipeline,
  job,
  runnableFor,
} from './job-definition.ts'
export type { ChildOptions } from './job-spec.ts'
export {
  CHILD_NAMES,
  inputFor,
  inputOf,
  isByName,
  isDefinition,
  specOf,
  timeOf,
} from './job-spec.ts'
export type { OptionNames } from './known-options.ts'
export { KnownOptions, shown } from './known-options.ts'
export type { ExactTexts } from './exact-json.ts'
export { carriedFault, exactPart, inexactFault, inexactWords, jsonWith } from './exact-json.ts'
export { fromJson, toJson, UnreadablePayload, UnserializableValue } from './json-value.ts'
export { assertFits } from './json-schema.ts'
export type {
  AnyMessage,
  MessageDefinition,
  MessageGiven,
  MessageOptions,
  MessageValue,
} from './message-definition.ts'
export { isMessage, message } from './message-definition.ts'
export type { AskOptions, Question } from './question.ts'
export {
  answerId,
  askedSchema,
  isAnswer,
  questionIdentity,
  questionIn,
  questionSchema,
} from './question.ts'
export type {
  AnyPipeline,
  FailureContext,
  Pipeline,
  PipelineDefinition,
  PipelineFailure,
  PipelineOptions,
  PipelineResult,
  SegmentContext,
  StageContext,
  StageDefinition,
  StageDetails,
  StageOptions,
} from './pipeline-definition.ts'
export { pipeline } from './pipeline-definition.ts'
export type {
  LimitOptions,
  PolicyDefaults,
  RetryOptions,
  StalledOptions,
  SubmitDefaults,
} from './policy.ts'
export { checkedDefaults, NO_DEFAULTS } from './policy.ts'
export { RetryAfter } from './retry-after.ts'
export type { Classify, JobDetails, RunContext, Runnable } from './runnable.ts'
export { nameOf } from './runnable.ts'
export type { ReadOutputs, SegmentOutput, StageOutputsPage } from './stage-outputs.ts'
export { outputFrom, StageOutputs } from './stage-outputs.ts'
export type { StandardSchema } from './standard-schema.ts'
export { typed, validated, validatedStored } from './standard-schema.ts'
export type { CallOptions, HandlerWait, RunWaits, WaitForOptions, WaitsGiven } from './waiting.ts'
