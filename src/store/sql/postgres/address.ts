/**
 * Where a PostgreSQL server is, and how long it may take. It names no type of pg, so that the types of
 * this package can be read without those of pg.
 */
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

/** For people: without the password. */
export function nameOf({ url }: PostgresAddress): string {
  const parsed = URL.canParse(url) ? new URL(url) : null
  return parsed === null ? 'PostgreSQL' : `PostgreSQL at ${parsed.host}${parsed.pathname}`
}
