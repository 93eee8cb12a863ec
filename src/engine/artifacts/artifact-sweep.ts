/**
 * Removes the artifacts of jobs that were forgotten.
 *
 * It goes through the place, a bounded number of jobs at a time, and asks the store for each. So
 * it does not matter who forgot a job, or whether a process ended in between: what its store does
 * not know any more goes. What another store wrote, or somebody else, is left alone.
 */
import type { ArtifactPlace } from '../../definition/index.ts'
import type { Store } from '../../store/index.ts'
import { StoreClosed, StoreEnded } from '../../store/index.ts'
import type { Timer, Timing } from '../../store/clock.ts'
import { ownerOf, SHARD } from '../../worker/artifact/paths.ts'

interface SweepParts {
  readonly store: Store
  readonly place: ArtifactPlace
  readonly now: () => number
  /** When to look. */
  readonly timing: Timing
  readonly onError: (error: Error) => void
}

/** Jobs of one look. */
export const SWEPT_AT_ONCE = 100
/** Between two looks of one round. */
const PAUSE_MS = 1_000
/** Between two rounds, and BEFORE the first: opening has better things to do. */
const ROUND_MS = 600_000
/** So old, what is left of a write is nobody's any more. */
const LEFTOVER_MS = 86_400_000

export class ArtifactSweep {
  readonly #parts: SweepParts
  /** Where the next look goes on. */
  #shard = ''
  #after = ''
  #timer: Timer | null = null
  #looking: Promise<void> | null = null
  #isClosed = false
  /** The look that is under way, by whomever. */
  #underWay: Promise<boolean> = Promise.resolve(true)
  /** So many want that nothing is removed. */
  #holds = 0

  constructor(parts: SweepParts) {
    this.#parts = parts
    this.#plan(ROUND_MS)
  }

  /** Looks at some jobs. Whether that was the end of a round. */
  look(): Promise<boolean> {
    this.#underWay = this.#look()
    return this.#underWay
  }

  /** Does something while nothing is removed. */
  async held<T>(work: () => Promise<T>): Promise<T> {
    this.#holds += 1
    try {
      await this.#underWay.catch(() => undefined)
      return await work()
    } finally {
      this.#holds -= 1
    }
  }

  async #look(): Promise<boolean> {
    const { place, now } = this.#parts
    let left = SWEPT_AT_ONCE
    while (left > 0) {
      if (this.#isClosed) return true
      if (this.#holds > 0) return false
      const names = await this.#names(left)
      for (const name of names) {
        if (this.#isClosed) return true
        // Where it stopped is where it goes on: what was looked at is looked at again.
        if (this.#holds > 0) return false
        await this.#told(() => this.#lookAt(`${this.#shard}/${name}`))
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
    await this.#looking
  }

  async #names(limit: number): Promise<readonly string[]> {
    const [shard, after] = [this.#shard, this.#after]
    if (!SHARD.test(shard)) return []
    return (await this.#told(() => this.#parts.place.list(shard, after, limit))) ?? []
  }

  /** What cannot be looked at must not keep the sweep from all that comes after it. */
  async #told<T>(work: () => Promise<T>): Promise<T | null> {
    try {
      return await work()
    } catch (error) {
      if (error instanceof StoreClosed || error instanceof StoreEnded) throw error
      this.#parts.onError(error as Error)
      return null
    }
  }

  async #lookAt(folder: string): Promise<void> {
    const { store, place } = this.#parts
    const owner = await ownerOf(place, folder)
    if (owner === null || owner.store !== (store.id ?? null)) return
    const known = await store.query({ kind: 'overview', job: owner.job })
    // Another job may have the id now.
    if (known?.job.submittedAt === owner.submittedAt) return
    await place.remove(folder)
  }

  #plan(ms: number): void {
    if (this.#isClosed) return
    this.#timer = this.#parts.timing.after(ms, () => {
      this.#looking = this.#lookAndPlan()
    })
  }

  async #lookAndPlan(): Promise<void> {
    try {
      this.#plan((await this.look()) ? ROUND_MS : PAUSE_MS)
    } catch (error) {
      if (this.#isClosed || error instanceof StoreClosed) return
      this.#parts.onError(error as Error)
      // A store that has ended stays so.
      if (!(error instanceof StoreEnded)) this.#plan(ROUND_MS)
    }
  }
}
