/**
 * A client of pg that is connected, or why there is none. pg is loaded here and nowhere else, and
 * only when a store on PostgreSQL is opened: others do not pay for it.
 */
import type { Client, Query } from 'pg'
import type { SqlFailed } from '../sql/failures.ts'
import { sqlFailed } from '../sql/failures.ts'
import { troubleOfOpening } from './failures.ts'

export interface PostgresAddress {
  /** `postgres://user:password@host:port/database`, and whatever else pg understands. */
  readonly url: string
  /** Where unqualified names are looked for. Default: what the server says, usually `public`. */
  readonly schema?: string
  /** Queries of pg's own are sent without waiting for those before them, too. Default: true. */
  readonly isPipelined?: boolean
  /** What the server shows it as. Default: `pawl`. */
  readonly name?: string
  /** How long it may take to connect. Default: 10 s. */
  readonly connectMs?: number
}

const CONNECT_MS = 10_000
/** A peer that is gone without a word is noticed some ten seconds after this. */
const KEEP_ALIVE_MS = 10_000

/** For people: without the password. */
export function nameOf({ url }: PostgresAddress): string {
  const parsed = URL.canParse(url) ? new URL(url) : null
  return parsed === null ? 'PostgreSQL' : `PostgreSQL at ${parsed.host}${parsed.pathname}`
}

export interface Connected {
  readonly client: Client
  readonly Query: typeof Query
}

const ignore = (): void => undefined

/** Throws `SqlFailed`. Whoever gets it listens to its `error`: without that, Node ends the process. */
export async function connect(address: PostgresAddress): Promise<Connected> {
  const pg = (await import('pg')).default
  let client: Client
  try {
    client = new pg.Client({
      connectionString: address.url,
      application_name: address.name ?? 'pawl',
      pipeline: address.isPipelined ?? true,
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
      connectionTimeoutMillis: address.connectMs ?? CONNECT_MS,
    })
  } catch (error) {
    throw failed(address, error)
  }
  client.on('error', ignore)
  try {
    await client.connect()
    if (address.schema !== undefined) {
      const path = pg.escapeIdentifier(address.schema)
      await client.query(`select set_config('search_path', $1, false)`, [path])
    }
  } catch (error) {
    client.end(ignore)
    throw failed(address, error)
  }
  return { client, Query: pg.Query }
}

function failed(address: PostgresAddress, error: unknown): SqlFailed {
  const cause = error instanceof Error ? error : new RangeError(String(error))
  return sqlFailed(troubleOfOpening(cause), nameOf(address), cause)
}
