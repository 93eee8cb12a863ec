/**
 * Watches: entries as they become durable, each once, in order.
 *
 * A watch reads at its own pace: it keeps a position, not a queue, so a slow one costs nothing
 * and a lost one is resumed by opening another.
 */
import type { PositionedEntry } from '../store.ts'

/**
 * Some of the durable entries behind a position, oldest first; none: there are none yet. `watch`: which one
 * reads, from one call to the next. `place`: where it begins instead, as long as it has shown none; null: nowhere else.
 */
export type ReadOn = (
  position: number,
  watch: object,
  place: number | null,
) => Promise<readonly PositionedEntry[]>

export class EntryWatches {
  readonly #read: ReadOn
  readonly #onWaiting: (isWaiting: boolean) => void
  readonly #waiting = new Set<() => void>()
  #wakes = 0
  #closed: { readonly error: Error | null } | null = null

  /** `onWaiting`: whether a watch waits for what comes next. */
  constructor(read: ReadOn, onWaiting: (isWaiting: boolean) => void = () => undefined) {
    this.#read = read
    this.#onWaiting = onWaiting
  }

  /** More is durable now. */
  wake(): void {
    this.#wakes += 1
    if (this.#waiting.size === 0) return
    const waiting = [...this.#waiting]
    this.#waiting.clear()
    this.#onWaiting(false)
    for (const resume of waiting) resume()
  }

  /** Watches end when they have seen everything, or with this error. */
  close(error: Error | null): void {
    this.#closed ??= { error }
    this.wake()
  }

  /** `place`: where it begins, of a store in which no entry may stand there; null: behind `from`. */
  watch(from: number, place: number | null = null): AsyncIterable<PositionedEntry> {
    return { [Symbol.asyncIterator]: () => new EntryWatch(this, from, place) }
  }

  /** The entries behind a position, when there are any; null when there will never be. */
  async next(
    position: number,
    watch: EntryWatch,
    place: number | null,
  ): Promise<readonly PositionedEntry[] | null> {
    for (;;) {
      if (watch.isOver) return null
      const wakes = this.#wakes
      const closed = this.#closed
      if (closed !== null && closed.error !== null) throw closed.error
      const entries = await this.#read(position, watch, place)
      if (entries.length > 0) return entries
      // Closed BEFORE it was read: there is nothing that it could have missed.
      if (closed !== null) return null
      if (wakes === this.#wakes) {
        await new Promise<void>((resolve) => {
          this.#waiting.add(resolve)
          this.#onWaiting(true)
        })
      }
    }
  }
}

/** Not a generator: leaving one that waits would have to wait for the next entry. */
class EntryWatch implements AsyncIterator<PositionedEntry> {
  readonly #watching: EntryWatches
  #position: number
  /** Null once it has shown an entry. */
  #place: number | null
  #ahead: readonly PositionedEntry[] = []
  #taken = 0
  /** One step at a time, however many are asked for at once. */
  #last: Promise<unknown> = Promise.resolve()
  isOver = false

  constructor(watching: EntryWatches, from: number, place: number | null) {
    this.#watching = watching
    this.#position = from
    this.#place = place
  }

  next(): Promise<IteratorResult<PositionedEntry>> {
    const step = this.#last.then(() => this.#step())
    this.#last = step.catch(() => undefined)
    return step
  }

  async return(): Promise<IteratorResult<PositionedEntry>> {
    this.isOver = true
    this.#watching.wake()
    return { done: true, value: undefined }
  }

  async #step(): Promise<IteratorResult<PositionedEntry>> {
    if (this.#taken === this.#ahead.length) {
      const entries = await this.#watching.next(this.#position, this, this.#place)
      if (entries === null) return { done: true, value: undefined }
      this.#ahead = entries
      this.#taken = 0
    }
    if (this.isOver) return { done: true, value: undefined }
    const found = this.#ahead[this.#taken] as PositionedEntry
    this.#taken += 1
    this.#position = found.position
    this.#place = null
    return { done: false, value: found }
  }
}
