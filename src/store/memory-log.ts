/**
 * The log of the memory store: every entry in order, found by position and by job, and
 * watched.
 *
 * Positions start at 1. A watch reads at its own pace: it keeps a position, not a queue, so a
 * slow one costs nothing and a lost one is resumed by opening another.
 */
import type { Entry, JobSubmitted } from '../kernel/index.ts'
import type { Positioned } from './store.ts'

export class MemoryLog {
  readonly #entries: Entry[] = []
  readonly #byJob = new Map<string, number[]>()
  /** Positions of the submits, in order. */
  readonly #submits: number[] = []
  readonly #sleepers = new Set<() => void>()
  #isClosed = false

  get length(): number {
    return this.#entries.length
  }

  at(position: number): Entry | undefined {
    return this.#entries[position - 1]
  }

  append(entry: Entry): void {
    this.#entries.push(entry)
    const position = this.#entries.length
    if (entry.type === 'JobSubmitted') this.#submits.push(position)
    if (!('job' in entry)) return
    const known = this.#byJob.get(entry.job)
    if (known === undefined) this.#byJob.set(entry.job, [position])
    else known.push(position)
  }

  /** What was appended is durable: watches may see it. */
  wake(): void {
    const sleepers = [...this.#sleepers]
    this.#sleepers.clear()
    for (const rise of sleepers) rise()
  }

  close(): void {
    this.#isClosed = true
    this.wake()
  }

  ofJob(job: string, after: number, limit: number): Positioned[] {
    const positions = this.#byJob.get(job) ?? []
    const from = firstBeyond(positions, after)
    return positions
      .slice(from, from + Math.max(0, limit))
      .map((position) => ({ position, entry: this.at(position) as Entry }))
  }

  /** The submits after a position, in order. */
  *submitsAfter(after: number): IterableIterator<{ position: number; entry: JobSubmitted }> {
    for (let i = firstBeyond(this.#submits, after); i < this.#submits.length; i++) {
      const position = this.#submits[i] as number
      yield { position, entry: this.at(position) as JobSubmitted }
    }
  }

  watch(from: number): AsyncIterable<Positioned> {
    return { [Symbol.asyncIterator]: () => new Watch(this, from) }
  }

  /** The entry after a position, when there is one; null when there will never be. */
  async next(position: number, watch: Watch): Promise<Positioned | null> {
    const entry = watch.isOver ? undefined : this.at(position + 1)
    if (entry !== undefined) return { position: position + 1, entry }
    if (watch.isOver || this.#isClosed) return null
    await new Promise<void>((resolve) => {
      this.#sleepers.add(resolve)
    })
    return this.next(position, watch)
  }
}

/** Not a generator: leaving one that waits would have to wait for the next entry. */
class Watch implements AsyncIterator<Positioned> {
  readonly #log: MemoryLog
  #position: number
  /** One step at a time, however many are asked for at once. */
  #last: Promise<unknown> = Promise.resolve()
  isOver = false

  constructor(log: MemoryLog, from: number) {
    this.#log = log
    this.#position = from
  }

  next(): Promise<IteratorResult<Positioned>> {
    const step = this.#last.then(() => this.#step())
    this.#last = step
    return step
  }

  async return(): Promise<IteratorResult<Positioned>> {
    this.isOver = true
    this.#log.wake()
    return { done: true, value: undefined }
  }

  async #step(): Promise<IteratorResult<Positioned>> {
    const found = await this.#log.next(this.#position, this)
    if (found === null) return { done: true, value: undefined }
    this.#position = found.position
    return { done: false, value: found }
  }
}

/** The index of the first position that is larger. */
function firstBeyond(positions: readonly number[], after: number): number {
  let low = 0
  let high = positions.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((positions[middle] as number) <= after) low = middle + 1
    else high = middle
  }
  return low
}
