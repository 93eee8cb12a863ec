/**
 * A database that a store is copied into: the events first, page by page, and then all rows, which
 * follow from them. Until the copy is whole, a mark in `meta` keeps the database from being opened.
 */
import { DatabaseCheck } from '../../sql/verify/database-check.ts'
import type { Statement, Connection, Row } from '../../sql/connection.ts'
import type { Dialect } from '../../sql/dialect.ts'
import type { EventRow, HistoryMark } from '../../sql/rows/event-rows.ts'
import { baselineColumns } from '../../sql/rows/event-rows.ts'
import { COPYING } from '../../sql/verify/check-on-open.ts'
import type { DatabaseProblem } from '../../sql/failures.ts'
import type { Fix } from '../../sql/verify/database-problem.ts'
import { RowRepairs } from '../../sql/verify/database-problem.ts'
import { Records } from '../../sql/rows/records.ts'
import type { Statements } from '../../sql/statements.ts'
import { migrate } from '../../sql/tables.ts'
import { CopyUnfinished } from '../../errors.ts'
import type { Copied, CopyProgress, CopySource } from './copy-source.ts'
import { NotEmpty, SourceDamaged } from './copy-source.ts'

/** `onProgress` counts everything twice: written as events, and read again to make the rows. */
export async function copyIntoSql(
  source: CopySource,
  dialect: Dialect,
  onProgress: CopyProgress,
): Promise<Copied> {
  const connection = await dialect.connect()
  try {
    return await new SqlTarget(connection, dialect, onProgress).copyFrom(source)
  } finally {
    await connection.close()
  }
}

const WHERE = 'the database'

class SqlTarget {
  readonly #connection: Connection
  readonly #dialect: Dialect
  readonly #sql: Statements
  readonly #onProgress: CopyProgress
  /** How many leases hold each limit. */
  readonly #held = new Map<string, number>()

  constructor(connection: Connection, dialect: Dialect, onProgress: CopyProgress) {
    this.#connection = connection
    this.#dialect = dialect
    this.#sql = dialect.statements
    this.#onProgress = onProgress
  }

  async copyFrom(source: CopySource): Promise<Copied> {
    const sql = this.#sql
    await migrate(this.#connection, this.#dialect)
    await this.#assertEmpty()
    await this.#write([{ sql: sql.setMeta, values: [COPYING, 'begun'] }])
    let events = 0
    for await (const page of source.events()) {
      events += page.events.length
      await this.#write([{ sql: sql.insertEvents, rows: page.events.map(columnsOf) }])
      this.#onProgress(page.done, 2 * source.total)
    }
    if (source.removed !== null) await this.#writeHistory(source.removed)
    for await (const page of source.baselines()) {
      await this.#write([{ sql: sql.insertBaselines, rows: page.map(baselineColumns) }])
    }
    await this.#write([{ sql: sql.advancePosition, values: [source.end + 1] }])
    const jobs = await this.#makeRows(source, events)
    await this.#writeBuckets(source)
    // LAST: from here on there is a store.
    await this.#write([{ sql: sql.deleteMeta, values: [COPYING] }])
    this.#onProgress(2 * source.total, 2 * source.total)
    return { events, jobs }
  }

  /** Nothing is left of the jobs that may be removed: a round up to there is over. */
  async #writeHistory({ through, olderThan }: HistoryMark): Promise<void> {
    const rows = [[through, olderThan, through, 0, 0]]
    await this.#write([{ sql: this.#dialect.history.move, rows, expect: 1 }])
  }

  async #assertEmpty(): Promise<void> {
    const sql = this.#sql
    const [copying, events, queues, baselines] = await this.#connection.run([
      { sql: sql.readMeta, values: [COPYING] },
      { sql: sql.newestEvents, values: [1] },
      { sql: sql.allQueues, values: [] },
      { sql: sql.baselines, values: ['gone'] },
    ])
    if ((copying?.rows.length ?? 0) > 0) throw new CopyUnfinished(WHERE)
    if ([events, queues, baselines].some((found) => (found?.rows.length ?? 0) > 0)) {
      throw new NotEmpty(WHERE)
    }
  }

  /** Reads what was written, and makes every row that is missing: that is all of them. */
  async #makeRows(source: CopySource, events: number): Promise<number> {
    const reading = await this.#dialect.connect()
    try {
      await reading.run([{ sql: this.#sql.beginReading, values: [] }])
      const repairs = new RowRepairs(this.#sql, () => undefined)
      const { jobs } = await new DatabaseCheck({
        connection: reading,
        sql: this.#sql,
        records: new Records(),
        history: this.#dialect.history,
        hasCursor: this.#dialect.hasCursor,
        onProblem: (problem, fix) => this.#addRow(problem, fix, repairs),
        onFix: (fix) => repairs.add(fix),
        onDamaged: () => null,
        onPage: async (done) => {
          await this.#write(repairs.takeStatements())
          const part = events === 0 ? 0 : (done / events) * source.total
          this.#onProgress(source.total + part, 2 * source.total)
        },
      }).run()
      return jobs
    } finally {
      await reading.close()
    }
  }

  #addRow(
    { table, row, what, position }: DatabaseProblem,
    fix: Fix | null,
    repairs: RowRepairs,
  ): void {
    if (fix === null) {
      const place = position === null ? '' : ` at position ${position}`
      throw new SourceDamaged(`${table} ${row ?? ''}: ${what}${place}`)
    }
    if (fix.table === 'limits') this.#held.set(fix.key, fix.held)
    repairs.add(fix)
  }

  /** What rates have used up does not follow from rows: it comes from the source. */
  async #writeBuckets({ buckets }: CopySource): Promise<void> {
    const { queues, limits } = buckets
    const keys = [...new Set([...this.#held.keys(), ...limits.keys()])]
    const [answered] = await this.#connection.run([{ sql: this.#sql.allQueues, values: [] }])
    const names = (answered?.rows ?? []).map(([name]) => name as string)
    await this.#write([
      { sql: this.#sql.insertLimits, rows: keys.map((key) => [key]) },
      {
        sql: this.#sql.saveLimits,
        rows: keys.map((key) => [key, this.#held.get(key) ?? 0, limits.get(key) ?? 0]),
      },
      { sql: this.#sql.chargeQueues, rows: names.map((name) => [name, queues.get(name) ?? 0]) },
    ])
  }

  async #write(statements: readonly Statement[]): Promise<void> {
    if (statements.length === 0) return
    const { begin, commit, rollback } = this.#sql
    try {
      await this.#connection.run([
        { sql: begin, values: [] },
        ...statements,
        { sql: commit, values: [] },
      ])
    } catch (error) {
      await this.#connection.run([{ sql: rollback, values: [] }]).catch(() => undefined)
      throw error
    }
  }
}

function columnsOf({ position, job, before, type, at, record }: EventRow): Row {
  return [position, job, before, type, at, record]
}
