/**
 * Vacuums the tables of a database that keeps old versions of rows. They stay in its indexes, and a
 * claim passes those of every task that was taken before it. The database vacuums by itself about
 * once a minute, which under load is a million rows too late.
 *
 * - idle: too few tasks were granted here since the last count, or it has vacuumed just now.
 * - counting, and vacuuming if there are enough old rows. It takes at most a tenth of the time.
 */
import { nowUs } from '../../clock.ts'
import type { VacuumTables } from '../dialect.ts'
import type { ConnectionPool } from '../connection-pool.ts'

/** Tasks that are granted here between two counts. */
const COUNT_EVERY = 5_000
/** Old rows that are worth a vacuum: passing them costs a claim about as much as the rest of it. */
const ENOUGH = 100_000
/** It rests so many times as long as it took. */
const REST_FACTOR = 10

export class Vacuum {
  readonly #pool: ConnectionPool
  readonly #tables: VacuumTables | null
  #granted = 0
  #isBusy = false
  #notBeforeUs = 0

  constructor(pool: ConnectionPool, tables: VacuumTables | null) {
    this.#pool = pool
    this.#tables = tables
  }

  noteGrants(count: number): void {
    this.#granted += count
    if (this.#tables === null || this.#granted < COUNT_EVERY) return
    if (this.#isBusy || nowUs() < this.#notBeforeUs) return
    this.#granted = 0
    this.#isBusy = true
    void this.#vacuum(this.#tables)
      // Another process vacuums, or the database is away: no caller waits for this.
      .catch(() => undefined)
      .finally(() => (this.#isBusy = false))
  }

  #vacuum({ count, run }: VacuumTables): Promise<void> {
    return this.#pool.run(async (connection) => {
      const [result] = await connection.run([{ sql: count, values: [] }])
      if ((result?.rows[0]?.[0] as number) < ENOUGH) return
      const beganUs = nowUs()
      await connection.run([{ sql: run, values: [] }])
      const endedUs = nowUs()
      this.#notBeforeUs = endedUs + REST_FACTOR * (endedUs - beganUs)
    })
  }
}
