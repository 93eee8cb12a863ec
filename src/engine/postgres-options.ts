/**
 * The options of `open` that are about a database and how it is reached, checked.
 */
import { InvalidDefinition, KnownOptions, shown, toMs } from '../definition/index.ts'
import type { PostgresConnectionOptions, PostgresOptions } from '../store/index.ts'
import type { DatabaseOpenOptions } from './open-options.ts'

export const DATABASE_OPTION_NAMES = {
  schema: true,
  connection: true,
  waitFor: true,
  migrate: true,
} as const

const CONNECTION_OPTIONS = new KnownOptions<PostgresConnectionOptions>({
  host: true,
  port: true,
  user: true,
  password: true,
  database: true,
  ssl: true,
  application_name: true,
  options: true,
  max: true,
  pooler: true,
})

/** What PostgreSQL takes for a name. */
const MOST_SCHEMA_BYTES = 63
const MOST_CONNECTIONS = 100
const EXAMPLE = `connection: { max: 4, ssl: { ca } }`

/** Throws `InvalidDefinition` for an option that does nothing at this place: the caller would rely on it. */
export function assertNoDatabaseOptions(
  options: DatabaseOpenOptions,
  names: readonly (keyof DatabaseOpenOptions)[],
  place: string,
): void {
  const given = names.find((name) => options[name] !== undefined)
  if (given === undefined) return
  throw new InvalidDefinition(`${place} takes no \`${given}\`: it is an option of PostgreSQL.`)
}

/** `url`: of PostgreSQL. Throws `InvalidDefinition`. */
export function postgresOptions(
  url: string,
  options: DatabaseOpenOptions,
): Pick<PostgresOptions, 'url' | 'schema' | 'connection' | 'waitForMs'> {
  const { connection, waitFor } = options
  if (connection !== undefined) assertConnection(connection)
  return {
    url,
    schema: schemaOf(options),
    ...(connection === undefined ? {} : { connection }),
    ...(waitFor === undefined ? {} : { waitForMs: toMs(waitFor, '`waitFor`') }),
  }
}

export function migrateOf({ migrate = true }: DatabaseOpenOptions): boolean {
  if (typeof migrate === 'boolean') return migrate
  throw new InvalidDefinition(`\`migrate\` is true or false, not ${shown(migrate)}.`)
}

export function schemaOf({ schema = 'pawl' }: DatabaseOpenOptions): string {
  const bytes = typeof schema === 'string' ? Buffer.byteLength(schema) : 0
  if (bytes >= 1 && bytes <= MOST_SCHEMA_BYTES && !schema.startsWith('pg_')) return schema
  throw new InvalidDefinition(
    `\`schema\` must be a name of 1 to ${MOST_SCHEMA_BYTES} bytes that does not begin with 'pg_'.`,
  )
}

function assertConnection(connection: PostgresConnectionOptions): void {
  if (isClient(connection)) {
    throw new InvalidDefinition(
      `\`connection\` is a configuration, and not a Pool or a Client of pg: Pawl opens connections of its own, which nothing else may use. Write ${EXAMPLE}. To submit a job in a transaction of yours, write submit(job, input, { tx: fromPg(client) }).`,
    )
  }
  CONNECTION_OPTIONS.assert(connection, '`connection`', EXAMPLE)
  const { max, pooler, port, password } = connection
  if (max !== undefined && !(Number.isInteger(max) && max >= 1 && max <= MOST_CONNECTIONS)) {
    throw wrong('max', `a whole number from 1 to ${MOST_CONNECTIONS}`, max)
  }
  if (port !== undefined && !Number.isInteger(port)) throw wrong('port', 'a whole number', port)
  if (pooler !== undefined && pooler !== 'transaction' && pooler !== 'session') {
    throw wrong('pooler', `'transaction' or 'session'`, pooler)
  }
  // Not what was given: it may be one.
  if (password !== undefined && typeof password !== 'string' && typeof password !== 'function') {
    throw new InvalidDefinition('`connection.password` is a text, or a function that gives one.')
  }
}

function wrong(name: string, what: string, given: unknown): InvalidDefinition {
  return new InvalidDefinition(`\`connection.${name}\` is ${what}, not ${shown(given)}.`)
}

function isClient(connection: object): boolean {
  const { connect, query } = (connection ?? {}) as { connect?: unknown; query?: unknown }
  return typeof connect === 'function' && typeof query === 'function'
}
