/**
 * Where a PostgreSQL server is, and how long it may take. It names no type of pg, so that the types of
 * this package can be read without those of pg.
 */
import type { ConnectionOptions as TlsOptions } from 'node:tls'
import { SqlFailed } from '../failures.ts'
import type { PostgresServers } from './servers.ts'

export interface ServerLimits {
  /** After so long without a byte, the server is asked whether it is at work. Default: 5 s. */
  readonly silentMs?: number
  /** So long it may take to answer that. Default: 5 s. */
  readonly answerMs?: number
  /** How long it may take to connect. Default: 10 s. */
  readonly connectMs?: number
}

export const SILENT_MS = 5_000
export const ANSWER_MS = 5_000
export const CONNECT_MS = 10_000

/** How connections are opened, for what the URL does not say. It comes before what the URL says. */
export interface PostgresConnectionOptions {
  readonly host?: string
  readonly port?: number
  readonly user?: string
  /** A function is called for each connection, for passwords that are valid for a while only. */
  readonly password?: string | (() => string | Promise<string>)
  readonly database?: string
  /** As in `pg`: true, false, or the options of TLS, such as `{ ca }`. */
  readonly ssl?: boolean | TlsOptions
  /** What the server shows the connections as. Default: `pawl`. */
  readonly application_name?: string
  /** Settings of the session, such as `-c lock_timeout=5s`. Not through a pooler in transaction mode. */
  readonly options?: string
  /**
   * How many connections the store has at most for its own transactions, and as many for writes of commits
   * (`.with`). One more listens. Default: 4.
   */
  readonly max?: number
  /**
   * A pooler such as PgBouncer stands before the server. In transaction mode the store relies on no session: it
   * polls, and does not listen. Left out: it is found out; a pooler is then taken to be in transaction mode.
   */
  readonly pooler?: 'transaction' | 'session'
}

export interface PostgresAddress extends ServerLimits {
  /** `postgres://user:password@host:port/database`, and whatever else pg understands. */
  readonly url: string
  readonly connection?: PostgresConnectionOptions
  /** Shared by the connections of a store. Left out: a connection by itself. */
  readonly servers?: PostgresServers
  /** Where the server looks for unqualified names. Default: its own setting, usually `public`. */
  readonly schema?: string
  /** Other settings: of the session, or of each transaction where a pooler hands the session to others. */
  readonly settings?: readonly (readonly [name: string, value: string])[]
  /** Queries of pg's own are sent without waiting for those before them, too. Default: true. */
  readonly isPipelined?: boolean
  /** What the server shows the connection as, behind the name of the application. Default: nothing. */
  readonly role?: string
}

const SSL_MODES = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify']
const WRITE =
  "Write 'postgres://user:password@host:5432/database', with %40 for `@`, %2F for `/`, %3A for `:`, %23 for `#` and %25 for `%` in the user and the password."

const AUTHORITY = /^(postgres(?:ql)?:\/\/)([^/?#]*)(.*)$/s

/** One for each host of the URL: `postgres://a:5432,b:5432/db` names two. */
export function urlsOf(url: string): readonly string[] {
  const [, scheme = '', authority = '', rest = ''] = AUTHORITY.exec(url) ?? []
  const hostsFrom = authority.lastIndexOf('@') + 1
  const hosts = authority.slice(hostsFrom).split(',')
  if (hosts.length === 1) return [url]
  const user = authority.slice(0, hostsFrom)
  return hosts.map((host) => `${scheme}${user}${host}${rest}`)
}

/** Throws `SqlFailed` for a URL that means something else than its author believes. It shows nothing of it. */
export function assertUrl({ url }: Pick<PostgresAddress, 'url'>): void {
  const parsed = URL.canParse(url) ? new URL(url) : null
  if (parsed === null || /[@#]/.test(parsed.pathname + parsed.hash)) {
    throw new SqlFailed('unusable', `The URL of PostgreSQL cannot be read. ${WRITE}`, null)
  }
  const mode = parsed.searchParams.get('sslmode')
  if (mode !== null && !SSL_MODES.includes(mode)) {
    const known = SSL_MODES.join(', ')
    const what = `${nameOf({ url })}: there is no \`sslmode=${mode}\`. There are: ${known}.`
    throw new SqlFailed('unusable', what, null)
  }
}

/** For people: without the user and the password. */
export function nameOf({ url, connection }: Pick<PostgresAddress, 'url' | 'connection'>): string {
  const parsed = URL.canParse(url) ? new URL(url) : null
  if (parsed === null) return 'PostgreSQL'
  const host = connection?.host ?? parsed.searchParams.get('host') ?? parsed.host
  return `PostgreSQL at ${host === '' ? 'the default host' : host}${parsed.pathname}`
}
