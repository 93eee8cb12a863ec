/**
 * All entries in the order of their positions, for watches.
 *
 * A transaction draws its positions before it commits, so a later entry may be there before an earlier
 * one. Where positions follow each other without a gap nothing can be missing. A gap belongs to a
 * transaction that may still commit, or it is never filled. The feed waits at a gap until every
 * transaction is over that had drawn a position when the feed first saw it.
 */
import type { PositionedEntry } from '../../store.ts'
import type { StatementResult, Connection } from '../connection.ts'
import type { Records } from '../rows/records.ts'
import { positionedEntries } from './job-queries.ts'
import type { Statements } from '../statements.ts'

const PAGE = 500

export class EntryFeed {
  readonly #sql: Statements
  readonly #records: Records
  /** No entry will come at or before this position any more. */
  #complete = 0
  /** The same will hold for `position` once all transactions before the number `before` are over. */
  #waiting: { readonly position: number; readonly before: number } | null = null

  constructor(sql: Statements, records: Records) {
    this.#sql = sql
    this.#records = records
  }

  /** Entries behind a position, up to the first gap that may still be filled. */
  async read(connection: Connection, position: number): Promise<PositionedEntry[]> {
    for (let look = 0; look < 2; look++) {
      // In this order: what is read is at least as new as what is known of it.
      const [horizon, events] = await connection.run([
        { sql: this.#sql.horizon, values: [] },
        { sql: this.#sql.eventsAfter, values: [position, PAGE] },
      ])
      const [oldest = 0] = (horizon as StatementResult).rows[0] as readonly number[]
      if (this.#waiting !== null && oldest >= this.#waiting.before) {
        this.#complete = Math.max(this.#complete, this.#waiting.position)
        this.#waiting = null
      }
      const rows = events?.rows ?? []
      let last = position
      let shown = 0
      while (shown < rows.length) {
        const at = rows[shown]?.[0] as number
        if (at !== last + 1 && at > this.#complete) break
        last = at
        shown += 1
      }
      if (shown > 0 || rows.length === 0)
        return positionedEntries(rows.slice(0, shown), this.#records)
      // It waits at an earlier gap already.
      if (this.#waiting !== null) break
      await this.#waitForGap(connection)
    }
    return []
  }

  async #waitForGap(connection: Connection): Promise<void> {
    const [fence] = await connection.run([{ sql: this.#sql.fence, values: [] }])
    const [before = 0, position = 0] = (fence as StatementResult).rows[0] as readonly number[]
    this.#waiting = { position, before }
  }
}
