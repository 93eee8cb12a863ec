/**
 * What handlers of this process say while they run: progress and lines of text; and which of them
 * are stalled. Only in memory: it is lost with the process, and nothing depends on it.
 */
import type { TaskAddress } from '../../kernel/index.ts'
import { taskName } from '../../kernel/index.ts'
import type { NewerJob, StalledTask, WorkerEvents } from '../../worker/index.ts'

const MOST_LINES = 100
const LINE_CHARS = 500
const PROGRESS_CHARS = 2_000
/** Jobs that are remembered; the oldest go first. */
const MOST_JOBS = 1_000

interface TaskReports {
  progress: string | null
  readonly lines: string[]
}

export class SoftState implements WorkerEvents {
  readonly #jobs = new Map<string, TaskReports>()
  readonly #stalled = new Map<string, StalledTask>()
  readonly #onStalled: (task: StalledTask) => void
  readonly #onNewer: (job: NewerJob) => void

  constructor(onStalled: (task: StalledTask) => void, onNewer: (job: NewerJob) => void) {
    this.#onStalled = onStalled
    this.#onNewer = onNewer
  }

  progress(job: string, value: string): void {
    if (value.length <= PROGRESS_CHARS) this.#reportsFor(job).progress = value
    else this.log(job, `A progress of ${value.length} characters is too long to be kept.`)
  }

  log(job: string, line: string): void {
    const { lines } = this.#reportsFor(job)
    lines.push(line.length > LINE_CHARS ? `${line.slice(0, LINE_CHARS)}…` : line)
    if (lines.length > MOST_LINES) lines.shift()
  }

  stalled(task: StalledTask): void {
    this.#stalled.set(nameOf(task), task)
    this.#onStalled(task)
  }

  newer(job: NewerJob): void {
    this.#onNewer(job)
  }

  notStalled(task: TaskAddress): void {
    this.#stalled.delete(nameOf(task))
  }

  /** Tasks of one job, or of all, whose handlers say nothing. */
  stalledTasks(job?: string): readonly StalledTask[] {
    const all = [...this.#stalled.values()]
    return job === undefined ? all : all.filter((task) => task.job === job)
  }

  reportsOf(job: string): { readonly progress: string | null; readonly lines: readonly string[] } {
    const reports = this.#jobs.get(job)
    return { progress: reports?.progress ?? null, lines: [...(reports?.lines ?? [])] }
  }

  #reportsFor(job: string): TaskReports {
    let reports = this.#jobs.get(job)
    if (reports !== undefined) return reports
    reports = { progress: null, lines: [] }
    this.#jobs.set(job, reports)
    const [oldest] = this.#jobs.keys()
    if (this.#jobs.size > MOST_JOBS && oldest !== undefined) this.#jobs.delete(oldest)
    return reports
  }
}

function nameOf({ job, stage, segment }: TaskAddress): string {
  return taskName(job, stage, segment)
}
