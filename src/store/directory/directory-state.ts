/**
 * What a directory store has in memory, and the append path: how an entry gets from the ledger to
 * the log.
 *
 * The ledger decides a command, applies the entry, and hands it over here; it is appended to the
 * log, and the job gets its position. A job that is over by it leaves memory at once.
 *
 * - loading: entries come from the log (`replayEntry`), and nothing can be decided.
 * - open: what the ledger decides goes to a writer (`appendTo`).
 */
import type { Entry, Job, SubmitJob } from '../../kernel/index.ts'
import type { Disk, LogWriter } from '../../log/index.ts'
import { SubmittedAlike } from '../../log/index.ts'
import type { SubmittedJob } from '../state/ledger.ts'
import { Ledger } from '../state/ledger.ts'
import { ErasedJobs } from './erased-jobs.ts'
import { FinishedJobs } from './finished-jobs.ts'
import { LiveJobList, LiveJobSpecs } from './live-jobs.ts'

export class DirectoryState {
  readonly ledger: Ledger
  readonly live = new LiveJobList()
  readonly specs: LiveJobSpecs
  readonly finished: FinishedJobs
  readonly erased = new ErasedJobs()
  #writer: LogWriter | null = null

  constructor(disk: Disk, folder: string) {
    this.finished = new FinishedJobs(disk, folder)
    this.ledger = new Ledger((entry, job) => this.#appendEntry(entry, job), this.finished)
    this.specs = new LiveJobSpecs(disk, folder, this.ledger, this.live)
    this.finished.ledger = this.ledger
    this.ledger.onParked = (job, by) => this.live.replace(job, by)
  }

  /** From now on commands can be decided: their entries go to this log. */
  appendTo(writer: LogWriter): void {
    this.#writer = writer
  }

  replayEntry(entry: Entry, position: number): void {
    const job = this.ledger.apply(entry)
    if (job !== null) this.#noteEntry(entry, job, position)
  }

  /** False, and nothing has changed: an id may be known. */
  submitAlike(commands: readonly SubmitJob[], now: number): boolean {
    const writer = this.#openWriter()
    const submitted = this.ledger.submitAlike(commands, now)
    const [first] = submitted ?? []
    if (submitted === null || first === undefined) return false
    const alike = new SubmittedAlike(first.entry)
    for (const one of submitted) this.#appendSubmit(one, writer, alike)
    return true
  }

  #appendSubmit({ entry, job }: SubmittedJob, writer: LogWriter, alike: SubmittedAlike): void {
    this.#noteSubmitted(job, writer.append(entry, 0, alike))
  }

  async close(): Promise<void> {
    try {
      await this.finished.close()
    } finally {
      await this.specs.close()
    }
  }

  #appendEntry(entry: Entry, job: Job | null): void {
    const position = this.#openWriter().append(entry, job === null ? 0 : job.lastPosition)
    if (job !== null) this.#noteEntry(entry, job, position)
  }

  #openWriter(): LogWriter {
    if (this.#writer !== null) return this.#writer
    throw new Error('Nothing is written to a directory that is not open.')
  }

  #noteSubmitted(job: Job, position: number): void {
    job.firstPosition = position
    job.lastPosition = position
    this.live.add(job)
    this.specs.noteSubmitted(job)
  }

  /** AFTER an entry was applied: where it is in the log, and whether the job is over. */
  #noteEntry(entry: Entry, job: Job, position: number): void {
    if (entry.type === 'JobForgotten') return this.finished.forget(job)
    if (entry.type === 'JobSubmitted') return this.#noteSubmitted(job, position)
    job.lastPosition = position
    switch (entry.type) {
      case 'JobReplaced':
        return this.specs.noteReplaced(job, position)
      case 'ExecutionSuspended':
        return this.live.replace(job, this.ledger.park(job))
      case 'ReportRefused':
      case 'JobErased':
        if (entry.type === 'JobErased') this.erased.note(job, position)
        // What can still be noted about a job that is over.
        if (this.ledger.isOver(job)) this.finished.replaceRecord(job)
        return
      default:
        if (!this.ledger.isOver(job)) return
        this.live.remove(job)
        this.finished.moveOutOfMemory(job)
    }
  }
}
