/**
 * Workers: they claim jobs, run them and report.
 */
export type { AbortReason } from './abort-handle.ts'
export { Aborted } from './abort-handle.ts'
export { ownerOf, SHARD } from './artifact/paths.ts'
export { folderPlace, memoryPlace, noPlace, rootOf } from './artifact/places.ts'
export { ArtifactCorrupt, ArtifactMissing, openStored } from './artifact/stored-artifact.ts'
export { ReconcileFailed } from './attempt/reconcile-failed.ts'
export type { HandlerRun, HandlerRunEnd, Middleware } from './middleware.ts'
export { executorFor } from './isolation/isolation.ts'
export { SuspectGate } from './loop/suspect-gate.ts'
export { Worker } from './loop/worker.ts'
export type { NewerJob, StalledTask, WorkerEvents } from './worker-events.ts'
export type { ServedChannel, WorkerState } from './worker-state.ts'
export type { Isolation, WorkerOptions } from './worker-options.ts'
