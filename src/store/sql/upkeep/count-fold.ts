/**
 * Adds up the changes of counts that transactions append (see `rows/counted-rows.ts`), so that few are
 * left for a query to read, and deletes counts that are all 0. Any number of processes may do so: each takes changes that no other has taken.
 *
 * A process that committed nothing since adds up nothing: what is left of a process that was killed waits
 * for the next one that commits.
 */
import { nowUs } from '../../clock.ts'
import type { Connection } from '../connection.ts'
import { SqlFailed } from '../failures.ts'
import type { Statements } from '../statements.ts'

/** Changes that one statement adds up. */
const PORTION = 5_000
const PAUSE_MS = 1_000
/** Between two deletions: they read all counts. */
const DELETE_EVERY_MS = 60_000

export class CountFold {
  readonly #sql: Statements
  /** An earlier process may have left some. */
  #hasChanges = true
  #nextUs = 0
  #nextDeletionUs = 0

  constructor(sql: Statements) {
    this.#sql = sql
  }

  noteChanges(): void {
    this.#hasChanges = true
  }

  async foldIfDue(connection: Connection): Promise<void> {
    if (!this.#hasChanges || nowUs() < this.#nextUs) return
    this.#hasChanges = false
    this.#nextUs = nowUs() + PAUSE_MS * 1_000
    try {
      const fold = { sql: this.#sql.foldCounts, values: [PORTION] }
      for (let folded = PORTION; folded === PORTION;) {
        const [result] = await connection.run([fold])
        folded = (result?.rows[0]?.[0] as number | undefined) ?? 0
      }
      if (nowUs() < this.#nextDeletionUs) return
      this.#nextDeletionUs = nowUs() + DELETE_EVERY_MS * 1_000
      await connection.run([{ sql: this.#sql.deleteZeroCounts, values: [] }])
    } catch (error) {
      // The next upkeep does the rest.
      this.#hasChanges = true
      // A process without the right to delete leaves it to others.
      if (!(error instanceof SqlFailed) || error.reason !== 'denied') throw error
      this.#nextUs = Infinity
    }
  }
}
