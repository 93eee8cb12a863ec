/**
 * Whether the tables are still of a version that this one knows: a newer version of Pawl may have
 * brought them up to date while a store is open. It is asked on each new connection, and then about
 * once a second, with the next that is done. Newer tables are refused from then on, BEFORE anything is
 * done. What is under way ends as it began: what that needs of a step is in `docs/sql-stores.md`.
 */
import { nowUs } from '../clock.ts'
import type { Connection } from './connection.ts'
import { NewerTables } from './tables.ts'

const EVERY_US = 1_000_000

export class TableVersion {
  readonly #meta: string
  readonly #known: number
  #askedUs = nowUs()

  /** `meta`: the statement. `known`: the newest version that is. */
  constructor(meta: string, known: number) {
    this.#meta = meta
    this.#known = known
  }

  /** `isNew`: nobody has asked on this connection yet. */
  isDue(isNew: boolean): boolean {
    return isNew || nowUs() - this.#askedUs >= EVERY_US
  }

  /** Throws `NewerTables`. */
  async assert(connection: Connection): Promise<void> {
    const askedUs = nowUs()
    const [answered] = await connection.run([{ sql: this.#meta, values: ['version'] }])
    const found = Number(answered?.rows[0]?.[0] ?? 0)
    if (found > this.#known) throw new NewerTables(found, this.#known)
    this.#askedUs = askedUs
  }
}
