/**
 * A store on a database, to be copied: everything is of one moment.
 */
import type { Connection, Row, Value } from '../../sql/connection.ts'
import type { Dialect } from '../../sql/dialect.ts'
import type { Baseline, BaselineKind, EventRow } from '../../sql/rows/event-rows.ts'
import { baseline, eventRow } from '../../sql/rows/event-rows.ts'
import { checkOnOpen } from '../../sql/verify/check-on-open.ts'
import { assertTables } from '../../sql/tables.ts'
import { countEvents } from '../../sql/verify/verify-database.ts'
import type { Buckets, CopySource } from './copy-source.ts'

const PAGE = 500
const KINDS: readonly BaselineKind[] = ['queue', 'schedule', 'job', 'kept', 'gone']

export async function withSqlSource<T>(
  dialect: Dialect,
  work: (source: CopySource) => Promise<T>,
): Promise<T> {
  const { statements: sql } = dialect
  const connection = await dialect.connect()
  try {
    await assertTables(connection, dialect)
    // One that is half a copy itself is not copied.
    await checkOnOpen(connection, sql)
    await connection.run([{ sql: sql.beginReading, values: [] }])
    const total = await countEvents(connection, sql.countEvents)
    const source = new SqlSource(connection, dialect, total)
    await source.load()
    return await work(source)
  } finally {
    await connection.close()
  }
}

class SqlSource implements CopySource {
  readonly total: number
  end = 0
  buckets!: Buckets
  readonly #connection: Connection
  readonly #dialect: Dialect

  constructor(connection: Connection, dialect: Dialect, total: number) {
    this.#connection = connection
    this.#dialect = dialect
    this.total = total
  }

  async load(): Promise<void> {
    const { statements: sql } = this.#dialect
    const [[newest] = []] = await this.#rowsOf(sql.lastPositions)
    this.end = newest as number
    this.buckets = {
      queues: await this.#fullAts(sql.allQueues, 5),
      limits: await this.#fullAts(sql.allLimits, 2),
    }
  }

  async *events(): AsyncIterable<{ events: readonly EventRow[]; done: number }> {
    const { eventRowsAfter } = this.#dialect.statements
    let done = 0
    for (let after = 0; ;) {
      const events = (await this.#rowsOf(eventRowsAfter, after, PAGE)).map(eventRow)
      const last = events.at(-1)
      if (last === undefined) return
      after = last.position
      done += events.length
      yield { events, done }
    }
  }

  async *baselines(): AsyncIterable<readonly Baseline[]> {
    const { baselines } = this.#dialect.statements
    for (const kind of KINDS) yield (await this.#rowsOf(baselines, kind)).map(baseline)
  }

  async #fullAts(sql: string, column: number): Promise<Map<string, number>> {
    const rows = await this.#rowsOf(sql)
    return new Map(rows.map((row) => [row[0] as string, row[column] as number]))
  }

  async #rowsOf(sql: string, ...values: Value[]): Promise<readonly Row[]> {
    const [answered] = await this.#connection.run([{ sql, values }])
    return answered?.rows ?? []
  }
}
