/**
 * A page of a stream: values in the order of their offsets, gathered from the entries of its job.
 *
 * Entries are linked from the newest to the oldest, so they come in that order, until one reaches back to
 * where the page begins. What is newer than the page has to be passed, and is let go as soon as the page is
 * full without it: a page holds its own values, and few more, however long the stream is.
 *
 * Of a value whose entry is no longer kept nothing is said: the pieces have a gap, as the history has.
 */
import type { Entry, Payload, StreamAppended, Task } from '../../kernel/index.ts'
import type { QueryOf, StreamPage, StreamPiece } from '../store.ts'
import { PAGE_CHARS } from './job-views.ts'

export class PageOfStream {
  readonly #query: QueryOf<'stream'>
  readonly #length: number
  /** At least one, or a page would not get further. */
  readonly #limit: number
  /** Newest first. */
  readonly #pieces: StreamPiece[] = []
  #values = 0
  #chars = 0

  constructor(query: QueryOf<'stream'>, { streams }: Task) {
    this.#query = query
    this.#limit = Math.max(1, query.limit)
    this.#length = streams.find(({ name }) => name === query.name)?.next ?? 0
  }

  /** There is nothing behind where it begins. */
  get isEmpty(): boolean {
    return this.#query.from >= this.#length
  }

  /** The next older entry of its job. False: none before it is of the page. */
  add(entry: Entry): boolean {
    if (!this.#isOwn(entry)) return true
    const { from } = this.#query
    const values = entry.values.slice(Math.max(0, from - entry.offset))
    if (values.length > 0) {
      const offset = entry.offset + entry.values.length - values.length
      this.#pieces.push({ offset, attempt: entry.lease, at: entry.at, values })
      this.#count(values, 1)
      this.#letGo()
    }
    return entry.offset > from
  }

  #isOwn(entry: Entry): entry is StreamAppended {
    if (entry.type !== 'StreamAppended') return false
    const { stage, segment, name } = this.#query
    return entry.stage === stage && entry.segment === segment && entry.name === name
  }

  #count(values: readonly Payload[], by: 1 | -1): void {
    this.#values += by * values.length
    for (const value of values) this.#chars += by * value.length
  }

  /** The newest, if the page is full without them. */
  #letGo(): void {
    for (;;) {
      const newest = this.#pieces[0]
      if (newest === undefined) return
      this.#count(newest.values, -1)
      if (this.#values >= this.#limit || this.#chars >= PAGE_CHARS) {
        this.#pieces.shift()
        continue
      }
      return this.#count(newest.values, 1)
    }
  }

  get page(): StreamPage {
    const pieces: StreamPiece[] = []
    let [left, chars] = [this.#limit, PAGE_CHARS]
    for (const piece of this.#pieces.toReversed()) {
      const values: Payload[] = []
      for (const value of piece.values) {
        if (left <= 0 || chars <= 0) break
        values.push(value)
        left -= 1
        chars -= value.length
      }
      if (values.length > 0) pieces.push({ ...piece, values })
      if (values.length < piece.values.length) break
    }
    return { pieces, next: this.#nextAfter(pieces.at(-1)), length: this.#length }
  }

  /** Of what follows, entries may be gone: then the page is the last one. */
  #nextAfter(last: StreamPiece | undefined): number {
    if (last === undefined) return Math.max(this.#query.from, this.#length)
    return last.offset + last.values.length
  }
}
