/**
 * How many jobs are in each state, by what they are: kept beside the jobs, so that no caller that asks for
 * it makes a store count them. Fed by the state before and after each change; nothing is decided by it.
 *
 * A job counts once under its type and queue, once under each of its tags, while it is FAILED or in quarantine once
 * under its error, and while it has held effects once among those that have. Segments of pipelines count under their queue, apart from jobs. What
 * such a row counts is a cell for each state.
 *
 * `JobCounter` keeps the counts of a ledger: it is told of every job BEFORE and AFTER an entry changes it, and of tasks
 * that become due, which is a change that no entry makes. A pipeline that is not over is remembered with the state that
 * it is counted as, because that follows from many tasks. One that is over stays as it is, and so is not remembered.
 */
import type { Job, JobState, Tallies } from '../../kernel/index.ts'
import {
  errorFingerprint,
  hasHeldEffects,
  isFinal,
  jobState,
  NO_TALLIES,
} from '../../kernel/index.ts'
import { Heap } from '../ready/indexed-queue.ts'
import { tagsOf, typeOf } from './job-with-stored-spec.ts'

/** In the order of the cells of a row. */
export const COUNTED_STATES = [
  'CREATED',
  'QUEUED',
  'RUNNING',
  'SUSPENDED',
  'RETRYING',
  'QUARANTINED',
  'SUCCEEDED',
  'FAILED',
] as const satisfies readonly JobState[]

const CELL_OF = Object.fromEntries(COUNTED_STATES.map((state, i) => [state, i])) as Readonly<
  Record<JobState, number>
>

export type Dimension = 'job' | 'segment' | 'tag' | 'error' | 'held'

/** The queue of a pipeline's row: each of its stages has its own. No queue has this name. */
export const NO_QUEUE = ''

export interface CountRow {
  readonly dimension: Dimension
  /** Of the tag, or the fingerprint of the error; else empty. */
  readonly name: string
  readonly queue: string
  readonly type: string
  /** In the order of `COUNTED_STATES`. */
  readonly cells: number[]
}

/** What a job counts under. */
export interface CountedUnder {
  readonly type: string
  readonly queue: string
  readonly tags: readonly string[]
  /** The fingerprint of its error; null: it has none. */
  readonly error: string | null
  /** It has an effect whose outcome a person has to say. */
  readonly held: boolean
}

/** `held`: of a pipeline, as it is counted. */
export function countedJob(job: Job, held = hasHeldEffects(job, NO_TALLIES)): CountedUnder {
  const queue = job.task?.policy.queue ?? NO_QUEUE
  return { type: typeOf(job), queue, tags: tagsOf(job), error: errorFor(job), held }
}

/** Which rows: all of a dimension, or those of one name. */
export interface CountsSource {
  readonly dimension: Dimension
  /** Null: all. */
  readonly name: string | null
}

type RowsByName = Map<string, Map<string, CountRow>>

/** Null: it has none, as nearly all jobs. */
function errorFor(job: Job): string | null {
  const state = job.task?.state
  return state === 'DEAD' || state === 'FAILED' ? errorFingerprint(job) : null
}

/** Counts, or how they change. */
export class CountTable {
  /** By queue and type: nearly all changes are here. */
  readonly #jobs: RowsByName = new Map()
  /** By dimension and name, then by queue and type. In a damaged database there may be any dimension. */
  readonly #others = new Map<string, RowsByName>()

  /** `by`: 1 or -1 for each job. */
  addJob({ type, queue, tags, error, held }: CountedUnder, state: JobState, by: number): void {
    const cell = CELL_OF[state]
    addTo(this.#row('job', '', queue, type), cell, by)
    if (tags.length > 0) {
      for (const tag of new Set(tags)) addTo(this.#row('tag', tag, queue, type), cell, by)
    }
    if (error !== null) addTo(this.#row('error', error, queue, type), cell, by)
    if (held) addTo(this.#row('held', '', queue, type), cell, by)
  }

  /** A job without tags and errors is in another state: nearly all changes are such. */
  moveJob(type: string, queue: string, from: JobState, to: JobState): void {
    const row = this.#jobs.get(queue)?.get(type) ?? this.#row('job', '', queue, type)
    addTo(row, CELL_OF[from], -1)
    addTo(row, CELL_OF[to], 1)
  }

  addSegment(type: string, queue: string, state: JobState, by: number): void {
    addTo(this.#row('segment', '', queue, type), CELL_OF[state], by)
  }

  addRow({ dimension, name, queue, type, cells }: CountRow): void {
    const row = this.#row(dimension, name, queue, type)
    cells.forEach((count, cell) => addTo(row, cell, count))
  }

  /** All in which something is not 0. */
  *rows(): IterableIterator<CountRow> {
    const others = this.#others.keys() as IterableIterator<Dimension>
    for (const dimension of ['job' as const, ...others]) yield* this.from({ dimension, name: null })
  }

  /** The same as columns, for a database. */
  columns(): (string | number)[][] {
    return Array.from(this.rows(), ({ dimension, name, queue, type, cells }) => {
      return [dimension, name, queue, type, ...cells]
    })
  }

  /** The same of one dimension, or name. */
  *from({ dimension, name }: CountsSource): IterableIterator<CountRow> {
    const byName = dimension === 'job' ? this.#jobs : this.#others.get(dimension)
    const one = dimension === 'job' || name === null ? null : byName?.get(name)
    if (byName === undefined || one === undefined) return
    for (const rows of one === null ? byName.values() : [one]) {
      for (const row of rows.values()) if (isNotZero(row)) yield row
    }
  }

  #row(dimension: Dimension, name: string, queue: string, type: string): CountRow {
    const isJob = dimension === 'job'
    let byName = isJob ? this.#jobs : this.#others.get(dimension)
    if (byName === undefined) this.#others.set(dimension, (byName = new Map()))
    const [first, second] = isJob ? [queue, type] : [name, `${queue}\0${type}`]
    let rows = byName.get(first)
    if (rows === undefined) byName.set(first, (rows = new Map<string, CountRow>()))
    let row = rows.get(second)
    if (row === undefined) rows.set(second, (row = newRow(dimension, name, queue, type)))
    return row
  }
}

function newRow(dimension: Dimension, name: string, queue: string, type: string): CountRow {
  return { dimension, name, queue, type, cells: COUNTED_STATES.map(() => 0) }
}

function addTo({ cells }: CountRow, cell: number, by: number): void {
  cells[cell] = (cells[cell] as number) + by
}

export function isNotZero({ cells }: CountRow): boolean {
  return cells.some((count) => count !== 0)
}

/** A pipeline that is CREATED until its time, whatever the times of its tasks are. */
interface LaterPipeline {
  readonly job: string
  readonly dueAt: number
}

export class JobCounter {
  readonly counts = new CountTable()
  readonly #pipelines = new Map<string, JobState>()
  /** The ids of those that are counted with held effects. */
  readonly #heldPipelines = new Set<string>()
  /** The first time first. One may be there twice, or be gone: it is looked at again. */
  readonly #later = new Heap<LaterPipeline>((a, b) => a.dueAt < b.dueAt)
  /** Of the plain job that is being changed: as it is counted. */
  #state: JobState = 'CREATED'
  #queue = ''
  #error: string | null = null
  #held = false

  /** A job that is new here, with its spec in memory, and that no checkpoint of finished jobs has counted. */
  add(job: Job, tallies: Tallies, now: number): void {
    const state = jobState(job, tallies, now)
    const held = hasHeldEffects(job, tallies)
    if (job.task === null && !isFinal(state)) this.#remember(job, state, held, now)
    const { type, tags } = job.spec
    const queue = job.task?.policy.queue ?? NO_QUEUE
    this.counts.addJob({ type, queue, tags, error: errorFor(job), held }, state, 1)
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
    const held = job.task === null ? this.#heldPipelines.delete(job.id) : undefined
    this.counts.addJob(countedJob(job, held), state, -1)
  }

  /** So many jobs that are over, as a checkpoint has them: none has held effects. */
  addFinished(job: Omit<CountedUnder, 'held'>, state: JobState, count: number): void {
    this.counts.addJob({ ...job, held: false }, state, count)
  }

  /** BEFORE an entry changes a plain job. */
  note(job: Job, now: number): void {
    this.#state = jobState(job, NO_TALLIES, now)
    this.#queue = job.task?.policy.queue ?? ''
    this.#error = errorFor(job)
    this.#held = hasHeldEffects(job, NO_TALLIES)
  }

  /** AFTER it did. */
  update(job: Job, now: number): void {
    const state = jobState(job, NO_TALLIES, now)
    const error = errorFor(job)
    const queue = job.task?.policy.queue ?? ''
    // It becomes so, or is so no more, with its state.
    if (state === this.#state && error === this.#error && queue === this.#queue) return
    const held = hasHeldEffects(job, NO_TALLIES)
    const type = typeOf(job)
    const tags = tagsOf(job)
    if (tags.length === 0 && queue === this.#queue && error === null && this.#error === null) {
      return this.counts.moveJob(type, queue, this.#state, state)
    }
    const before = { type, queue: this.#queue, tags, error: this.#error, held: this.#held }
    this.counts.addJob(before, this.#state, -1)
    this.counts.addJob({ type, queue, tags, error, held }, state, 1)
  }

  /** AFTER a pipeline, or a task of it, has changed. */
  updatePipeline(job: Job, tallies: Tallies, now: number): void {
    const before = this.#pipelines.get(job.id)
    // It was over before.
    if (before === undefined) return
    const state = jobState(job, tallies, now)
    const wasHeld = this.#heldPipelines.has(job.id)
    const held = hasHeldEffects(job, tallies)
    if (isFinal(state)) this.#forgetPipeline(job.id)
    else this.#remember(job, state, held, now)
    if (state === before && held === wasHeld) return
    this.counts.addJob(countedJob(job, wasHeld), before, -1)
    this.counts.addJob(countedJob(job, held), state, 1)
  }

  /** The time of a plain job has come that waited for it until now. */
  becameDue(job: Job, before: number, now: number): void {
    this.note(job, before)
    this.update(job, now)
  }

  #forgetPipeline(id: string): void {
    this.#pipelines.delete(id)
    this.#heldPipelines.delete(id)
  }

  #remember({ id, dueAt }: Job, state: JobState, held: boolean, now: number): void {
    this.#pipelines.set(id, state)
    if (held) this.#heldPipelines.add(id)
    else this.#heldPipelines.delete(id)
    if (state === 'CREATED' && dueAt > now) this.#later.push({ job: id, dueAt })
  }
}
