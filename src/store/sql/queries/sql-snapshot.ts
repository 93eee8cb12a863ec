/**
 * Time travel on a database: the events of each job up to a moment, folded again, a page of jobs at a time.
 *
 * A job that is still there is found by its row, and one that was forgotten since by the entry that forgot
 * it; from there the links between entries lead back to its submit. Of a pipeline that was forgotten since,
 * the links of its tasks are gone with their rows: all events of its time are read for it.
 *
 * On PostgreSQL a transaction may commit entries that are older than ones that were seen. So a moment is
 * exact if `watch` has shown its position, or if it is older than all transactions that are under way.
 */
import { isWritable } from '../../../kernel/wellformed.ts'
import type { JobRecord } from '../../../log/index.ts'
import type { Moment, OldestMoment } from '../../moment.ts'
import { assertKept } from '../../moment.ts'
import type { EntriesAsked, JobSummary } from '../../read-model.ts'
import type { PastJob, PositionedEntry, SnapshotFilter, StoreSnapshot } from '../../store.ts'
import { activityOf } from '../../views/job-activity.ts'
import { matchesSubmit } from '../../views/job-pages.ts'
import { foldJob, pastSummary } from '../../views/past-job.ts'
import type { Connection, Row } from '../connection.ts'
import type { ConnectionPool } from '../connection-pool.ts'
import type { Baseline, EventRow } from '../rows/event-rows.ts'
import { baseline, eventRow, historyMark } from '../rows/event-rows.ts'
import type { Records } from '../rows/records.ts'
import type { HistoryStatements, SnapshotStatements, Statements } from '../statements.ts'
import type { EntryFeed } from './entry-feed.ts'
import { positionedEntries } from './job-queries.ts'
import { JobFold, NO_LISTENER } from '../verify/job-fold.ts'

export interface SqlSnapshotParts {
  readonly pool: ConnectionPool
  readonly sql: Statements
  readonly snapshots: SnapshotStatements
  readonly history: HistoryStatements
  readonly records: Records
}

/** Jobs that are read at once. */
const PAGE = 100

/** The events of one job, up to the moment. */
interface JobEvents {
  readonly job: string
  /** Where it was forgotten since; null: it was not. */
  readonly forgotten: number | null
  readonly events: readonly EventRow[]
}

/** `now`: the time of the database. */
export function openSqlSnapshot(
  parts: SqlSnapshotParts,
  moment: Moment,
  now: number,
): Promise<StoreSnapshot> {
  return parts.pool.run(async (connection) => {
    const { snapshots, history } = parts
    assertKept(moment, await oldestMoment(connection, snapshots, history))
    const time =
      'time' in moment
        ? Math.min(moment.time, now)
        : await timeAt(connection, snapshots, moment.position)
    return new SqlSnapshot(parts, moment, time)
  })
}

/**
 * How far back one can go: a copy of a store begins with what it was when it was copied, and of jobs that
 * were forgotten events are removed in the end. Null: to the beginning.
 */
async function oldestMoment(
  connection: Connection,
  snapshots: SnapshotStatements,
  history: HistoryStatements,
): Promise<OldestMoment | null> {
  const [begun, marked] = await connection.run([
    { sql: snapshots.oldest, values: [] },
    { sql: history.read, values: [] },
  ])
  const { through, olderThan } = historyMark(marked?.rows[0])
  const position = Math.max(through, (begun?.rows[0]?.[0] as number | null) ?? 0)
  if (position === 0) return null
  const time = await timeAt(connection, snapshots, position)
  return { position, time: Math.max(time, olderThan) }
}

async function timeAt(
  connection: Connection,
  snapshots: SnapshotStatements,
  position: number,
): Promise<number> {
  const [found] = await connection.run([{ sql: snapshots.timeAt, values: [position] }])
  return (found?.rows[0]?.[0] as number | undefined) ?? 0
}

/**
 * Of the whole log, between two places, where no entry has to stand. The first ones end where an earlier entry may still
 * come, so that a reader who goes on behind the last of them misses none; the newest may lack one.
 */
export async function logEntries(
  connection: Connection,
  snapshots: SnapshotStatements,
  records: Records,
  feed: EntryFeed,
  { after, through, limit, newest = false }: EntriesAsked,
): Promise<PositionedEntry[]> {
  const values = [after, through, limit]
  if (!newest) return feed.page(connection, after, { sql: snapshots.entriesWithin, values })
  const [result] = await connection.run([{ sql: snapshots.newestEntriesWithin, values }])
  return positionedEntries(result?.rows ?? [], records).toReversed()
}

class SqlSnapshot implements StoreSnapshot {
  readonly time: number
  readonly #parts: SqlSnapshotParts
  readonly #moment: Moment
  /** The last position and the last time that count. */
  readonly #bounds: readonly [position: number, time: number]

  constructor(parts: SqlSnapshotParts, moment: Moment, time: number) {
    this.#parts = parts
    this.#moment = moment
    this.time = time
    this.#bounds =
      'time' in moment
        ? [Number.MAX_SAFE_INTEGER, moment.time]
        : [moment.position, Number.MAX_SAFE_INTEGER]
  }

  async position(): Promise<number> {
    return this.#parts.pool.run(async (connection) => {
      const { newestUpTo } = this.#parts.snapshots
      const [found] = await connection.run([{ sql: newestUpTo, values: [...this.#bounds] }])
      return (found?.rows[0]?.[0] as number | undefined) ?? 0
    })
  }

  async job(id: string): Promise<PastJob | null> {
    // A text that cannot be written is the name of nothing.
    if (!isWritable(id)) return null
    return this.#parts.pool.run(async (connection) => {
      const { eventsOf } = this.#parts.snapshots
      const [found] = await connection.run([{ sql: eventsOf, values: [id, ...this.#bounds] }])
      await this.#assertStillKept(connection)
      const past = await this.#fold(connection, jobEvents(found?.rows ?? []), {})
      return past.at(-1) ?? null
    })
  }

  async *jobs(filter: SnapshotFilter): AsyncGenerator<JobSummary, void> {
    for (let after = 0; ;) {
      const page = await this.#parts.pool.run((connection) => this.#page(connection, after, filter))
      for (const { record } of page.jobs) {
        const summary = pastSummary(record, this.time, filter)
        if (summary !== null) yield summary
      }
      if (page.next === null) return
      after = page.next
    }
  }

  /** AFTER each reading: events that were needed may have been removed since the snapshot was opened. */
  async #assertStillKept(connection: Connection): Promise<void> {
    const { snapshots, history } = this.#parts
    assertKept(this.#moment, await oldestMoment(connection, snapshots, history))
  }

  /** Jobs behind a position. `next`: where to go on; null: there are no more. */
  async #page(
    connection: Connection,
    after: number,
    filter: SnapshotFilter,
  ): Promise<{ jobs: readonly PastJob[]; next: number | null }> {
    const { passed, events } = this.#parts.snapshots
    const values = [after, ...this.#bounds, PAGE]
    const [counted, found] = await connection.run([
      { sql: passed, values },
      { sql: events, values },
    ])
    await this.#assertStillKept(connection)
    const [count, last] = counted?.rows[0] ?? [0, null]
    const jobs = await this.#fold(connection, jobEvents(found?.rows ?? []), filter)
    return { jobs, next: count === PAGE ? (last as number) : null }
  }

  /** Those that were there, and that the filter does not keep out by what they were submitted with. */
  async #fold(
    connection: Connection,
    jobs: readonly JobEvents[],
    filter: SnapshotFilter,
  ): Promise<PastJob[]> {
    if (jobs.length === 0) return []
    const { sql, records } = this.#parts
    const rows = jobs.map(({ job }) => [job])
    const [found] = await connection.run([{ sql: sql.baselinesOf, rows }])
    const baselines = (found?.rows ?? []).map(baseline)
    const past: PastJob[] = []
    for (const one of jobs) {
      const [first] = one.events
      if (first === undefined) continue
      const entry = records.entry(first.record, first.position)
      if (entry.type === 'JobSubmitted' && !matchesSubmit(entry.spec, filter)) continue
      const isPipeline = entry.type === 'JobSubmitted' && entry.spec.stages !== null
      const events =
        isPipeline && one.forgotten !== null
          ? await this.#allBetween(connection, one, first.position, one.forgotten)
          : one.events
      const own = baselines.filter(({ name }) => name === one.job)
      const entries = this.#entries(events)
      const record =
        own.length === 0 ? foldJob(null, entries) : this.#fromBaseline(one.job, events, own)
      if (record !== null) past.push({ record, entries })
    }
    return past
  }

  async #allBetween(
    connection: Connection,
    { job }: JobEvents,
    first: number,
    last: number,
  ): Promise<EventRow[]> {
    const { eventsBetween } = this.#parts.snapshots
    const values = [job, first, last, ...this.#bounds]
    const [found] = await connection.run([{ sql: eventsBetween, values }])
    return (found?.rows ?? []).map(eventRow)
  }

  #entries(events: readonly EventRow[]): PositionedEntry[] {
    const { records } = this.#parts
    return events.map(({ position, record }) => ({
      position,
      entry: records.entry(record, position),
    }))
  }

  /** Null: what it was then is not known any more, or it was given up. */
  #fromBaseline(
    job: string,
    events: readonly EventRow[],
    baselines: readonly Baseline[],
  ): JobRecord | null {
    const fold = new JobFold(job, baselines, this.#parts.records, NO_LISTENER)
    for (const event of events) fold.apply(event)
    fold.finish()
    const { record } = fold
    if (record === null) return null
    const [position, time] = this.#bounds
    const { updatedAt } = activityOf(record.job, record.stages)
    return record.job.lastPosition > position || updatedAt > time ? null : record
  }
}

/** Rows of one job after the other. */
function jobEvents(rows: readonly Row[]): JobEvents[] {
  const jobs: { first: number; job: string; forgotten: number | null; events: EventRow[] }[] = []
  for (const [first, forgotten, ...columns] of rows) {
    const event = eventRow(columns)
    const last = jobs.at(-1)
    if (last?.first === first) last?.events.push(event)
    else {
      jobs.push({
        first: first as number,
        job: event.job as string,
        forgotten: forgotten as number | null,
        events: [event],
      })
    }
  }
  return jobs
}
