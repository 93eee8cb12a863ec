/**
 * What handlers of this process say while they run: progress and lines of text; and which of them
 * are stalled. Only in memory: it is lost with the process, and nothing depends on it. What changed is
 * taken from here to be said to other processes.
 */
import type { TaskAddress } from '../../kernel/index.ts'
import { taskName } from '../../kernel/index.ts'
import type { JobReport } from '../../store/index.ts'
import type { NewerJob, StalledTask, WorkerEvents } from '../../worker/index.ts'

const MOST_LINES = 100
const LINE_CHARS = 500
const PROGRESS_CHARS = 2_000
/** Jobs that are remembered; the oldest go first. */
const MOST_JOBS = 1_000

interface TaskReports {
  progress: string | null
  readonly lines: string[]
  saidAt: number
}

export interface SoftStateParts {
  /** The authority's time. */
  readonly now: () => number
  /** The same, for a time of the workers' clock. */
  readonly authorityTime: (ms: number) => number
  readonly onStalled: (task: StalledTask) => void
  readonly onNewer: (job: NewerJob) => void
}

export class SoftState implements WorkerEvents {
  readonly #parts: SoftStateParts
  readonly #jobs = new Map<string, TaskReports>()
  readonly #stalled = new Map<string, StalledTask>()
  /** Jobs whose reports no other process was told of. */
  readonly #changed = new Set<string>()
  /** Jobs that were erased: what is said of them up to this time is dropped. */
  readonly #forgottenUntil = new Map<string, number>()
  readonly #listeners = new Map<string, Set<() => void>>()

  constructor(parts: SoftStateParts) {
    this.#parts = parts
  }

  progress(job: string, value: string): void {
    if (this.#isForgotten(job)) return
    if (value.length > PROGRESS_CHARS) {
      return this.log(job, `A progress of ${value.length} characters is too long to be kept.`)
    }
    this.#reportsFor(job).progress = value
    for (const listener of this.#listeners.get(job) ?? []) listener()
  }

  log(job: string, line: string): void {
    if (this.#isForgotten(job)) return
    const { lines } = this.#reportsFor(job)
    lines.push(line.length > LINE_CHARS ? `${line.slice(0, LINE_CHARS)}…` : line)
    if (lines.length > MOST_LINES) lines.shift()
  }

  stalled(task: StalledTask): void {
    // A worker measures by its own clock, which on a database does not count from 1970.
    const known = { ...task, since: Math.round(this.#parts.authorityTime(task.since)) }
    this.#stalled.set(nameOf(task), known)
    this.#parts.onStalled(known)
  }

  newer(job: NewerJob): void {
    this.#parts.onNewer(job)
  }

  notStalled(task: TaskAddress): void {
    this.#stalled.delete(nameOf(task))
  }

  stalledTasks(): readonly StalledTask[] {
    return [...this.#stalled.values()]
  }

  reportsOf(job: string): {
    readonly progress: string | null
    readonly lines: readonly string[]
    /** The authority's time; -Infinity: nothing was said. */
    readonly saidAt: number
  } {
    const { progress = null, lines = [], saidAt = -Infinity } = this.#jobs.get(job) ?? {}
    return { progress, lines: [...lines], saidAt }
  }

  /** Called at each progress of the job. Gives its end. */
  onProgress(job: string, listener: () => void): () => void {
    const listeners = this.#listeners.get(job) ?? new Set()
    this.#listeners.set(job, listeners.add(listener))
    return () => {
      listeners.delete(listener)
      if (listeners.size === 0) this.#listeners.delete(job)
    }
  }

  /** What was said about the job, or is said up to this time, is gone. */
  forget(job: string, until: number): void {
    this.#jobs.delete(job)
    this.#changed.delete(job)
    this.#forgottenUntil.delete(job)
    this.#forgottenUntil.set(job, until)
    const [oldest] = this.#forgottenUntil.keys()
    if (this.#forgottenUntil.size > MOST_JOBS && oldest !== undefined) {
      this.#forgottenUntil.delete(oldest)
    }
  }

  #isForgotten(job: string): boolean {
    const until = this.#forgottenUntil.get(job)
    return until !== undefined && this.#parts.now() <= until
  }

  /** What changed since it was taken last, for so many jobs at most. */
  takeChanged(most: number): JobReport[] {
    const taken: JobReport[] = []
    for (const job of this.#changed) {
      if (taken.length === most) break
      this.#changed.delete(job)
      const { progress, lines, saidAt } = this.reportsOf(job)
      if (saidAt > -Infinity) taken.push({ job, saidAt, text: JSON.stringify({ progress, lines }) })
    }
    return taken
  }

  /** What was taken could not be said. */
  noteChanged(job: string): void {
    if (this.#jobs.has(job)) this.#changed.add(job)
  }

  #reportsFor(job: string): TaskReports {
    this.#changed.add(job)
    let reports = this.#jobs.get(job)
    if (reports === undefined) {
      reports = { progress: null, lines: [], saidAt: 0 }
      this.#jobs.set(job, reports)
    }
    reports.saidAt = this.#parts.now()
    const [oldest] = this.#jobs.keys()
    if (this.#jobs.size > MOST_JOBS && oldest !== undefined) {
      this.#jobs.delete(oldest)
      this.#changed.delete(oldest)
    }
    return reports
  }
}

function nameOf({ job, stage, segment }: TaskAddress): string {
  return taskName(job, stage, segment)
}
