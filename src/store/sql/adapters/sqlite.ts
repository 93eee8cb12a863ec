/**
 * A connection of the user's to a SQLite file, and a transaction on it.
 *
 * In one process there must be one copy of SQLite: two do not see each other's locks. Which one it is
 * depends on the version of Node, so the user gets it here.
 */
import { resolve } from 'node:path'
import type { DatabaseSyncInstance } from '@photostructure/sqlite'
import { openSqlite as openFile } from '../../../log/disk/sqlite-driver.ts'
import { BadRequest } from '../../errors.ts'
import type { UserTransaction } from '../../user-transaction.ts'

/** What is used of a `DatabaseSync`. */
export interface SyncDatabase {
  prepare(sql: string): {
    all(...values: never[]): readonly unknown[]
    run(...values: never[]): unknown
  }
}

const BUSY_MS = 5_000

/**
 * A connection of your own to a file, by the very SQLite that the store uses; it waits for others up to
 * five seconds. The file is created if it is not there. Close it when you are done.
 */
export function openSqlite(path: string): DatabaseSyncInstance {
  // SQLite's names for what is no file: as paths they would be files of that name.
  if (typeof path !== 'string' || path === '' || path.startsWith(':')) {
    throw new BadRequest(`openSqlite() needs the name of a file, such as 'jobs.db', not '${path}'.`)
  }
  // Node's own has the same interface.
  const database = openFile(resolve(path)) as unknown as DatabaseSyncInstance
  database.exec(`pragma busy_timeout = ${BUSY_MS}`)
  return database
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
