/**
 * Opens a store on PostgreSQL or in a SQLite file: makes the tables, or brings them up to date, and
 * checks what can be checked at a fixed cost. A store that fails the check is not opened.
 */
import type { Clock } from '../clock.ts'
import { nowUs, steadyClock } from '../clock.ts'
import type { StoreNotice } from '../notice.ts'
import type { Retention } from '../store.ts'
import type { Dialect } from './dialect.ts'
import type { PostgresConnectionOptions } from './postgres/address.ts'
import { postgresDialect } from './postgres/dialect.ts'
import { SqlStore } from './sql-store.ts'
import { sqliteDialect } from './sqlite/dialect.ts'
import { connectFirst, idOfTables, migrate } from './tables.ts'
import { checkOnOpen } from './verify/check-on-open.ts'

export interface SqlOptions {
  /** Null, or left out: the database's own on PostgreSQL. */
  readonly clock?: Clock | null
  readonly retention?: Partial<Retention>
  /** How long events stay, once their job is forgotten. Infinity: for ever. Default: 7 days. */
  readonly historyMs?: number
  /** Whether processes on the database know of each other which of them live. Default: true. */
  readonly presence?: boolean
  /** Told that this machine's clock is far behind the newest entry, and that there is no presence. */
  readonly onNotice?: (notice: StoreNotice) => void
  /** How long to wait for a server that cannot be reached yet. Default: not at all. */
  readonly waitForMs?: number
  /** False: the tables must be there, and are not made or changed. Default: true. */
  readonly migrate?: boolean
}

export interface PostgresOptions extends SqlOptions {
  /** `postgres://user:password@host:port/database`. */
  readonly url: string
  /** Default: `pawl`. */
  readonly schema?: string
  readonly connection?: PostgresConnectionOptions
}

export interface SqliteOptions extends SqlOptions {
  /** The file. Created if it is not there; its folder must be. */
  readonly path: string
}

const DAY_MS = 86_400_000

export function openPostgres(options: PostgresOptions): Promise<SqlStore> {
  return openSql(postgresDialect(options), options)
}

export function openSqliteStore(options: SqliteOptions): Promise<SqlStore> {
  const { clock = steadyClock() } = options
  return openSql(sqliteDialect(options), { ...options, clock })
}

export async function openSql(dialect: Dialect, options: SqlOptions = {}): Promise<SqlStore> {
  const mark = dialect.acknowledged?.read() ?? null
  const first = await connectFirst(dialect, options.waitForMs ?? 0)
  try {
    const id =
      options.migrate === false
        ? await idOfTables(first, dialect)
        : await migrate(first, dialect, mark)
    await checkOnOpen(first, dialect, mark)
    const askedUs = nowUs()
    const [clock] = await first.run([{ sql: dialect.statements.clock, values: [null] }])
    const now = clock?.rows[0]?.[0] as number | null
    const store = new SqlStore({
      id,
      dialect,
      first,
      clock: options.clock ?? null,
      aheadMs: (now ?? 0) - (askedUs + nowUs()) / 2_000,
      retention: { ageMs: 7 * DAY_MS, count: 1_000_000, ...options.retention },
      historyMs: options.historyMs ?? 7 * DAY_MS,
      hasPresence: options.presence ?? true,
      onNotice: options.onNotice ?? ((): void => undefined),
    })
    await store.followClock()
    const notice = dialect.notice?.() ?? null
    if (notice !== null) options.onNotice?.(notice)
    return store
  } catch (error) {
    await first.close()
    throw error
  }
}
