/**
 * What workers tell of the work while it goes on. Only for whoever looks: nothing depends on it.
 */
import type { TaskAddress } from '../kernel/index.ts'

export interface WorkerEvents {
  progress(job: string, value: string): void
  log(job: string, line: string): void
  /** Nothing was heard of it for as long as its definition allows. */
  stalled(task: StalledTask): void
  /** Something was heard of it after all, or it is over. */
  stirred(task: TaskAddress): void
  /** It was given back. Of many of one kind that are given back together, the first is told of. */
  newer(job: NewerJob): void
}

/** A task whose lease is kept alive while nothing is heard of the work. */
export interface StalledTask extends TaskAddress {
  readonly type: string
  readonly worker: string
  readonly attempt: number
  /** When something was heard last. */
  readonly since: number
  /** Its lease was taken away, so that it is tried again. */
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
