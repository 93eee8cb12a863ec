/**
 * Opens a store on a database: makes the tables, or brings them up to date, and begins.
 *
 * The tables are versioned. Steps that are missing are taken in one transaction, by one process;
 * others wait for it. Tables of a newer version are refused.
 */
import { PawlError } from '../../kernel/index.ts'
import type { Clock } from '../clock.ts'
import { nowUs } from '../clock.ts'
import { newStoreId } from '../random.ts'
import type { Retention } from '../retention.ts'
import type { Connection } from './connection.ts'
import type { Dialect } from './dialect.ts'
import { SqlFailed } from './failures.ts'
import { SqlStore } from './sql-store.ts'

export interface SqlOptions {
  /** Null, or left out: the database's own on PostgreSQL. */
  readonly clock?: Clock | null
  readonly retention?: Partial<Retention>
}

/** The tables were made by a newer version of Pawl. */
export class NewerTables extends PawlError {
  constructor(found: number, known: number) {
    super(
      'NewerTables',
      'rejected',
      `The tables are of version ${found}, and this version of Pawl knows versions up to ${known}: open them with a newer one.`,
      { found, known },
    )
  }
}

const DAY_MS = 86_400_000

export async function openSql(dialect: Dialect, options: SqlOptions = {}): Promise<SqlStore> {
  const first = await dialect.connect()
  try {
    const id = await migrate(first, dialect)
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

/** The store's id. */
async function migrate(connection: Connection, dialect: Dialect): Promise<string> {
  const { statements: sql, steps, prepare } = dialect
  const known = await versionOf(connection, dialect)
  if (known !== steps.length) {
    await connection.run([sql.begin, ...prepare].map((text) => ({ sql: text, values: [] })))
    try {
      // Again, AFTER everybody else was kept out.
      const version = await versionOf(connection, dialect)
      if (version > steps.length) throw new NewerTables(version, steps.length)
      const missing = steps.slice(version).flat()
      await connection.run([
        ...missing.map((text) => ({ sql: text, values: [] })),
        { sql: sql.setMeta, values: ['id', newStoreId()] },
        { sql: dialect.setVersion, values: [String(steps.length)] },
        { sql: sql.commit, values: [] },
      ])
    } catch (error) {
      await connection.run([{ sql: sql.rollback, values: [] }]).catch(() => undefined)
      throw error
    }
  }
  const [answered] = await connection.run([{ sql: sql.meta, values: ['id'] }])
  return answered?.rows[0]?.[0] as string
}

/** How many steps were taken. */
async function versionOf(
  connection: Connection,
  { statements, hasTables }: Dialect,
): Promise<number> {
  const [there] = await connection.run([{ sql: hasTables, values: [] }])
  if (Number(there?.rows[0]?.[0]) === 0) return 0
  const [answered] = await connection.run([{ sql: statements.meta, values: ['version'] }])
  const version = Number(answered?.rows[0]?.[0] ?? 0)
  if (Number.isInteger(version)) return version
  throw new SqlFailed('broken', 'The table `meta` does not say the version of the tables.', null)
}
