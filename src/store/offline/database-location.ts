/**
 * Databases by name: verify and repair of a store that is at a location, as `open` would be given
 * it.
 */
import { existsSync } from 'node:fs'
import { PawlError } from '../../kernel/index.ts'
import { postgresDialect } from '../sql/postgres/dialect.ts'
import type { Dialect } from '../sql/dialect.ts'
import type { DatabaseRepairReport, RepairDatabaseOptions } from '../sql/verify/repair-database.ts'
import { repairSql } from '../sql/verify/repair-database.ts'
import type { DatabaseReport, VerifyDatabaseOptions } from '../sql/verify/verify-database.ts'
import { verifySql } from '../sql/verify/verify-database.ts'
import { sqliteDialect } from '../sql/sqlite/dialect.ts'

export interface DatabaseOptions {
  /** Of PostgreSQL. Default: `pawl`. */
  readonly schema?: string
}

/** It is neither a file of SQLite nor a database of PostgreSQL. */
export class NoSuchDatabase extends PawlError {
  constructor(location: string) {
    super(
      'NoSuchDatabase',
      'rejected',
      `There is no database at '${location.split('@').at(-1)}': give it as 'sqlite:jobs.db', of a file that is there, or as 'postgres://…'.`,
    )
  }
}

const SQLITE = 'sqlite:'

/** Null: it is none. */
export function dialectAt(location: string, { schema }: DatabaseOptions): Dialect | null {
  if (location.startsWith(SQLITE)) return sqliteDialect({ path: location.slice(SQLITE.length) })
  if (!/^postgres(?:ql)?:\/\//.test(location)) return null
  return postgresDialect({ url: location, ...(schema === undefined ? {} : { schema }) })
}

/** A file that is not there is not made. */
export function mustBeAt(location: string, options: DatabaseOptions): Dialect {
  const dialect = dialectAt(location, options)
  const isMissing = location.startsWith(SQLITE) && !existsSync(location.slice(SQLITE.length))
  if (dialect === null || isMissing) throw new NoSuchDatabase(location)
  return dialect
}

/** Whether the store in a database is what its events say, at one moment, while work goes on. */
export async function verifyDatabase(
  location: string,
  options: VerifyDatabaseOptions & DatabaseOptions = {},
): Promise<DatabaseReport> {
  return verifySql(mustBeAt(location, options), options)
}

/** Writes rows anew that are not what the events say. No other process may write meanwhile. */
export async function repairDatabase(
  location: string,
  options: RepairDatabaseOptions & DatabaseOptions,
): Promise<DatabaseRepairReport> {
  return repairSql(mustBeAt(location, options), options)
}
