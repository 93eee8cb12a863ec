/**
 * What workers tell of their jobs while they run. It is only shown: nothing depends on it.
 */
import type { TaskAddress } from '../kernel/index.ts'

export interface WorkerEvents {
  progress(job: string, value: string): void
  log(job: string, line: string): void
  /** Its handler said nothing for as long as its definition allows. */
  stalled(task: StalledTask): void
  /** Its handler said something after all, or it is over. */
  notStalled(task: TaskAddress): void
  /** It was given back. Of many of one kind that are given back together, the first is told of. */
  newer(job: NewerJob): void
}

/** A task whose worker keeps the lease alive while the handler says nothing. */
export interface StalledTask extends TaskAddress {
  readonly type: string
  readonly worker: string
  readonly attempt: number
  /** When the handler said something last. */
  readonly since: number
  /** The worker gave up the lease, so that the task is tried again. */
  readonly isRecovered: boolean
}

/** A job that a worker gave back, because it knows only older versions of its definition. */
export interface NewerJob {
  readonly job: string
  readonly type: string
  /** The name of the stage; null for a plain job. */
  readonly stage: string | null
  readonly queue: string
  readonly worker: string
  /** Of the definition that the job was recorded by, or of the stage. */
  readonly version: number
  /** The version that the worker has. */
  readonly known: number
}
