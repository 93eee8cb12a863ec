/**
 * A transaction of a SQLite driver that answers at once: Node's own, `@photostructure/sqlite`, and
 * others with the same interface.
 */
import { BadRequest } from '../store.ts'
import type { UserTransaction } from '../user-transaction.ts'

/** What is used of a `DatabaseSync`. */
export interface SyncDatabase {
  prepare(sql: string): {
    all(...values: never[]): readonly unknown[]
    run(...values: never[]): unknown
  }
}

const HAS_ROWS = /^\s*(?:select|with)\b|\breturning\b/i

/** Some drivers refuse `all` for a statement that gives none. */
export function givesRows(text: string): boolean {
  return HAS_ROWS.test(text)
}

/** A database on which `BEGIN` was run: `begin immediate`, best. */
export function fromSqlite(database: SyncDatabase): UserTransaction {
  if (typeof database?.prepare !== 'function') {
    throw new BadRequest('fromSqlite() needs a database of SQLite that is in a transaction.')
  }
  // Many rows are written by the same statement.
  const prepared = new Map<string, ReturnType<SyncDatabase['prepare']>>()
  return {
    connection: database,
    query(text, parameters) {
      const statement = prepared.get(text) ?? database.prepare(text)
      prepared.set(text, statement)
      const values = parameters as readonly never[]
      if (givesRows(text)) return statement.all(...values) as readonly object[]
      statement.run(...values)
      return []
    },
  }
}
