/**
 * Keeps the counts of a ledger: it is told of every job BEFORE and AFTER an entry changes it, and of tasks that
 * become due, which is a change that no entry makes.
 *
 * A pipeline that is not over is remembered with the state that it is counted as, because that follows from many
 * tasks. One that is over stays as it is, and so is not remembered.
 */
import type { Job, JobState, Tallies } from '../../kernel/index.ts'
import { errorFingerprint, isFinal, jobState, NO_TALLIES } from '../../kernel/index.ts'
import { Heap } from '../ready/indexed-queue.ts'
import type { CountedUnder } from './job-counts.ts'
import { countedJob, CountTable } from './job-counts.ts'
import { tagsOf, typeOf } from './job-with-stored-spec.ts'

/** A pipeline that is CREATED until its time, whatever the times of its tasks are. */
interface LaterPipeline {
  readonly job: string
  readonly dueAt: number
}

export class JobCounter {
  readonly counts = new CountTable()
  readonly #pipelines = new Map<string, JobState>()
  /** The first time first. One may be there twice, or be gone: it is looked at again. */
  readonly #later = new Heap<LaterPipeline>((a, b) => a.dueAt < b.dueAt)
  /** Of the plain job that is being changed: as it is counted. */
  #state: JobState = 'CREATED'
  #queue = ''
  #error: string | null = null

  /** A job that is new here, and that no checkpoint of finished jobs has counted. */
  add(job: Job, tallies: Tallies, now: number): void {
    const state = jobState(job, tallies, now)
    if (job.task === null && !isFinal(state)) this.#remember(job, state, now)
    this.counts.addJob(countedJob(job), state, 1)
  }

  /** The ids of pipelines that are counted as RUNNING. */
  *runningPipelines(): IterableIterator<string> {
    for (const [id, state] of this.#pipelines) if (state === 'RUNNING') yield id
  }

  /** Whether a pipeline's time has come. */
  hasDue(now: number): boolean {
    const [first] = this.#later.items
    return first !== undefined && first.dueAt <= now
  }

  /** AFTER time went on: the pipelines whose time has come. Each is to be updated. */
  *dueBy(now: number): IterableIterator<string> {
    for (let [first] = this.#later.items; first !== undefined && first.dueAt <= now;) {
      this.#later.removeAt(0)
      yield first.job
      ;[first] = this.#later.items
    }
  }

  /** A job that is over is forgotten. */
  remove(job: Job, tallies: Tallies, now: number): void {
    const state = this.#pipelines.get(job.id) ?? jobState(job, tallies, now)
    this.#pipelines.delete(job.id)
    this.counts.addJob(countedJob(job), state, -1)
  }

  /** So many jobs that are over, as a checkpoint has them. */
  addFinished(job: CountedUnder, state: JobState, count: number): void {
    this.counts.addJob(job, state, count)
  }

  /** BEFORE an entry changes a plain job. */
  note(job: Job, now: number): void {
    this.#state = jobState(job, NO_TALLIES, now)
    this.#queue = job.task?.policy.queue ?? ''
    this.#error = errorFingerprint(job)
  }

  /** AFTER it did. */
  update(job: Job, now: number): void {
    const state = jobState(job, NO_TALLIES, now)
    const error = errorFingerprint(job)
    const queue = job.task?.policy.queue ?? ''
    if (state === this.#state && error === this.#error && queue === this.#queue) return
    const type = typeOf(job)
    const tags = tagsOf(job)
    if (tags.length === 0 && queue === this.#queue && error === null && this.#error === null) {
      return this.counts.moveJob(type, queue, this.#state, state)
    }
    this.counts.addJob({ type, queue: this.#queue, tags, error: this.#error }, this.#state, -1)
    this.counts.addJob({ type, queue, tags, error }, state, 1)
  }

  /** AFTER a pipeline, or a task of it, has changed. */
  updatePipeline(job: Job, tallies: Tallies, now: number): void {
    const before = this.#pipelines.get(job.id)
    // It was over before.
    if (before === undefined) return
    const state = jobState(job, tallies, now)
    if (isFinal(state)) this.#pipelines.delete(job.id)
    else this.#remember(job, state, now)
    if (state === before) return
    const counted = countedJob(job)
    this.counts.addJob(counted, before, -1)
    this.counts.addJob(counted, state, 1)
  }

  /** The time of a plain job has come that waited for it until now. */
  becameDue(job: Job, before: number, now: number): void {
    this.note(job, before)
    this.update(job, now)
  }

  #remember({ id, dueAt }: Job, state: JobState, now: number): void {
    this.#pipelines.set(id, state)
    if (state === 'CREATED' && dueAt > now) this.#later.push({ job: id, dueAt })
  }
}
