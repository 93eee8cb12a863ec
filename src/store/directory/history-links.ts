/**
 * Where the entries of a job stand, for histories that are read page by page. The log links entries from the
 * newest to the oldest, so a first page passes all links; what it passed is kept for the next page of the same
 * job, which then reads only what it returns.
 */
import type { Job } from '../../kernel/index.ts'

/** Fewer are passed quickly. */
const LEAST_KEPT = 256

/** The position of the job's entry before the one at a position; 0: there is none. Null: it is gone. */
export type ReadLink = (position: number) => Promise<number | null>

export class HistoryLinks {
  /** Of the job: another one may get its id. */
  #first = 0
  /** In the order of the log. */
  #positions: readonly number[] = []

  /** The positions of the job's entries that are kept, in the order of the log. */
  async positionsOf(
    { firstPosition, lastPosition }: Job,
    read: ReadLink,
  ): Promise<readonly number[]> {
    const known = firstPosition === this.#first ? this.#positions : []
    const newest = known.at(-1) ?? 0
    const newestFirst: number[] = []
    for (let position = lastPosition; position > newest;) {
      const before = await read(position)
      if (before === null) break
      newestFirst.push(position)
      position = before
    }
    if (newestFirst.length === 0) return known
    const positions = [...known, ...newestFirst.toReversed()]
    if (positions.length >= LEAST_KEPT) {
      this.#first = firstPosition
      this.#positions = positions
    }
    return positions
  }
}
