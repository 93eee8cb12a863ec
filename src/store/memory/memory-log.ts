/**
 * The log of the memory store: every entry in order, found by position and by job, and
 * watched.
 *
 * Positions start at 1.
 */
import type { Entry, JobSubmitted } from '../../kernel/index.ts'
import { countUpTo } from '../../log/index.ts'
import type { Positioned } from '../store.ts'
import { EntryWatches } from '../views/entry-watch.ts'

export class MemoryLog {
  readonly #entries: Entry[] = []
  readonly #byJob = new Map<string, number[]>()
  /** Positions of the submits, in order. */
  readonly #submits: number[] = []
  readonly #watching = new EntryWatches(async (position) => {
    const entry = this.at(position + 1)
    return entry === undefined ? [] : [{ position: position + 1, entry }]
  })

  get length(): number {
    return this.#entries.length
  }

  at(position: number): Entry | undefined {
    return this.#entries[position - 1]
  }

  /** Its position. */
  append(entry: Entry): number {
    this.#entries.push(entry)
    const position = this.#entries.length
    if (entry.type === 'JobSubmitted') this.#submits.push(position)
    if (entry.type === 'JobForgotten') this.#byJob.delete(entry.job)
    else if ('job' in entry) this.#note(entry.job, position)
    return position
  }

  #note(job: string, position: number): void {
    const known = this.#byJob.get(job)
    if (known === undefined) this.#byJob.set(job, [position])
    else known.push(position)
  }

  /** What was appended is durable: watches may see it. */
  wake(): void {
    this.#watching.wake()
  }

  close(): void {
    this.#watching.close(null)
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
    return this.#watching.watch(from)
  }
}

/** The index of the first position that is larger. */
function firstBeyond(positions: readonly number[], after: number): number {
  return countUpTo(after, positions.length, (n) => positions[n] as number)
}
