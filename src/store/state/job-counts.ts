/**
 * How many jobs are in each state, by what they are: kept beside the jobs, so that no caller that asks for
 * it makes a store count them. Fed by the state before and after each change; nothing is decided by it.
 *
 * A job counts once under its type and queue, once under each of its tags, and, while it is FAILED or in
 * quarantine, once under its error. Segments of pipelines count under their queue, apart from jobs. What
 * such a row counts is a cell for each state.
 */
import type { Job, JobState } from '../../kernel/index.ts'
import { errorFingerprint } from '../../kernel/index.ts'
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

export type Dimension = 'job' | 'segment' | 'tag' | 'error'

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
}

export function countedJob(job: Job): CountedUnder {
  const queue = job.task?.policy.queue ?? NO_QUEUE
  return { type: typeOf(job), queue, tags: tagsOf(job), error: errorFingerprint(job) }
}

/** Which rows: all of a dimension, or those of one name. */
export interface CountsSource {
  readonly dimension: Dimension
  /** Null: all. */
  readonly name: string | null
}

type RowsByName = Map<string, Map<string, CountRow>>

/** Counts, or how they change. */
export class CountTable {
  /** By queue and type: nearly all changes are here. */
  readonly #jobs: RowsByName = new Map()
  /** By dimension and name, then by queue and type. In a damaged database there may be any dimension. */
  readonly #others = new Map<string, RowsByName>()

  /** `by`: 1 or -1 for each job. */
  addJob({ type, queue, tags, error }: CountedUnder, state: JobState, by: number): void {
    const cell = CELL_OF[state]
    addTo(this.#row('job', '', queue, type), cell, by)
    if (tags.length > 0) {
      for (const tag of new Set(tags)) addTo(this.#row('tag', tag, queue, type), cell, by)
    }
    if (error !== null) addTo(this.#row('error', error, queue, type), cell, by)
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
