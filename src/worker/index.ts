/**
 * Workers: who takes jobs, runs them and reports.
 */
export type { AbortReason } from './aborted.ts'
export { Aborted } from './aborted.ts'
export type { JobOnFile } from './artifact/index.ts'
export {
  ArtifactCorrupt,
  ArtifactMissing,
  folderOf,
  folderPlace,
  MARKER,
  memoryPlace,
  noPlace,
  openStored,
  rootOf,
} from './artifact/index.ts'
export type { Timer, Timing } from './clock.ts'
export { realTiming } from './clock.ts'
export { Courier } from './courier.ts'
export { inProcess } from './executor.ts'
export type { Executor } from './executor.ts'
export type { Isolation } from './isolation/isolation.ts'
export { executorFor } from './isolation/isolation.ts'
export type { NewerJob } from './newer-version.ts'
export type { Onlookers, StalledTask } from './onlookers.ts'
export { refusal } from './refusal.ts'
export { ReconcileFailed } from './reconcile-failed.ts'
export type { WorkerOptions } from './worker.ts'
export { Worker } from './worker.ts'
