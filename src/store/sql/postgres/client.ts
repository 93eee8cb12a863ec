/**
 * A client of pg that is connected, or why there is none. pg is loaded here and nowhere else, and
 * only when a store on PostgreSQL is opened: other stores do not pay for it.
 */
import type { Socket } from 'node:net'
import type { Client, ClientConfig, Query } from 'pg'
import { afterMs } from '../../clock.ts'
import type { SqlFailed } from '../failures.ts'
import { sqlFailed } from '../failures.ts'
import type { PostgresAddress } from './address.ts'
import { assertUrl, CONNECT_MS, nameOf, urlsOf } from './address.ts'
import { openingFailure, stateOf } from './failures.ts'
import { PostgresServers } from './servers.ts'

/** A peer that is gone without a word is noticed some ten seconds after this. */
const KEEP_ALIVE_MS = 10_000

/** With several hosts, one that says nothing must not keep the others waiting. */
const CONNECT_ONE_MS = 3_000

/** What pg's clients have, and its types do not tell. */
interface Untyped {
  readonly connection: { readonly stream: Socket }
  readonly connectionParameters: object
  /** As the server said when the connection was opened; a pooler says a number of its own. */
  readonly processID: number
  /** Whether an idle client keeps the process alive. */
  ref(): void
  unref(): void
}

export type ConnectedClient = Client & Untyped

export interface Connected {
  readonly client: ConnectedClient
  readonly Query: typeof Query
  /** Of the host that it is connected to. */
  readonly url: string
  /** What the server knows the session by. */
  readonly pid: number
  /** A pooler gives each transaction another session. */
  readonly isPooled: boolean
}

const ignore = (): void => undefined

/** A standby, or a server or user that is set to read. */
const IS_READ_ONLY = `current_setting('transaction_read_only') = 'on'`
const STANDBY = 'It is a standby, or set to read only: it takes no writes.'

/** Throws `SqlFailed`. The caller listens to `error` of the client: without that, Node ends the process. */
export function connect(address: PostgresAddress): Promise<Connected> {
  const { servers = new PostgresServers(urlsOf(address.url)) } = address
  return servers.availability.watch(
    () => servers.connect((url) => connectTo(address, url, servers)),
    ({ client }, ended) => void client.once('end', ended),
  )
}

async function connectTo(
  address: PostgresAddress,
  url: string,
  servers: PostgresServers,
): Promise<Connected> {
  const { connectMs = CONNECT_MS } = address
  const ms = servers.areMany ? Math.min(connectMs, CONNECT_ONE_MS) : connectMs
  const own = { ...address, url, connectMs: ms }
  const { client, Query, answer } = await connectAndAsk(
    own,
    `select pg_backend_pid(), ${IS_READ_ONLY}`,
    [],
  )
  const [pid, isReadOnly] = answer as [number, boolean]
  if (servers.areMany && isReadOnly) {
    client.end(ignore)
    throw sqlFailed('read-only', nameOf(own), new Error(STANDBY), null, '')
  }
  const { pooler = pid === client.processID ? 'session' : 'transaction' } = own.connection ?? {}
  const isPooled = pooler === 'transaction'
  servers.isPooled = isPooled
  return { client, Query, url, pid, isPooled }
}

const AT_WORK = `
  select exists (
    select from pg_catalog.pg_stat_activity
    where pid = $1::int4 and coalesce(state, '') not like 'idle%'
  )`

/**
 * Asks the server, on a new connection, whether it does something for another one. Does not throw. Behind a
 * pooler it is not known which session that is: then a server that answers is enough.
 */
export async function isAtWork(
  { connection = {} }: PostgresAddress,
  { url, pid, isPooled }: Connected,
  answerMs: number,
): Promise<boolean> {
  const address = { url, connection, role: 'probe', isPipelined: false, connectMs: answerMs }
  try {
    const { client, answer } = await connectAndAsk(address, AT_WORK, [pid])
    client.end(ignore)
    return isPooled || answer[0] === true
  } catch (error) {
    // A server that refuses, because all connections are taken for example, is there.
    return stateOf(error) !== null
  }
}

type ConnectedWithAnswer = Pick<Connected, 'client' | 'Query'> & {
  readonly answer: readonly unknown[]
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
    client = new pg.Client(configurationOf(address, pg.Client)) as ConnectedClient
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
      return rows[0] ?? []
    })
    return { client, Query: pg.Query, answer }
  } catch (error) {
    client.end(ignore)
    throw failed(address, error)
  }
}

/** `PgClient`: what reads the URL. What is given beside the URL would else come after it. */
function configurationOf(address: PostgresAddress, PgClient: typeof Client): PgConfiguration {
  const { max: _max, pooler: _pooler, ...given } = address.connection ?? {}
  const { connectionParameters, password } = new PgClient({
    connectionString: address.url,
  }) as ConnectedClient
  const said: PgConfiguration = { ...connectionParameters, password, ...given }
  const name = said.application_name ?? 'pawl'
  return {
    ...said,
    application_name: address.role === undefined ? name : `${name} ${address.role}`,
    pipeline: address.isPipelined ?? true,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
  }
}

/** `pipeline` is not in its types. */
type PgConfiguration = ClientConfig & { readonly pipeline?: boolean }

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
