/**
 * Where a PostgreSQL server is, and how long it may take. It names no type of pg, so that the types of
 * this package can be read without those of pg.
 */
import { SqlFailed } from '../failures.ts'

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

export interface PostgresAddress extends ServerLimits {
  /** `postgres://user:password@host:port/database`, and whatever else pg understands. */
  readonly url: string
  /** Where the server looks for unqualified names. Default: its own setting, usually `public`. */
  readonly schema?: string
  /** Queries of pg's own are sent without waiting for those before them, too. Default: true. */
  readonly isPipelined?: boolean
  /** What the server shows the connection as. Default: `pawl`. */
  readonly name?: string
}

const SSL_MODES = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify']
const WRITE =
  "Write 'postgres://user:password@host:5432/database', with %40 for `@`, %2F for `/`, %3A for `:`, %23 for `#` and %25 for `%` in the user and the password."

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
export function nameOf({ url }: Pick<PostgresAddress, 'url'>): string {
  const parsed = URL.canParse(url) ? new URL(url) : null
  if (parsed === null) return 'PostgreSQL'
  const host = parsed.searchParams.get('host') ?? parsed.host
  return `PostgreSQL at ${host === '' ? 'the default host' : host}${parsed.pathname}`
}
