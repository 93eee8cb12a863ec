/**
 * Plain jobs whose leases this process has just been given, or has reported on, as their rows are in
 * the database. Nearly always nobody else touches them meanwhile, so a report is decided on them
 * without a look. That is safe: every row is saved with a check of its version, and a transaction
 * that was wrong about one is done again with a look.
 *
 * Kept in two halves. When the newer one is full, the older one goes, and it takes its place.
 */
import type { Job } from '../../../kernel/index.ts'
import type { RowState } from '../rows/work-rows.ts'

const MOST_JOBS = 5_000

export interface LeasedRow {
  readonly job: Job
  readonly row: RowState
}

export class LeasedRowCache {
  #newer = new Map<string, LeasedRow>()
  #older = new Map<string, LeasedRow>()

  /** AFTER its row was committed as it is. */
  keep(held: LeasedRow): void {
    this.#newer.set(held.job.id, held)
    if (this.#newer.size <= MOST_JOBS) return
    this.#older = this.#newer
    this.#newer = new Map()
  }

  /** It is nobody else's from now on: what happens to it in a transaction that fails is not true. */
  take(id: string): LeasedRow | null {
    const held = this.#newer.get(id) ?? this.#older.get(id) ?? null
    this.#newer.delete(id)
    this.#older.delete(id)
    return held
  }
}
