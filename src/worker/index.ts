/**
 * Workers: who takes jobs, runs them and reports.
 */
export type { AbortReason } from './handler/aborted.ts'
export { Aborted } from './handler/aborted.ts'
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
export { CommandBatcher } from '../store/command-batcher.ts'
export { inProcess } from './handler/executor.ts'
export type { Executor } from './handler/executor.ts'
export type { Isolation } from './isolation/isolation.ts'
export { executorFor } from './isolation/isolation.ts'
export type { NewerJob } from './loop/newer-version.ts'
export type { WorkerEvents, StalledTask } from './worker-events.ts'
export { refusal } from './refusal.ts'
export { ReconcileFailed } from './attempt/reconcile-failed.ts'
export type { WorkerOptions } from './loop/worker.ts'
export { Worker } from './loop/worker.ts'
