/**
 * Workers: who takes jobs, runs them and reports.
 */
export { inProcess } from './handler/executor.ts'
export type { Executor } from './handler/executor.ts'
export { executorFor } from './isolation/isolation.ts'
export type { WorkerEvents, StalledTask, NewerJob } from './worker-events.ts'
export { Worker } from './loop/worker.ts'
export type { AbortReason } from './abort-handle.ts'
export { Aborted } from './abort-handle.ts'
export type { JobOnFile } from './artifact/paths.ts'
export { folderOf, MARKER } from './artifact/paths.ts'
export { ArtifactCorrupt, ArtifactMissing, openStored } from './artifact/stored-artifact.ts'
export { folderPlace, memoryPlace, noPlace, rootOf } from './artifact/places.ts'
export { refusal, ReconcileFailed } from './attempt/attempt.ts'
export type { Isolation, WorkerOptions } from './worker-options.ts'
