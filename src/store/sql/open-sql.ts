/**
 * Opens a store on a database: makes the tables, or brings them up to date, and begins.
 */
import type { Clock } from '../clock.ts'
import { nowUs } from '../clock.ts'
import type { Retention } from '../store.ts'
import type { Dialect } from './dialect.ts'
import { checkOnOpen } from './verify/check-on-open.ts'
import { SqlStore } from './sql-store.ts'
import { migrate, whileOthers } from './tables.ts'

export interface SqlOptions {
  /** Null, or left out: the database's own on PostgreSQL. */
  readonly clock?: Clock | null
  readonly retention?: Partial<Retention>
}

const DAY_MS = 86_400_000

export async function openSql(dialect: Dialect, options: SqlOptions = {}): Promise<SqlStore> {
  const first = await whileOthers(dialect, () => dialect.connect())
  try {
    const id = await migrate(first, dialect)
    await checkOnOpen(first, dialect.statements)
    const askedUs = nowUs()
    const [clock] = await first.run([{ sql: dialect.statements.clock, values: [null] }])
    const now = clock?.rows[0]?.[0] as number | null
    return new SqlStore({
      id,
      dialect,
      first,
      clock: options.clock ?? null,
      aheadMs: (now ?? 0) - (askedUs + nowUs()) / 2_000,
      retention: { ageMs: 7 * DAY_MS, count: 1_000_000, ...options.retention },
    })
  } catch (error) {
    await first.close()
    throw error
  }
}
