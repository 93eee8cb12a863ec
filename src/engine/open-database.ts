/**
 * Opens an engine on a database that other processes may use at the same time.
 */
import type { ArtifactPlace } from '../definition/index.ts'
import { InvalidDefinition } from '../definition/index.ts'
import type { Retention, Store } from '../store/index.ts'
import { openPostgres, openSqliteStore } from '../store/index.ts'
import { folderPlace, noPlace, realTiming } from '../worker/index.ts'
import type { OpenOptions } from './open.ts'
import type { PawlParts } from './pawl.ts'

const SQLITE = /^sqlite:/
const POSTGRES = /^postgres(?:ql)?:/
/** What PostgreSQL takes for a name. */
const MOST_SCHEMA_BYTES = 63

export function isDatabase(location: string): boolean {
  return SQLITE.test(location) || POSTGRES.test(location)
}

type DatabaseParts = Pick<PawlParts, 'store' | 'timing' | 'now' | 'backup' | 'artifacts'>

/** What of an engine depends on the database. Throws `SqlFailed`, `NewerTables`. */
export async function openDatabase(
  location: string,
  options: OpenOptions,
  retention: Partial<Retention>,
): Promise<DatabaseParts & { readonly artifacts: ArtifactPlace }> {
  assertOptions(location, options)
  const isSqlite = SQLITE.test(location)
  const path = location.replace(SQLITE, '')
  if (isSqlite) assertPath(path)
  const store: Store & { now(): number } = isSqlite
    ? await openSqliteStore({ path, retention })
    : await openPostgres({ url: location, schema: schemaOf(options), retention })
  return {
    store,
    // Leases are measured by a clock that nobody sets.
    timing: realTiming(),
    now: () => store.now(),
    artifacts: isSqlite ? folderPlace(`${path}-artifacts`) : noPlace(NO_PLACE),
    backup: () => Promise.reject(new InvalidDefinition(NO_BACKUP)),
  }
}

const NO_PLACE =
  'There is no place for artifacts: processes on several machines may use the same database, so say where files go that all of them see: open(…, { artifacts }).'
const NO_BACKUP =
  'An engine on a database is backed up with the database, by the means that it has for that.'

function assertOptions(location: string, { history, archive, schema }: OpenOptions): void {
  for (const [name, value] of Object.entries({ history, archive })) {
    if (value === undefined) continue
    throw new InvalidDefinition(
      `open() of a database takes no \`${name}\`: its entries stay in the table \`events\`.`,
    )
  }
  if (schema !== undefined && SQLITE.test(location)) {
    throw new InvalidDefinition('open() of a SQLite file takes no `schema`: it is one by itself.')
  }
}

function assertPath(path: string): void {
  if (path !== '' && !path.startsWith(':')) return
  throw new InvalidDefinition(
    `open('sqlite:${path}') needs the name of a file, such as 'sqlite:jobs.db'. For an engine in memory: open('memory:').`,
  )
}

function schemaOf({ schema = 'pawl' }: OpenOptions): string {
  const bytes = typeof schema === 'string' ? Buffer.byteLength(schema) : 0
  if (bytes >= 1 && bytes <= MOST_SCHEMA_BYTES && !schema.startsWith('pg_')) return schema
  throw new InvalidDefinition(
    `\`schema\` must be a name of 1 to ${MOST_SCHEMA_BYTES} bytes that does not begin with 'pg_'.`,
  )
}
