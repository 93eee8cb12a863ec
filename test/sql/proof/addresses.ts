/**
 * Where a store on a database is, in words that another process understands, and how it is opened.
 */
import { openSql } from '../../../src/store/sql/open-sql.ts'
import type { Connection } from '../../../src/store/sql/connection.ts'
import type { Dialect } from '../../../src/store/sql/dialect.ts'
import type { SqlOptions } from '../../../src/store/sql/open-sql.ts'
import type { SqlStore } from '../../../src/store/sql/sql-store.ts'
import { postgresDialect } from '../../../src/store/sql/postgres/dialect.ts'
import { sqliteDialect } from '../../../src/store/sql/sqlite/dialect.ts'
import { systemClock } from '../../../src/store/clock.ts'

export type Address =
  | { readonly kind: 'SQLite'; readonly path: string }
  | { readonly kind: 'PostgreSQL'; readonly url: string; readonly schema: string }

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
