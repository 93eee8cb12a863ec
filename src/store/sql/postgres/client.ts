/**
 * A client of pg that is connected, or why there is none. pg is loaded here and nowhere else, and
 * only when a store on PostgreSQL is opened: other stores do not pay for it.
 */
import type { Socket } from 'node:net'
import type { Client, Query } from 'pg'
import { afterMs } from '../../clock.ts'
import type { SqlFailed } from '../failures.ts'
import { sqlFailed } from '../failures.ts'
import type { PostgresAddress } from './address.ts'
import { assertUrl, CONNECT_MS, nameOf } from './address.ts'
import { openingFailure, stateOf } from './failures.ts'

/** A peer that is gone without a word is noticed some ten seconds after this. */
const KEEP_ALIVE_MS = 10_000

/** What pg's clients have, and its types do not tell. */
interface Untyped {
  readonly connection: { readonly stream: Socket }
  /** Whether an idle client keeps the process alive. */
  ref(): void
  unref(): void
}

export type ConnectedClient = Client & Untyped

export interface Connected {
  readonly client: ConnectedClient
  readonly Query: typeof Query
  /** What the server knows the connection by. */
  readonly pid: number
}

const ignore = (): void => undefined
const PID = 'pg_backend_pid()'

/** Throws `SqlFailed`. The caller listens to `error` of the client: without that, Node ends the process. */
export async function connect(address: PostgresAddress): Promise<Connected> {
  const { schema } = address
  const path = schema === undefined ? null : `"${schema.replaceAll('"', '""')}"`
  const { answer, ...connected } = await connectAndAsk(
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
  const address = { url, name: 'pawl probe', isPipelined: false, connectMs: answerMs }
  try {
    const { client, answer } = await connectAndAsk(address, AT_WORK, [pid])
    client.end(ignore)
    return answer === true
  } catch (error) {
    // A server that refuses, because all connections are taken for example, is there.
    return stateOf(error) !== null
  }
}

interface ConnectedWithAnswer extends Omit<Connected, 'pid'> {
  /** The first value. */
  readonly answer: unknown
}

async function connectAndAsk(
  address: PostgresAddress,
  text: string,
  values: readonly unknown[],
): Promise<ConnectedWithAnswer> {
  assertUrl(address)
  const pg = (await import('pg')).default
  const { connectMs = CONNECT_MS } = address
  let client: ConnectedClient
  try {
    client = new pg.Client({
      connectionString: address.url,
      application_name: address.name ?? 'pawl',
      pipeline: address.isPipelined ?? true,
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    }) as ConnectedClient
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
export async function within<T>(
  client: ConnectedClient,
  ms: number,
  work: () => Promise<T>,
): Promise<T> {
  const stop = afterMs(ms, () => client.connection.stream.destroy(new Error('timeout expired')))
  try {
    return await work()
  } finally {
    stop()
  }
}

function failed(address: PostgresAddress, error: unknown): SqlFailed {
  const cause = error instanceof Error ? error : new RangeError(String(error))
  const { reason, remedy } = openingFailure(cause)
  return sqlFailed(reason, nameOf(address), named(cause), null, remedy)
}

/** Node tries each address of a host, and then says only that all of them failed. */
function named(error: Error): Error {
  if (!(error instanceof AggregateError) || error.message !== '') return error
  const said = error.errors.map((one) => (one instanceof Error ? one.message : String(one)))
  return Object.assign(error, { message: said.join(', ') })
}
