/**
 * The tables of a database, apart from `open`: made by a user who may, for processes that may not.
 */
import { InvalidDefinition, KnownOptions, shown } from '../definition/index.ts'
import type { Migrated } from '../store/index.ts'
import { migrateDatabase, migrationSql as sqlOf } from '../store/index.ts'
import { isDatabase } from './open.ts'
import type { DatabaseOpenOptions } from './open-options.ts'
import { assertNoDatabaseOptions, postgresOptions, schemaOf } from './postgres-options.ts'

export type MigrateOptions = Omit<DatabaseOpenOptions, 'migrate'>

export interface MigrationSqlOptions {
  /** Default `'pawl'`. */
  readonly schema?: string
  /** The version that the tables have now. Default 0: there are none. */
  readonly from?: number
}

const MIGRATE_OPTIONS = new KnownOptions<MigrateOptions>({
  schema: true,
  connection: true,
  waitFor: true,
})
const SQL_OPTIONS = new KnownOptions<MigrationSqlOptions>({ schema: true, from: true })
const SQLITE = 'sqlite:'

/**
 * Makes the tables of a database, or brings them up to date. Run it as their owner; then
 * `open(location, { migrate: false })` needs no right to change them. Twice is fine.
 */
export async function migrate(location: string, options: MigrateOptions = {}): Promise<Migrated> {
  MIGRATE_OPTIONS.assert(options, 'migrate()', `migrate('postgres://…', { schema: 'jobs' })`)
  if (typeof location !== 'string' || !isDatabase(location)) {
    throw new InvalidDefinition(
      `migrate() needs a database, 'postgres://…' or 'sqlite:jobs.db': only these have tables.`,
    )
  }
  if (!location.startsWith(SQLITE)) return migrateDatabase(postgresOptions(location, options))
  assertNoDatabaseOptions(
    options,
    ['schema', 'connection', 'waitFor'],
    'migrate() of a SQLite file',
  )
  return migrateDatabase({ path: location.slice(SQLITE.length) })
}

/** What `migrate` does on PostgreSQL, as a text for a person to read, and to run by other means. */
export function migrationSql(options: MigrationSqlOptions = {}): string {
  SQL_OPTIONS.assert(options, 'migrationSql()', `migrationSql({ schema: 'jobs' })`)
  const { from = 0 } = options
  if (Number.isInteger(from) && from >= 0) return sqlOf(schemaOf(options), from)
  throw new InvalidDefinition(`\`from\` is a version of the tables, from 0, not ${shown(from)}.`)
}
