/**
 * Where a server is, and how it is spoken to. Without pg: whoever imports this package need not have its types.
 */
import type { SilenceLimits } from './silence-watch.ts'

export interface PostgresAddress extends SilenceLimits {
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
