/**
 * A store where `open` of the engine would have one.
 */
import type { Store } from '../../src/store/index.ts'
import { openPostgres } from '../../src/store/sql/postgres/open-postgres.ts'
import { openSqliteStore } from '../../src/store/sql/sqlite/open-sqlite.ts'

const SQLITE = 'sqlite:'

export function openAt(location: string, schema?: string): Promise<Store> {
  return location.startsWith(SQLITE)
    ? openSqliteStore({ path: location.slice(SQLITE.length) })
    : openPostgres({ url: location, ...(schema === undefined ? {} : { schema }) })
}
