/**
 * A store on a database, to be copied: everything is of one moment.
 */
import type { Row, Value } from '../../sql/connection.ts'
import type { Dialect } from '../../sql/dialect.ts'
import type { BaselineKind } from '../../sql/rows/event-rows.ts'
import { baseline, eventRow, historyMark } from '../../sql/rows/event-rows.ts'
import { checkOnOpen } from '../../sql/verify/check-on-open.ts'
import { assertTables } from '../../sql/tables.ts'
import { countEvents } from '../../sql/verify/verify-database.ts'
import type { CopySource } from './copy-source.ts'

const PAGE = 500
const KINDS: readonly BaselineKind[] = ['queue', 'schedule', 'job', 'kept', 'gone']

export async function withSqlSource<T>(
  dialect: Dialect,
  work: (source: CopySource) => Promise<T>,
): Promise<T> {
  const { statements: sql, history } = dialect
  const connection = await dialect.connect()
  const rowsOf = async (text: string, ...values: Value[]): Promise<readonly Row[]> => {
    const [answered] = await connection.run([{ sql: text, values }])
    return answered?.rows ?? []
  }
  const fullAts = async (text: string, column: number): Promise<Map<string, number>> => {
    const rows = await rowsOf(text)
    return new Map(rows.map((row) => [row[0] as string, row[column] as number]))
  }
  try {
    await assertTables(connection, dialect)
    // BEFORE anything is read: a database that is half a copy itself is refused.
    await checkOnOpen(connection, dialect, dialect.acknowledged?.read() ?? null)
    await connection.run([{ sql: sql.beginReading, values: [] }])
    const [[newest] = []] = await rowsOf(sql.lastPositions)
    const [found] = await rowsOf(history.read)
    const removed = historyMark(found)
    return await work({
      total: await countEvents(connection, sql.countEvents),
      end: newest as number,
      removed,
      buckets: {
        queues: await fullAts(sql.allQueues, 5),
        limits: await fullAts(sql.allLimits, 2),
      },
      async *events() {
        for (let after = 0, done = 0; ;) {
          const kept = await rowsOf(history.keptEvents, after, removed.through, PAGE)
          const events = kept.map(eventRow)
          const last = events.at(-1)
          if (last === undefined) return
          after = last.position
          done += events.length
          yield { events, done }
        }
      },
      async *baselines() {
        for (const kind of KINDS) {
          yield (await rowsOf(history.keptBaselines, kind, removed.through)).map(baseline)
        }
      },
    })
  } finally {
    await connection.close()
  }
}
