/**
 * Sweeps up what a database leaves behind: rows that were changed stay in its indexes as they were,
 * and a claim has to pass all that were taken before, until somebody clears them away. The database
 * does so by itself, about once a minute. Under load that is a million too late.
 *
 * - resting: too few jobs were taken, or it has swept just now.
 * - looking, and if there is enough: sweeping. It takes at most a tenth of the time.
 */
import { nowUs } from '../../clock.ts'
import type { VacuumTables } from '../dialect.ts'
import type { ConnectionPool } from '../connection-pool.ts'

/** Jobs that are taken here between two looks. */
const LOOK_EVERY = 5_000
/** So much is swept up: it costs a claim about as much as the rest of it. */
const ENOUGH = 100_000
const SHARE = 10

export class Vacuum {
  readonly #pool: ConnectionPool
  readonly #sweep: VacuumTables | null
  #taken = 0
  #isBusy = false
  #notBeforeUs = 0

  constructor(pool: ConnectionPool, sweep: VacuumTables | null) {
    this.#pool = pool
    this.#sweep = sweep
  }

  /** So many jobs were taken. */
  taken(count: number): void {
    this.#taken += count
    if (this.#sweep === null || this.#taken < LOOK_EVERY) return
    if (this.#isBusy || nowUs() < this.#notBeforeUs) return
    this.#taken = 0
    this.#isBusy = true
    void this.#look(this.#sweep)
      // Somebody else does it, or the database is away: it is no matter of anybody who waits.
      .catch(() => undefined)
      .finally(() => (this.#isBusy = false))
  }

  #look({ count, run }: VacuumTables): Promise<void> {
    return this.#pool.run(async (connection) => {
      const [answered] = await connection.run([{ sql: count, values: [] }])
      if ((answered?.rows[0]?.[0] as number) < ENOUGH) return
      const beganUs = nowUs()
      await connection.run([{ sql: run, values: [] }])
      const endedUs = nowUs()
      this.#notBeforeUs = endedUs + SHARE * (endedUs - beganUs)
    })
  }
}
