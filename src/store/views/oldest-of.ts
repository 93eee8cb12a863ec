/**
 * The oldest few of what comes newest first: the page of a history, whose entries are linked
 * from the newest to the oldest. What is newer than the page is not kept, however long it is.
 */

/** So many more are held before those that are too new go, all at once. */
const SLACK = 64

export class OldestOf<T> {
  readonly #limit: number
  readonly #newestFirst: T[] = []

  constructor(limit: number) {
    this.#limit = Math.max(0, limit)
  }

  add(older: T): void {
    const list = this.#newestFirst
    list.push(older)
    if (list.length >= 2 * this.#limit + SLACK) list.splice(0, list.length - this.#limit)
  }

  /** How many are in memory: never more than about twice as many as are asked for. */
  get held(): number {
    return this.#newestFirst.length
  }

  /** Oldest first. */
  get page(): T[] {
    return this.#newestFirst.toReversed().slice(0, this.#limit)
  }
}
