/**
 * Counts and queues, from the counters that transactions keep. What became due since, and no claim has given a
 * turn yet, is put right by reading it: so many at most.
 */
import type { JobState, Queue } from '../../../kernel/index.ts'
import type { CountsAnswer, QueueSummary } from '../../read-model.ts'
import { FIRST_IN_LINE } from '../../ready/channel.ts'
import type { CountsSource } from '../../state/job-counts.ts'
import { CountTable, NO_QUEUE } from '../../state/job-counts.ts'
import type { QueryOf } from '../../store.ts'
import {
  assertCountable,
  countsAnswer,
  groupsSource,
  queueSummaries,
  totalsSource,
} from '../../views/count-views.ts'
import type { Connection, Row, Statement } from '../connection.ts'
import { countRow, stateAfter, tagsOf } from '../rows/counted-rows.ts'
import { queueOfChannel, waitingAs } from '../rows/work-rows.ts'
import type { QueryContext } from './job-queries.ts'

/** DueCounts tasks that no claim has given a turn yet are counted by reading them: so many at most. */
export const MOST_WITHOUT_TURN = 10_000
/** And channels, with each of their priorities, where the oldest task is looked for. */
const MOST_CHANNELS = 1_000
/** Rows of counters that are read at once. */
const MOST_ROWS = 5_000

/** What time alone has changed since the counters were written. */
type DueCounts = readonly [tasks: readonly Row[], pipelines: readonly Row[]]

export class CountQueries {
  readonly #context: QueryContext

  constructor(context: QueryContext) {
    this.#context = context
  }

  async counts(connection: Connection, query: QueryOf<'counts'>): Promise<CountsAnswer> {
    assertCountable(query)
    const due = await this.#due(connection)
    const totals = await this.#rows(connection, totalsSource(query), due)
    if (query.by === undefined) return countsAnswer(query, totals.rows(), [])
    const source = groupsSource(query)
    if (source.name !== null) return countsAnswer(query, totals.rows(), totals.rows())
    const { counts, last } = await this.#page(connection, source, query.after ?? '', due)
    const groups = [...counts.from(source)].filter(({ name }) => last === null || name < last)
    return countsAnswer(query, totals.rows(), groups, last !== null)
  }

  /** What a list is planned by: all jobs, and those with a tag. */
  async forList(
    connection: Connection,
    tag: string | undefined,
  ): Promise<{ jobs: CountTable; tagged: CountTable | null }> {
    const due = await this.#due(connection)
    const jobs = await this.#rows(connection, { dimension: 'job', name: '' }, due)
    if (tag === undefined) return { jobs, tagged: null }
    return { jobs, tagged: await this.#rows(connection, { dimension: 'tag', name: tag }, due) }
  }

  async queues(connection: Connection): Promise<QueueSummary[]> {
    const { sql, records } = this.#context
    const [found] = await connection.run([{ sql: sql.allQueues, values: [] }])
    const configured = (found?.rows ?? []).map(([name, , record]): Queue => {
      return records.queue(record as Uint8Array, name as string)
    })
    const due = await this.#due(connection)
    const jobs = await this.#rows(connection, { dimension: 'job', name: '' }, due)
    const segments = await this.#rows(connection, { dimension: 'segment', name: '' }, due)
    const oldest = await this.#oldestDue(connection)
    const rows = [...jobs.rows(), ...segments.rows()]
    return queueSummaries(configured, rows, (queue) => oldest.get(queue) ?? null)
  }

  /** By queue. */
  async #oldestDue(connection: Connection): Promise<Map<string, number>> {
    const { sql, now } = this.#context
    const values = [now(), MOST_WITHOUT_TURN, MOST_CHANNELS, FIRST_IN_LINE]
    const [found] = await connection.run([{ sql: sql.oldestDue, values }])
    const oldest = new Map<string, number>()
    for (const [channel, dueAt] of found?.rows ?? []) {
      if (dueAt === null) continue
      const queue = queueOfChannel(channel as string)
      oldest.set(queue, Math.min(oldest.get(queue) ?? Infinity, Number(dueAt)))
    }
    return oldest
  }

  async #due(connection: Connection): Promise<DueCounts> {
    const { sql, now } = this.#context
    const values = [now(), MOST_WITHOUT_TURN]
    const [tasks, pipelines] = await connection.run([
      { sql: sql.dueCounts, values },
      { sql: sql.duePipelines, values },
    ])
    return [tasks?.rows ?? [], pipelines?.rows ?? []]
  }

  /** Those of one name. */
  async #rows(
    connection: Connection,
    { dimension, name }: CountsSource,
    due: DueCounts,
  ): Promise<CountTable> {
    const statements = [
      { sql: this.#context.sql.countsNamed, values: [dimension, name, true, MOST_ROWS] },
      { sql: this.#context.sql.changedCounts, values: [dimension] },
    ]
    const counts = await counted(connection, statements)
    addDue(counts, due)
    const named = new CountTable()
    for (const row of counts.from({ dimension, name })) named.addRow(row)
    return named
  }

  /** Those behind a name. `last`: where it is cut; null: that was all. */
  async #page(
    connection: Connection,
    { dimension }: CountsSource,
    after: string,
    due: DueCounts,
  ): Promise<{ counts: CountTable; last: string | null }> {
    const { countsNamed, changedCounts } = this.#context.sql
    const [kept, changed] = await connection.run([
      { sql: countsNamed, values: [dimension, after, false, MOST_ROWS] },
      { sql: changedCounts, values: [dimension] },
    ])
    const counts = new CountTable()
    for (const row of [...(kept?.rows ?? []), ...(changed?.rows ?? [])])
      counts.addRow(countRow(row))
    addDue(counts, due)
    const isFull = kept?.rows.length === MOST_ROWS
    return { counts, last: isFull ? (kept.rows.at(-1)?.[1] as string) : null }
  }
}

async function counted(connection: Connection, statements: Statement[]): Promise<CountTable> {
  const counts = new CountTable()
  for (const { rows } of await connection.run(statements)) {
    for (const row of rows) counts.addRow(countRow(row))
  }
  return counts
}

/** They are QUEUED, or RUNNING, and counted as something else. */
function addDue(counts: CountTable, [tasks, pipelines]: DueCounts): void {
  for (const [type, queue, tags, isAgain, suspended, isSegment, count] of tasks) {
    const by = Number(count)
    if (isSegment) {
      counts.addSegment(type as string, queue as string, 'CREATED', -by)
      counts.addSegment(type as string, queue as string, 'QUEUED', by)
      continue
    }
    const at = { type: type as string, queue: queue as string }
    const job = { ...at, tags: tagsOf(tags), error: null, held: false }
    counts.addJob(job, waitingAs(Number(isAgain), Boolean(suspended)), -by)
    counts.addJob(job, 'QUEUED', by)
  }
  for (const [type, tags, state, held, count] of pipelines) {
    const at = { type: type as string, queue: NO_QUEUE }
    const job = { ...at, tags: tagsOf(tags), error: null, held: Boolean(held) }
    counts.addJob(job, state as JobState, -Number(count))
    counts.addJob(job, stateAfter(state as JobState), Number(count))
  }
}
