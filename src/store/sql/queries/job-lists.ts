/**
 * Pages of jobs by a filter. The counters say which index leaves the fewest jobs, and whether there are any; a page
 * looks at so many only, and the next one goes on behind where it stopped.
 */
import type { JobState } from '../../../kernel/index.ts'
import type { JobsPage } from '../../read-model.ts'
import type { CountTable } from '../../state/job-counts.ts'
import type { QueryOf } from '../../store.ts'
import { countJobs, mostMatches } from '../../views/count-views.ts'
import { listing, PageOfJobs } from '../../views/job-pages.ts'
import type { Connection, Row, Value } from '../connection.ts'
import type { Lists, ListSource } from '../list-statements.ts'
import { errorLabel, tagLabel } from '../rows/counted-rows.ts'
import { leasedTasks } from '../rows/work-rows.ts'
import type { Statements } from '../statements.ts'
import type { CountQueries } from './count-queries.ts'
import type { JobQueries, QueryContext } from './job-queries.ts'

/** Jobs that the first step of a page looks at, each further one four times as many. */
const FEW_LOOKED = 200
const MOST_AT_ONCE = 3_200
/** Jobs that a page looks at, about. */
const MOST_LOOKED = 4_000
/** Rows that are read at once: each has a record. */
const MOST_ROWS = 500
/** So many can be put in order each time. */
const MOST_SORTED = 5_000

type JobsQuery = QueryOf<'jobs'>

/** Where the jobs are taken from. `count`: how many these are, about. */
interface Source {
  readonly source: ListSource
  readonly name: string | null
  readonly count: number
}

const ROW_STATE: Readonly<Record<JobState, string>> = {
  CREATED: 'WAITING',
  QUEUED: 'WAITING',
  RETRYING: 'WAITING',
  SUSPENDED: 'WAITING',
  RUNNING: 'LEASED',
  QUARANTINED: 'DEAD',
  SUCCEEDED: 'COMPLETED',
  FAILED: 'FAILED',
}

export class JobLists {
  readonly #sql: Statements
  readonly #lists: Lists
  readonly #context: QueryContext
  readonly #jobs: JobQueries
  readonly #counts: CountQueries

  constructor(context: QueryContext, lists: Lists, jobs: JobQueries, counts: CountQueries) {
    this.#sql = context.sql
    this.#lists = lists
    this.#context = context
    this.#jobs = jobs
    this.#counts = counts
  }

  async page(connection: Connection, query: JobsQuery): Promise<JobsPage> {
    if (query.worker !== undefined) return this.#ofWorker(connection, query, query.worker)
    const source = await this.#choose(connection, query)
    if (source === null) return { jobs: [], next: null }
    const page = new PageOfJobs(query)
    const now = await this.#jobs.now(connection)
    let after = await this.#begin(connection, query)
    let most = FEW_LOOKED
    for (let looked = 0; ;) {
      const step = await this.#look(connection, query, source, after, most)
      for (const { job, tallies } of await this.#jobs.withTallies(connection, step.rows)) {
        if (isBehind(query, job.submittedAt)) return page.page
        if (!page.add(listing(job, tallies, now))) return page.page
        after = job.firstPosition
      }
      looked += step.count
      if (step.rows.length < MOST_ROWS) {
        if (step.count < most) return page.page
        after = step.last
      }
      if (looked >= MOST_LOOKED) {
        page.cut(after)
        return page.page
      }
      most = Math.min(MOST_AT_ONCE, most * 4)
    }
  }

  async #look(
    connection: Connection,
    query: JobsQuery,
    { source, name }: Source,
    after: number,
    most: number,
  ): Promise<{ rows: readonly Row[]; count: number; last: number }> {
    const { page, looked } = this.#lists[query.newest === true ? 'newest' : 'oldest'][source]
    const { type = null, queue = null, state, endedFrom = null, endedBefore = null } = query
    const where = [after, most, name]
    const rowState = state === undefined ? null : ROW_STATE[state]
    const filters: Value[] = [type, queue, rowState, endedFrom, endedBefore]
    const [found, passed] = await connection.run([
      { sql: page, values: [...where, ...filters, MOST_ROWS] },
      { sql: looked, values: where },
    ])
    const [count = 0, last = after] = (passed?.rows[0] ?? []) as readonly number[]
    return { rows: found?.rows ?? [], count, last: last ?? after }
  }

  /** Null: there is no such job. */
  async #choose(connection: Connection, query: JobsQuery): Promise<Source | null> {
    const { type, state, queue, tag, key, error, heldEffects } = query
    const all: Source = { source: 'all', name: null, count: Infinity }
    if (heldEffects === true) return { source: 'held', name: null, count: 0 }
    if (key !== undefined) return { source: 'key', name: key, count: 0 }
    if (error !== undefined) return { source: 'label', name: errorLabel(error), count: 0 }
    const isAny = [type, state, queue, tag].every((one) => one === undefined)
    if (isAny) return all
    const { jobs, tagged } = await this.#counts.forList(connection, tag)
    const sources: Source[] = [all]
    if (state !== undefined) sources.push(...ofState(jobs, state))
    if (type !== undefined)
      sources.push({
        source: 'type',
        name: type,
        count: countJobs(jobs.rows(), (row) => row.type === type),
      })
    if (tag !== undefined && tagged !== null)
      sources.push({ source: 'label', name: tagLabel(tag), count: countJobs(tagged.rows()) })
    if (mostMatches((tagged ?? jobs).rows(), query) === 0) return null
    return sources.reduce((best, one) => (one.count < best.count ? one : best))
  }

  /** Behind which position a page begins. Positions grow with times, but for what is decided at the same moment. */
  async #begin(connection: Connection, query: JobsQuery): Promise<number> {
    const { newest = false, submittedFrom, submittedBefore } = query
    const after = query.after ?? (newest ? Number.MAX_SAFE_INTEGER : 0)
    const time = newest ? submittedBefore : submittedFrom
    if (time === undefined) return after
    const position = await this.#positionAt(connection, time + (newest ? SLACK_MS : -SLACK_MS))
    return newest ? Math.min(after, position) : Math.max(after, position - 1)
  }

  /** Of the first event at or behind a time; a little more, if there is none. */
  async #positionAt(connection: Connection, time: number): Promise<number> {
    const [newest] = await connection.run([{ sql: this.#sql.lastPositions, values: [] }])
    let low = 0
    let high = ((newest?.rows[0]?.[0] as number | undefined) ?? 0) + 1
    while (low < high) {
      const middle = Math.floor((low + high) / 2)
      const values = [middle]
      const [found] = await connection.run([{ sql: this.#sql.firstEventFrom, values }])
      const [position, at] = (found?.rows[0] ?? [high, Infinity]) as readonly [number, number]
      if (at >= time) high = middle
      else low = position + 1
    }
    return low
  }

  async #ofWorker(connection: Connection, query: JobsQuery, worker: string): Promise<JobsPage> {
    const { sql, records } = this.#context
    const [found] = await connection.run([{ sql: sql.leased, values: [] }])
    const held = leasedTasks(found?.rows ?? [], records).filter(
      ({ lease }) => lease.worker === worker,
    )
    const ids = [...new Set(held.map(({ job }) => job))]
    const rows = ids.map((id) => [id])
    const [own] = await connection.run([{ sql: sql.jobRows, rows }])
    const now = await this.#jobs.now(connection)
    const jobs = await this.#jobs.withTallies(connection, own?.rows ?? [])
    const sign = query.newest === true ? -1 : 1
    const page = new PageOfJobs(query)
    const after = query.after ?? (query.newest === true ? Infinity : 0)
    for (const { job, tallies } of jobs.toSorted(
      (a, b) => (a.job.firstPosition - b.job.firstPosition) * sign,
    )) {
      if ((job.firstPosition - after) * sign <= 0) continue
      if (!page.add(listing(job, tallies, now))) break
    }
    return page.page
  }
}

/** Clocks of transactions that overlap may be so far apart. */
const SLACK_MS = 5_000

/** Nothing that comes later can have been submitted in the time of the filter. */
function isBehind({ newest, submittedFrom, submittedBefore }: JobsQuery, at: number): boolean {
  if (newest === true) return submittedFrom !== undefined && at < submittedFrom - SLACK_MS
  return submittedBefore !== undefined && at >= submittedBefore + SLACK_MS
}

function ofState(jobs: CountTable, state: JobState): Source[] {
  const count = (...states: readonly JobState[]): number =>
    countJobs(jobs.rows(), () => true, states)
  const name = null
  switch (state) {
    case 'QUARANTINED':
      return [{ source: 'dead', name, count: count(state) }]
    case 'FAILED':
      return [{ source: 'failed', name, count: count(state) }]
    case 'RETRYING':
    case 'SUSPENDED':
      return [{ source: 'again', name, count: count('RETRYING', 'SUSPENDED') }]
    case 'RUNNING':
      return [{ source: 'running', name, count: count(state) }]
    case 'SUCCEEDED':
      return few({ source: 'succeeded', name, count: count('SUCCEEDED', 'FAILED') })
    case 'CREATED':
    case 'QUEUED':
      return few({
        source: 'waiting',
        name,
        count: count('CREATED', 'QUEUED', 'RETRYING', 'SUSPENDED'),
      })
  }
}

/** Its jobs are sorted for each page. */
function few(source: Source): Source[] {
  return source.count <= MOST_SORTED ? [source] : []
}
