/**
 * Makes the tables of a store, or brings them up to date, without opening it: for a user who may change tables,
 * where the processes that use the store may not.
 */
import { newStoreId } from '../random.ts'
import type { Dialect } from './dialect.ts'
import type { PostgresOptions } from './open-sql.ts'
import { postgresDialect } from './postgres/dialect.ts'
import { identifier, quoted } from './postgres/qualified-names.ts'
import { sqliteDialect } from './sqlite/dialect.ts'
import { connectFirst, migrate, versionOf } from './tables.ts'

export type MigrationPlace =
  | Pick<PostgresOptions, 'url' | 'schema' | 'connection' | 'waitForMs'>
  | { readonly path: string; readonly waitForMs?: number }

/** Versions of the tables; 0: there were none. */
export interface Migrated {
  readonly from: number
  readonly to: number
}

/** Throws `SqlFailed`, `NewerTables`. */
export async function migrateDatabase(place: MigrationPlace): Promise<Migrated> {
  const dialect: Dialect = 'url' in place ? postgresDialect(place) : sqliteDialect(place)
  const mark = dialect.acknowledged?.read() ?? null
  const connection = await connectFirst(dialect, place.waitForMs ?? 0)
  try {
    const from = await versionOf(connection, dialect)
    await migrate(connection, dialect, mark)
    return { from, to: dialect.migrations.length }
  } finally {
    await connection.close()
  }
}

/** What `migrateDatabase` does on PostgreSQL, to be read, and run by other means. `from`: the version now. */
export function migrationSql(schema: string, from = 0): string {
  const { prepare, migrations } = postgresDialect({ url: '', schema })
  const version = `'version', '${migrations.length}'`
  const statements = [
    'begin',
    ...prepare,
    `set local search_path = ${identifier(schema)}`,
    ...migrations.slice(from).flat(),
    `insert into meta (name, value) values ('id', '${quoted(newStoreId())}') on conflict (name) do nothing`,
    `insert into meta (name, value) values (${version}) on conflict (name) do update set value = excluded.value`,
    'commit',
  ]
  return `${statements.map((text) => text.trim()).join(';\n\n')};\n`
}
