/**
 * The kernel: one pure state machine. No I/O, no clock, no randomness, no imports.
 */
export * from './answers.ts'
export {
  applyToJob,
  applyToQueue,
  applyToSchedule,
  applyToTask,
  BrokenEntry,
  findLease,
} from './apply.ts'
export { createJob, createQueue, keptStep, NONE } from './create.ts'
export * from './commands.ts'
export { copyJob, copyTask } from './copy.ts'
export { areAlike, decide, decideAlike, decideIn } from './decide.ts'
export * from './derive.ts'
export * from './entries.ts'
export { sameContent } from './equal.ts'
export type { Fingerprinted } from './error-fingerprint.ts'
export { errorFingerprint, errorOf, fingerprintOf, whyGivenUp } from './error-fingerprint.ts'
export type { Guard, Reads } from './guards.ts'
export { noReads } from './guards.ts'
export { calleeId, childId, tickId } from './ids.ts'
export type { InexactNumber, JsonScan } from './inexact-number.ts'
export { inexactNumber, scanJson } from './inexact-number.ts'
export * from './invariants/index.ts'
export { keepsKey } from './keys.ts'
export * from './limits.ts'
export * from './model.ts'
export * from './order.ts'
export type { ErrorKind } from './pawl-error.ts'
export { PawlError } from './pawl-error.ts'
export { jobMove } from './preview.ts'
export type { Indexes } from './reads.ts'
export { loadReads, scan, standsAlone } from './reads.ts'
export { DEFAULT_RETRY, retryDelayMs } from './retry.ts'
export type { GuardListing, Rules, RuleTable } from './rules/index.ts'
export { answerOf } from './rules/message.ts'
export { listGuards, RULES, rulesWithout } from './rules/index.ts'
export { eachPath } from './each.ts'
export {
  freezePolicy,
  invalidFields,
  invalidPolicy,
  invalidRetry,
  invalidShape,
  isFrozenPolicy,
  isUsual,
} from './spec.ts'
export * from './transitions.ts'
export * from './usage.ts'
export { ERASED, redactEntry, redactJob, redactTask } from './user-data.ts'
export {
  calleeOf,
  findWait,
  isCalled,
  isPending,
  isSuspended,
  pendingCall,
  placeAt,
  takesToken,
  waitFor,
  waitsOfSuspension,
} from './waits.ts'
export { commandFields, malformed, unknownField } from './wellformed.ts'
export type { StageTasks, World } from './world.ts'
export { countTallies, createWorld, findTask, fold, replay, taskIn, tasksOf } from './world.ts'
