/**
 * Deletes rows that say nothing any more: of limits that no task holds and whose bucket is full again,
 * and of groups whose turns have all passed. The store decides the same without them, and inserts one
 * again when it needs it.
 *
 * It goes through the tables a portion at a time, and begins anew at the end. While half of a portion
 * is unused it goes on at once, else it rests. Any number of processes may do so: a row that a
 * transaction uses is locked, and stays.
 */
import { nowUs } from '../../clock.ts'
import type { Statement, Connection, Row } from '../connection.ts'
import { SqlFailed } from '../failures.ts'
import type { Statements } from '../statements.ts'

/** Rows that are read at once, of each table. */
const PORTION = 500
const PAUSE_MS = 20_000
/** A bucket is full for so long: the clocks of two processes may differ a little. */
const FULL_MS = 60_000

export class UnusedRows {
  readonly #sql: Statements
  #lastKey = ''
  #lastGroup: Row = BEFORE_ALL
  #nextUs = 0

  constructor(sql: Statements) {
    this.#sql = sql
  }

  get isDue(): boolean {
    return nowUs() >= this.#nextUs
  }

  /** How many were deleted. */
  async deleteIfDue(connection: Connection, now: number): Promise<number> {
    if (!this.isDue) return 0
    try {
      const deleted = await this.deletePortion(connection, now)
      this.#nextUs = deleted >= PORTION / 2 ? 0 : nowUs() + PAUSE_MS * 1_000
      return deleted
    } catch (error) {
      // A process without the right to delete leaves it to others.
      if (!(error instanceof SqlFailed) || error.reason !== 'denied') throw error
      this.#nextUs = Infinity
      return 0
    }
  }

  async deletePortion(connection: Connection, now: number): Promise<number> {
    const { limitsAfter, groupTurnsAfter, deleteLimits, deleteGroupTurns } = this.#sql
    const [limits, turns] = await connection.run([
      { sql: limitsAfter, values: [this.#lastKey, PORTION] },
      { sql: groupTurnsAfter, values: [...this.#lastGroup, PORTION] },
    ])
    const keys = limits?.rows ?? []
    const groups = turns?.rows ?? []
    this.#lastKey = keys.length < PORTION ? '' : (keys.at(-1)?.[0] as string)
    this.#lastGroup = groups.length < PORTION ? BEFORE_ALL : (groups.at(-1)?.slice(0, 3) as Row)
    const fullBy = now - FULL_MS
    const statements: Statement[] = []
    const free = keys.filter((row) => isFree(row, fullBy)).map(([key]) => [key as string, fullBy])
    if (free.length > 0) statements.push({ sql: deleteLimits, rows: free })
    const passed = groups.filter(isPassed).map((row) => row.slice(0, 4))
    if (passed.length > 0) statements.push({ sql: deleteGroupTurns, rows: passed })
    if (statements.length === 0) return 0
    const dropped = await connection.run(statements)
    return dropped.reduce((sum, { changed }) => sum + changed, 0)
  }
}

/** Every channel has a name. */
const BEFORE_ALL: Row = ['', 0, '']

/** The limit has all its room without the row, too. */
function isFree([, held, fullAt, wakeAt]: Row, fullBy: number): boolean {
  return held === 0 && (fullAt as number) <= fullBy && wakeAt === null
}

/** The newest turn of each channel and level stays, so that turns go on from there. */
function isPassed([, , , turn, first, newest]: Row): boolean {
  return (turn as number) < ((first ?? newest) as number)
}
