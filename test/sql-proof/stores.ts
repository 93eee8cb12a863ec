/**
 * The databases that the proofs go through: each gives a place for a store that any number of
 * openers, and of processes, share.
 */
import { openSql } from '../../src/store/sql/open-sql.ts'
import type { Connection } from '../../src/store/sql/connection.ts'
import type { Dialect } from '../../src/store/sql/dialect.ts'
import type { SqlOptions } from '../../src/store/sql/open-sql.ts'
import type { SqlStore } from '../../src/store/sql/sql-store.ts'
import { postgresDialect } from '../../src/store/postgres/open-postgres.ts'
import { sqliteDialect } from '../../src/store/sqlite/open-sqlite.ts'
import { systemClock } from '../../src/store/clock.ts'
import { freshSchema } from '../support/postgres.ts'
import { freshFile } from '../support/sqlite.ts'

export type DatabaseName = 'SQLite' | 'PostgreSQL'

export const DATABASE_NAMES: readonly DatabaseName[] = ['SQLite', 'PostgreSQL']

/** Where a store is, in words that another process understands. */
export type Address =
  | { readonly kind: 'SQLite'; readonly path: string }
  | { readonly kind: 'PostgreSQL'; readonly url: string; readonly schema: string }

export async function freshAddress(name: DatabaseName): Promise<Address> {
  if (name === 'SQLite') return { kind: 'SQLite', path: await freshFile() }
  return { kind: 'PostgreSQL', ...(await freshSchema()) }
}

export function dialectOf(address: Address): Dialect {
  return address.kind === 'SQLite' ? sqliteDialect(address) : postgresDialect(address)
}

/** What each connection of a store is wrapped in. */
export type Wrap = (connection: Connection) => Connection

export function openAt(
  address: Address,
  options: SqlOptions = {},
  wrap: Wrap = (connection) => connection,
): Promise<SqlStore> {
  const dialect = dialectOf(address)
  const connect = async (): Promise<Connection> => wrap(await dialect.connect())
  const clock = options.clock ?? (address.kind === 'SQLite' ? systemClock : null)
  return openSql({ ...dialect, connect }, { ...options, clock })
}
