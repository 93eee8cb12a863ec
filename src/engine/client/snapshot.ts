/**
 * All jobs as they were at a moment of the past: one of them, a list, and how many were in which state.
 *
 * What only memory knew (progress, lines, stalled handlers, workers) is gone with the moment. Each call
 * reads the history anew; a list and counts hold a few jobs at a time, however many there were.
 */
import { InvalidDefinition } from '../../definition/index.ts'
import type { JobState } from '../../kernel/index.ts'
import type { Moment, SnapshotFilter, Store, StoreSnapshot } from '../../store/index.ts'
import { pastQueries } from '../../store/index.ts'
import type { JobInfo } from './job-info.ts'
import { jobInfo } from './job-info.ts'
import type { JobListItem } from './job-list.ts'
import { jobListItem } from './job-list.ts'

/** As that of `list`, without pages: what it gives is iterated over. */
export type PastFilter = SnapshotFilter

/** So many jobs, and how many of them were in each state. */
export interface CountedJobs {
  readonly total: number
  readonly states: Readonly<Record<JobState, number>>
}

/** Of one type, or of one queue. */
export interface NamedCount extends CountedJobs {
  readonly name: string
}

export interface JobCounts extends CountedJobs {
  /** In order of their names. */
  readonly types: readonly NamedCount[]
  /** In order of their names; pipelines are in none, because each of their stages has its own. */
  readonly queues: readonly NamedCount[]
}

export class Snapshot {
  readonly #store: Store
  readonly #moment: Moment

  constructor(store: Store, moment: Moment) {
    this.#store = store
    this.#moment = moment
  }

  /** Null: there was no such job then, or it was forgotten by then. */
  async get(id: string): Promise<JobInfo | null> {
    if (typeof id !== 'string') {
      throw new InvalidDefinition(
        `The id of a job is a text, not ${String(id)}: give the \`id\` of its handle.`,
      )
    }
    const snapshot = await this.#read()
    const past = await snapshot.job(id)
    if (past === null) return null
    const queries = pastQueries(past, snapshot.time)
    const view = await queries.query({ kind: 'overview', job: id })
    return view === null ? null : jobInfo(queries, view, NOTHING_SOFT)
  }

  /** In order of submission. */
  async *list(filter: PastFilter = {}): AsyncGenerator<JobListItem, void> {
    assertFilter(filter)
    const snapshot = await this.#read()
    for await (const summary of snapshot.jobs(filter)) yield jobListItem(summary)
  }

  async counts(filter: PastFilter = {}): Promise<JobCounts> {
    assertFilter(filter)
    const snapshot = await this.#read()
    const all = new Count('')
    const types = new Map<string, Count>()
    const queues = new Map<string, Count>()
    for await (const { type, queue, state } of snapshot.jobs(filter)) {
      all.add(state)
      countOf(types, type).add(state)
      if (queue !== null) countOf(queues, queue).add(state)
    }
    const { total, states } = all
    return { total, states, types: inOrder(types), queues: inOrder(queues) }
  }

  #read(): Promise<StoreSnapshot> {
    return this.#store.at(this.#moment)
  }
}

const NOTHING_SOFT = { progress: null, lines: [], stalledSince: null } as const

/** A time of the store's clock, or a position as `watch` and `history` have it. */
export function momentOf(given: Date | number): Moment {
  if (given instanceof Date && !Number.isNaN(given.getTime())) return { time: given.getTime() }
  if (typeof given === 'number' && Number.isSafeInteger(given) && given >= 0) {
    return { position: given }
  }
  throw new InvalidDefinition(
    `at(…) takes a Date, or a position as watch() and history() show it (a whole number), not ${String(given)}.`,
  )
}

const FILTERS: Readonly<Record<keyof PastFilter, true>> = {
  type: true,
  state: true,
  queue: true,
  tag: true,
  group: true,
  key: true,
}

/** There are no pages: a limit that did nothing would read everything. */
function assertFilter(filter: object): void {
  const unknown = Object.keys(filter).find((name) => !Object.hasOwn(FILTERS, name))
  if (unknown === undefined) return
  throw new InvalidDefinition(
    `Jobs of the past are not filtered by '${unknown}': give ${Object.keys(FILTERS).join(', ')}. A list has no pages: iterate over it, and leave off when you have enough.`,
  )
}

class Count implements NamedCount {
  readonly name: string
  total = 0
  readonly states: Record<JobState, number> = {
    CREATED: 0,
    QUEUED: 0,
    RUNNING: 0,
    SUSPENDED: 0,
    RETRYING: 0,
    QUARANTINED: 0,
    SUCCEEDED: 0,
    FAILED: 0,
  }

  constructor(name: string) {
    this.name = name
  }

  add(state: JobState): void {
    this.total += 1
    this.states[state] += 1
  }
}

function countOf(counts: Map<string, Count>, name: string): Count {
  let count = counts.get(name)
  if (count === undefined) counts.set(name, (count = new Count(name)))
  return count
}

function inOrder(counts: ReadonlyMap<string, Count>): NamedCount[] {
  const all = [...counts.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1))
  return all.map(({ name, total, states }) => ({ name, total, states }))
}
