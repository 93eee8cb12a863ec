/**
 * Removes the artifacts of jobs that were forgotten, or erased.
 *
 * It goes through the place, a bounded number of jobs at a time, and asks the store for each. So it
 * does not matter which process forgot a job, or whether one ended in between: the sweep removes what
 * its store does not know any more, or knows to be erased. Files of another store, or of other programs, are left alone.
 */
import type { ArtifactPlace } from '../../definition/index.ts'
import type { Timer, Timing } from '../../store/clock.ts'
import type { Store } from '../../store/index.ts'
import { StoreClosed, StoreEnded } from '../../store/index.ts'
import { ownerOf, SHARD } from '../../worker/artifact/paths.ts'

interface SweepParts {
  readonly store: Store
  readonly place: ArtifactPlace
  readonly now: () => number
  readonly timing: Timing
  readonly onError: (error: Error) => void
}

/** Jobs of one call of `sweepSome`. */
export const SWEPT_AT_ONCE = 100
/** Between two calls in one round. */
const PAUSE_MS = 1_000
/** Between two rounds, and BEFORE the first: opening has better things to do. */
const ROUND_MS = 600_000
/** What is left of a write that was cut short is removed when it is this old. */
const LEFTOVER_MS = 86_400_000

export class ArtifactSweep {
  readonly #parts: SweepParts
  /** Where the next call goes on. */
  #shard = ''
  #after = ''
  #timer: Timer | null = null
  #running: Promise<void> | null = null
  #isClosed = false
  /** The call that is under way, by the timer or by a caller. */
  #current: Promise<boolean> = Promise.resolve(true)
  /** How many calls of `whilePaused` are under way: nothing is removed meanwhile. */
  #pauses = 0

  constructor(parts: SweepParts) {
    this.#parts = parts
    this.#schedule(ROUND_MS)
  }

  /** Checks some jobs. Whether that was the end of a round. */
  sweepSome(): Promise<boolean> {
    this.#current = this.#sweep()
    return this.#current
  }

  /** Does something while nothing is removed. */
  async whilePaused<T>(work: () => Promise<T>): Promise<T> {
    this.#pauses += 1
    try {
      await this.#current.catch(() => undefined)
      return await work()
    } finally {
      this.#pauses -= 1
    }
  }

  async #sweep(): Promise<boolean> {
    const { place, now } = this.#parts
    let left = SWEPT_AT_ONCE
    while (left > 0) {
      if (this.#isClosed) return true
      if (this.#pauses > 0) return false
      const names = await this.#names(left)
      for (const name of names) {
        if (this.#isClosed) return true
        // The next call begins with the same names: what was checked is checked again.
        if (this.#pauses > 0) return false
        await this.#reporting(() => this.#sweepFolder(`${this.#shard}/${name}`))
      }
      left -= names.length
      this.#after = names.at(-1) ?? ''
      if (names.length > 0) continue
      const [next] = await place.list('', this.#shard, 1)
      this.#shard = next ?? ''
      if (next !== undefined) continue
      await place.tidy?.(now() - LEFTOVER_MS)
      return true
    }
    return false
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#timer?.cancel()
    await this.#running
  }

  async #names(limit: number): Promise<readonly string[]> {
    const [shard, after] = [this.#shard, this.#after]
    if (!SHARD.test(shard)) return []
    return (await this.#reporting(() => this.#parts.place.list(shard, after, limit))) ?? []
  }

  /** A folder that cannot be checked must not keep the sweep from those after it. */
  async #reporting<T>(work: () => Promise<T>): Promise<T | null> {
    try {
      return await work()
    } catch (error) {
      if (error instanceof StoreClosed || error instanceof StoreEnded) throw error
      this.#parts.onError(error as Error)
      return null
    }
  }

  async #sweepFolder(folder: string): Promise<void> {
    const { store, place } = this.#parts
    const owner = await ownerOf(place, folder)
    if (owner === null || owner.store !== (store.id ?? null)) return
    const known = await store.query({ kind: 'overview', job: owner.job })
    // Another job may have the id now.
    const isIt = known?.job.submittedAt === owner.submittedAt
    if (isIt && known.job.erased === null) return
    await place.remove(folder)
  }

  #schedule(ms: number): void {
    if (this.#isClosed) return
    this.#timer = this.#parts.timing.after(ms, () => {
      this.#running = this.#sweepAndSchedule()
    })
  }

  async #sweepAndSchedule(): Promise<void> {
    try {
      this.#schedule((await this.sweepSome()) ? ROUND_MS : PAUSE_MS)
    } catch (error) {
      if (this.#isClosed || error instanceof StoreClosed) return
      this.#parts.onError(error as Error)
      // A store that has ended stays so.
      if (!(error instanceof StoreEnded)) this.#schedule(ROUND_MS)
    }
  }
}
