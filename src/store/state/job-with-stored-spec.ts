/**
 * A live job whose spec is not in memory until somebody asks for it.
 *
 * It is a job like any other to the kernel. What was submitted never changes, so it can be
 * read again at any time from the newest checkpoint that holds the job.
 */
import type { Job, JobSpec, Task } from '../../kernel/index.ts'

/** Reads what was submitted at a position of the log. */
export type ReadSpec = (firstPosition: number) => JobSpec

export interface JobWithStoredSpec extends Job {
  readonly type: string
  /** The spec, while it is in memory. */
  loaded: JobSpec | null
}

export type StoredSpecReader = new (job: Job) => JobWithStoredSpec

/** The class of one store's jobs: the way to the disk is theirs in common, and costs none of them. */
export function storedSpecReader(read: ReadSpec): StoredSpecReader {
  return class implements JobWithStoredSpec {
    readonly id: string
    readonly type: string
    loaded: JobSpec | null
    version: number
    time: number
    readonly submittedAt: number
    readonly dueAt: number
    held: boolean
    cancelled: Job['cancelled']
    opened: number[] | null
    task: Task | null
    firstPosition: number
    lastPosition: number

    constructor(job: Job) {
      this.id = job.id
      const { spec } = job
      this.type = spec.type
      this.loaded = spec
      this.version = job.version
      this.time = job.time
      this.submittedAt = job.submittedAt
      this.dueAt = job.dueAt
      this.held = job.held
      this.cancelled = job.cancelled
      this.opened = job.opened
      this.task = job.task
      this.firstPosition = job.firstPosition
      this.lastPosition = job.lastPosition
    }

    /** Not kept: whoever lists a million jobs must not bring a million payloads into memory. */
    get spec(): JobSpec {
      return this.loaded ?? read(this.firstPosition)
    }
  }
}

/** From now on the job has its spec in memory, if it had not. */
export function keepSpec(job: Job): void {
  if ('loaded' in job) (job as JobWithStoredSpec).loaded ??= job.spec
}

/** What is asked of every job all the time: it need not be read for that. */
export function typeOf(job: Job): string {
  return 'type' in job ? (job as JobWithStoredSpec).type : job.spec.type
}

/** What was submitted is not in memory. */
export function isUnloaded(job: Job): boolean {
  return 'loaded' in job && (job as JobWithStoredSpec).loaded === null
}
