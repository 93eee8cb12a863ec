/**
 * A client of pg that is connected, or why there is none. pg is loaded here and nowhere else, and
 * only when a store on PostgreSQL is opened: others do not pay for it.
 */
import type { Socket } from 'node:net'
import type { Client, Query } from 'pg'
import { afterMs } from '../../clock.ts'
import type { SqlFailed } from '../failures.ts'
import { sqlFailed } from '../failures.ts'
import type { PostgresAddress } from './address.ts'
import { stateOf, troubleOfOpening } from './failures.ts'

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
  /** What the server knows the connection by. */
  readonly pid: number
}

const ignore = (): void => undefined
const PID = 'pg_backend_pid()'

/** Throws `SqlFailed`. Whoever gets it listens to its `error`: without that, Node ends the process. */
export async function connect(address: PostgresAddress): Promise<Connected> {
  const { schema } = address
  const path = schema === undefined ? null : `"${schema.replaceAll('"', '""')}"`
  const { answer, ...connected } = await dial(
    address,
    path === null ? `select ${PID}` : `select ${PID}, set_config('search_path', $1, false)`,
    path === null ? [] : [path],
  )
  return { ...connected, pid: answer as number }
}

const AT_WORK = `
  select exists (
    select from pg_catalog.pg_stat_activity
    where pid = $1::int4 and coalesce(state, '') not like 'idle%'
  )`

/** Asks the server, on a new connection, whether it does something for another one. Does not throw. */
export async function isAtWork(
  { url }: PostgresAddress,
  pid: number,
  answerMs: number,
): Promise<boolean> {
  const address = { url, name: 'pawl look', isPipelined: false, connectMs: answerMs }
  try {
    const { client, answer } = await dial(address, AT_WORK, [pid])
    client.end(ignore)
    return answer === true
  } catch (error) {
    // Whatever it says, such as that there is no room for one more: it says something.
    return stateOf(error) !== null
  }
}

interface Dialled extends Omit<Connected, 'pid'> {
  /** The first value. */
  readonly answer: unknown
}

/** Connects, and asks something. */
async function dial(
  address: PostgresAddress,
  text: string,
  values: readonly unknown[],
): Promise<Dialled> {
  const pg = (await import('pg')).default
  const { connectMs = CONNECT_MS } = address
  let client: Client
  try {
    client = new pg.Client({
      connectionString: address.url,
      application_name: address.name ?? 'pawl',
      pipeline: address.isPipelined ?? true,
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    })
  } catch (error) {
    throw failed(address, error)
  }
  client.on('error', ignore)
  try {
    const answer = await within(client, connectMs, async () => {
      await client.connect()
      const { rows } = await client.query<unknown[]>({
        text,
        values: [...values],
        rowMode: 'array',
      })
      return rows[0]?.[0]
    })
    return { client, Query: pg.Query, answer }
  } catch (error) {
    client.end(ignore)
    throw failed(address, error)
  }
}

/** What the server does not do in time ends the connection. */
export async function within<T>(client: Client, ms: number, work: () => Promise<T>): Promise<T> {
  const stop = afterMs(ms, () => streamOf(client).destroy(new Error('timeout expired')))
  try {
    return await work()
  } finally {
    stop()
  }
}

/** pg has it, its types do not. */
export function streamOf(client: Client): Socket {
  return (client as Client & { readonly connection: { readonly stream: Socket } }).connection.stream
}

function failed(address: PostgresAddress, error: unknown): SqlFailed {
  const cause = error instanceof Error ? error : new RangeError(String(error))
  return sqlFailed(troubleOfOpening(cause), nameOf(address), cause)
}
