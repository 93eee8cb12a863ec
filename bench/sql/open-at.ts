/**
 * A store where `open` of the engine would have one.
 */
import type { Store } from '../../src/store/index.ts'
import { openPostgres, openSqliteStore } from '../../src/store/sql/open-sql.ts'

const SQLITE = 'sqlite:'

export function openAt(location: string, schema?: string): Promise<Store> {
  return location.startsWith(SQLITE)
    ? openSqliteStore({ path: location.slice(SQLITE.length) })
    : openPostgres({ url: location, ...(schema === undefined ? {} : { schema }) })
}
