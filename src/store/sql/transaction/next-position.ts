/**
 * Where the next entry will stand, in a database in which one transaction comes after the other and
 * what was sent is run in order. It is known from the last one that was sent, unless another process
 * wrote meanwhile, or that one failed: then the next one, which says where it thinks to stand, fails
 * as well, and is done again with a look.
 */
import type { Statement } from '../connection.ts'

export class NextPosition {
  readonly #isLast: string
  #next: number | null = null

  /** `isLast`: see `Checks`. */
  constructor(isLast: string) {
    this.#isLast = isLast
  }

  /** Null: nothing was sent yet. */
  get next(): number | null {
    return this.#next
  }

  /** A transaction that is to write from here on fails with a conflict if it would not. */
  check(next: number): Statement {
    return { sql: this.#isLast, rows: [[next - 1]], expect: 1 }
  }

  /** Everything up to here is sent. */
  sent(last: number): void {
    this.#next = last + 1
  }
}
