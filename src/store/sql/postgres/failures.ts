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

/** What went wrong with opening one. */
export function reasonOfOpening(error: Error): SqlFailureReason {
  const { code, severity, syscall } = error as ServerError
  if (typeof severity === 'string') return byState(code) ?? 'denied'
  const isNetwork = syscall !== undefined || error instanceof AggregateError
  // pg's own words for a server that says nothing, or hangs up.
  return isNetwork || /timeout expired|terminated/.test(error.message) ? 'lost' : 'denied'
}

function byState(code: unknown): SqlFailureReason | undefined {
  return REASONS[String(code)] ?? REASONS[String(code).slice(0, 2)]
}
