/**
 * All entries in the order of their positions, for those who watch.
 *
 * Positions are given out before a transaction commits, so a later one may be there before an earlier
 * one. Where they follow each other without a gap nothing can be missing. A gap is either of a
 * transaction that may still commit, or will never be filled: it is passed when every transaction is
 * over that had taken a position when it was first seen.
 */
import type { Positioned } from '../../store.ts'
import type { StatementResult, Connection } from '../connection.ts'
import type { JobQueries } from './job-queries.ts'
import type { Statements } from '../statements.ts'

const PAGE = 500

export class EntryFeed {
  readonly #sql: Statements
  readonly #queries: JobQueries
  /** Nothing more will come at or before this position. */
  #settled = 0
  /** Once all transactions before this one are over, nothing more will come at or before a position. */
  #settling: { readonly position: number; readonly before: number } | null = null

  constructor(sql: Statements, queries: JobQueries) {
    this.#sql = sql
    this.#queries = queries
  }

  /** A gap is waited for: what is behind it shows when the gap is filled or given up. */
  get isWaiting(): boolean {
    return this.#settling !== null
  }

  /** The entries behind a position that nothing can come between any more. */
  async read(connection: Connection, position: number): Promise<Positioned[]> {
    for (let look = 0; look < 2; look++) {
      // In this order: what is read is at least as new as what is known of it.
      const [horizon, events] = await connection.run([
        { sql: this.#sql.horizon, values: [] },
        { sql: this.#sql.eventsAfter, values: [position, PAGE] },
      ])
      const [oldest = 0] = (horizon as StatementResult).rows[0] as readonly number[]
      if (this.#settling !== null && oldest >= this.#settling.before) {
        this.#settled = Math.max(this.#settled, this.#settling.position)
        this.#settling = null
      }
      const rows = events?.rows ?? []
      let last = position
      let shown = 0
      while (shown < rows.length) {
        const at = rows[shown]?.[0] as number
        if (at !== last + 1 && at > this.#settled) break
        last = at
        shown += 1
      }
      if (shown > 0 || rows.length === 0) return this.#queries.positioned(rows.slice(0, shown))
      // Somebody waits for an earlier one already.
      if (this.#settling !== null) break
      await this.#wait(connection)
    }
    return []
  }

  /** From here on what is missing now is waited for, until it cannot come any more. */
  async #wait(connection: Connection): Promise<void> {
    const [fence] = await connection.run([{ sql: this.#sql.fence, values: [] }])
    const [before = 0, position = 0] = (fence as StatementResult).rows[0] as readonly number[]
    this.#settling = { position, before }
  }
}
