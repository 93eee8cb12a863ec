/**
 * What PostgreSQL and the network say when something goes wrong, sorted by what is to be done.
 */
import type { SqlFailureReason } from '../failures.ts'

/** By SQLSTATE, or by its first two digits. */
const REASONS: Readonly<Record<string, SqlFailureReason>> = {
  '08': 'lost',
  '23505': 'conflict',
  '25006': 'read-only',
  '28': 'denied',
  // No such database, schema, table, column.
  '3D000': 'missing',
  '3F000': 'missing',
  '42P01': 'missing',
  '42703': 'missing',
  '40001': 'conflict',
  '40P01': 'conflict',
  '42501': 'denied',
  '53': 'full',
  // All connections are taken: one will be free.
  '53300': 'lost',
  '55P03': 'conflict',
  // An administrator cancelled it, or it took longer than they allow.
  '57014': 'conflict',
  // Shut down by an administrator, by a crash, or not up yet.
  '57P01': 'lost',
  '57P02': 'lost',
  '57P03': 'lost',
  // Pages or indexes that make no sense.
  XX001: 'damaged',
  XX002: 'damaged',
}

interface ServerError {
  readonly code?: unknown
  readonly severity?: unknown
  readonly routine?: unknown
  readonly syscall?: unknown
}

/** What went wrong with a statement, on a connection that was there. */
export function reasonOf(error: Error): SqlFailureReason {
  const { code, severity, routine } = error as ServerError
  if (error instanceof RangeError) return 'broken'
  // Anything but an answer of the server is the end of the connection, and so is its last word.
  if (typeof severity !== 'string' || severity === 'FATAL' || severity === 'PANIC') return 'lost'
  // The table was altered after the statement was prepared: it is prepared anew.
  if (code === '0A000' && routine === 'RevalidateCachedQuery') return 'conflict'
  return byState(code) ?? 'broken'
}

/** How libraries tell that there is no connection any more. */
const GONE = /\b(?:terminated|closed|ended|not queryable)\b|\bE(?:CONN\w+|PIPE)\b/

/** What went wrong on a connection of the user's: anything may be thrown by what they use. */
export function reasonInTransaction(error: Error): SqlFailureReason {
  if (typeof (error as ServerError).severity === 'string') return reasonOf(error)
  return GONE.test(error.message) ? 'lost' : 'broken'
}

/** PostgreSQL's own code of what went wrong, wherever it stands; null: it has said nothing. */
export function stateOf(error: unknown): string | null {
  for (let one: unknown = error; one instanceof Error; one = one.cause) {
    const { code, severity } = one as ServerError
    if (typeof severity === 'string' && typeof code === 'string') return code
  }
  return null
}

export interface OpeningFailure {
  readonly reason: SqlFailureReason
  /** What to do about it. */
  readonly remedy: string
}

const NOWHERE =
  "No server answers there: look at the host and the port, and whether the server runs and can be reached from here. To wait for one that is being started: open(url, { waitFor: '30s' })."
const STARTING =
  "The server is there, and takes no connections now. To wait for it: open(url, { waitFor: '30s' })."
const NO_DATABASE =
  'Create it, or write the name of another one behind the last `/` of the URL: the tables are made in it, the database itself is not.'
const TLS =
  'The URL and the server do not agree about TLS. For a server without it, as on your own machine: `?sslmode=disable`. For a certificate of your own: `?sslmode=verify-full&sslrootcert=ca.pem`, or open(url, { connection: { ssl } }).'
const TLS_FILE = 'Look at `sslrootcert`, `sslcert` and `sslkey` in the URL: each names a file.'
const NO_ENTRY =
  'The pg_hba.conf of the server allows no such connection. Where it says "no encryption", write `?sslmode=require`, or verify-full.'
const CREDENTIALS =
  'Look at the user and the password in the URL: `@`, `/`, `:`, `#` and `%` in them are written %40, %2F, %3A, %23 and %25.'

/** By SQLSTATE. */
const REMEDIES: Readonly<Record<string, string>> = {
  '28000': NO_ENTRY,
  '28P01': CREDENTIALS,
  '3D000': NO_DATABASE,
  '53300': 'All connections of the server are taken: end some, or let it take more.',
  '57P03': STARTING,
}

const CONNECTING: ReadonlySet<unknown> = new Set(['connect', 'getaddrinfo', 'read', 'write'])
const OF_TLS = /\bSSL\b|\bTLS\b|certificate|sslmode|sslnegotiation/i
/** How Node names what is wrong with a certificate, or with the talk about it. */
const TLS_CODE = /^(?:ERR_TLS|ERR_SSL|EPROTO|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_)/

/** What went wrong with opening a connection. */
export function openingFailure(error: Error): OpeningFailure {
  const { code, severity, syscall } = error as ServerError
  if (typeof severity === 'string') {
    const reason = byState(code) ?? 'denied'
    return {
      reason: reason === 'lost' ? 'unreachable' : reason,
      remedy: REMEDIES[String(code)] ?? (reason === 'lost' ? STARTING : CREDENTIALS),
    }
  }
  if (syscall === 'open') return { reason: 'denied', remedy: TLS_FILE }
  if (TLS_CODE.test(String(code)) || OF_TLS.test(error.message)) {
    return { reason: 'denied', remedy: TLS }
  }
  const isNetwork = CONNECTING.has(syscall) || error instanceof AggregateError
  // pg's own words for a server that says nothing, or hangs up.
  const isGone = isNetwork || /timeout expired|terminated/.test(error.message)
  return isGone
    ? { reason: 'unreachable', remedy: NOWHERE }
    : { reason: 'denied', remedy: CREDENTIALS }
}

function byState(code: unknown): SqlFailureReason | undefined {
  return REASONS[String(code)] ?? REASONS[String(code).slice(0, 2)]
}
