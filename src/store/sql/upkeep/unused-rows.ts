/**
 * Takes rows away that say nothing any more: of limits that nobody holds and whose bucket is full again,
 * and of groups whose turns are all behind the line. Without them the same is decided: who needs one
 * makes it anew.
 *
 * It goes from row to row, a portion at a time, and begins anew at the end. While much of what it
 * passes is of no use it goes on at once, else it rests. Any number of processes may do so: what
 * somebody uses just now is locked, and is left where it is.
 */
import { nowUs } from '../../clock.ts'
import type { Statement, Connection, Row } from '../connection.ts'
import { SqlFailed } from '../failures.ts'
import type { Statements } from '../statements.ts'

/** Rows that are passed in one look, of each table. */
const PORTION = 500
const PAUSE_MS = 5_000
/** A bucket is full for so long: the clocks of two processes may differ a little. */
const FULL_MS = 60_000

export class UnusedRows {
  readonly #sql: Statements
  #lastKey = ''
  #lastShare: Row = BEFORE_ALL
  #nextUs = 0

  constructor(sql: Statements) {
    this.#sql = sql
  }

  /** How many were taken away. */
  async sweepIfItIsTime(connection: Connection, now: number): Promise<number> {
    if (nowUs() < this.#nextUs) return 0
    try {
      const swept = await this.sweep(connection, now)
      this.#nextUs = swept >= PORTION / 2 ? 0 : nowUs() + PAUSE_MS * 1_000
      return swept
    } catch (error) {
      // Who may not do this leaves it to those who may.
      if (!(error instanceof SqlFailed) || error.trouble !== 'denied') throw error
      this.#nextUs = Infinity
      return 0
    }
  }

  async sweep(connection: Connection, now: number): Promise<number> {
    const { limitsAfter, sharesAfter, dropLimits, dropShares } = this.#sql
    const [limits, shares] = await connection.run([
      { sql: limitsAfter, values: [this.#lastKey, PORTION] },
      { sql: sharesAfter, values: [...this.#lastShare, PORTION] },
    ])
    const keys = limits?.rows ?? []
    const groups = shares?.rows ?? []
    this.#lastKey = keys.length < PORTION ? '' : (keys.at(-1)?.[0] as string)
    this.#lastShare = groups.length < PORTION ? BEFORE_ALL : (groups.at(-1)?.slice(0, 3) as Row)
    const fullBy = now - FULL_MS
    const asks: Statement[] = []
    const free = keys.filter((row) => isFree(row, fullBy)).map(([key]) => [key as string, fullBy])
    if (free.length > 0) asks.push({ sql: dropLimits, rows: free })
    const passed = groups.filter(isPassed).map((row) => row.slice(0, 4))
    if (passed.length > 0) asks.push({ sql: dropShares, rows: passed })
    if (asks.length === 0) return 0
    const dropped = await connection.run(asks)
    return dropped.reduce((sum, { changed }) => sum + changed, 0)
  }
}

/** Every channel has a name. */
const BEFORE_ALL: Row = ['', 0, '']

/** Without it, it is as with it. */
function isFree([, held, fullAt, wakeAt]: Row, fullBy: number): boolean {
  return held === 0 && (fullAt as number) <= fullBy && wakeAt === null
}

/** Of each line the newest turn stays, so that turns go on from there. */
function isPassed([, , , turn, first, newest]: Row): boolean {
  return (turn as number) < ((first ?? newest) as number)
}
