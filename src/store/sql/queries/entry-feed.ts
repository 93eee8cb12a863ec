/**
 * All entries in the order of their positions, for watches and for readers of pages.
 *
 * A transaction draws its positions before it commits, so a later entry may be there before an earlier
 * one. Where positions follow each other without a gap nothing can be missing. A gap belongs to a
 * transaction that may still commit, or it is never filled. The feed waits at a gap until every
 * transaction is over that had drawn a position when the feed first saw it.
 *
 * Old entries are removed. A watch that goes on from a position from before is refused: it would miss some.
 * A watch from 0 begins with what is left of them, and is refused if more is removed ahead of it.
 */
import { NoSuchPosition } from '../../../log/index.ts'
import type { PositionedEntry } from '../../store.ts'
import type { Connection, Statement, StatementResult } from '../connection.ts'
import { historyMark } from '../rows/event-rows.ts'
import type { Records } from '../rows/records.ts'
import { positionedEntries } from './job-queries.ts'
import type { HistoryStatements, Statements } from '../statements.ts'

const PAGE = 500

export interface Fence {
  readonly position: number
  readonly before: number
}

export class EntryFeed {
  readonly #sql: Statements
  readonly #history: HistoryStatements
  readonly #records: Records
  /** No entry will come at or before this position any more. */
  #complete = 0
  /** The same will hold for `position` once all transactions before the number `before` are over. */
  #waiting: Fence | null = null
  /** Up to here a watch is content with what was left when it began. */
  readonly #contentUpTo = new WeakMap<object, number>()

  constructor(sql: Statements, history: HistoryStatements, records: Records) {
    this.#sql = sql
    this.#history = history
    this.#records = records
  }

  /**
   * Entries behind a position, up to the first gap that may still be filled. `watch`: which one reads. Throws
   * `NoSuchPosition`.
   */
  read(connection: Connection, position: number, watch: object): Promise<PositionedEntry[]> {
    const events = { sql: this.#sql.eventsAfter, values: [position, PAGE] }
    return this.#upToGap(connection, position, events, (removedThrough) =>
      this.#assertKept(position, removedThrough, watch),
    )
  }

  /** The same for a reader of pages, who is content with what is left. `events`: the statement of those behind `position`. */
  page(connection: Connection, position: number, events: Statement): Promise<PositionedEntry[]> {
    return this.#upToGap(connection, position, events, () => undefined)
  }

  async #upToGap(
    connection: Connection,
    position: number,
    asked: Statement,
    assertKept: (removedThrough: number) => void,
  ): Promise<PositionedEntry[]> {
    for (let isLast = false; ; isLast = true) {
      // In this order: what is read is at least as new as what is known of it.
      const [horizon, events, history] = await connection.run([
        { sql: this.#sql.horizon, values: [] },
        asked,
        { sql: this.#history.read, values: [] },
      ])
      assertKept(historyMark(history?.rows[0]).through)
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
      // It may wait at an earlier gap already.
      if (isLast || shown === rows.length || this.#waiting !== null) {
        return positionedEntries(rows.slice(0, shown), this.#records)
      }
      this.#waiting = await this.fence(connection)
    }
  }

  /**
   * A position, and the number of a transaction: once all before that one are over, every entry that is still to come
   * has a later position.
   */
  async fence(connection: Connection): Promise<Fence> {
    const [fence] = await connection.run([{ sql: this.#sql.fence, values: [] }])
    const [before = 0, position = 0] = (fence as StatementResult).rows[0] as readonly number[]
    return { position, before }
  }

  async isPassed(connection: Connection, { before }: Fence): Promise<boolean> {
    const [horizon] = await connection.run([{ sql: this.#sql.horizon, values: [] }])
    const [oldest = 0] = (horizon as StatementResult).rows[0] as readonly number[]
    return oldest >= before
  }

  /** AFTER the entries were read: what was removed until then counts. */
  #assertKept(position: number, removedThrough: number, watch: object): void {
    const contentUpTo = this.#contentUpTo.get(watch) ?? (position === 0 ? removedThrough : 0)
    this.#contentUpTo.set(watch, contentUpTo)
    if (position >= contentUpTo && position < removedThrough) throw new NoSuchPosition(position)
  }
}
