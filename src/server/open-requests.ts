/**
 * Counts polls and streams that are open, of all callers and of each: beyond the bounds they are refused, so that one
 * caller cannot take the places of all others, and memory is bounded.
 */
import { RequestRefused } from './errors.ts'
import type { HandlerTerms } from './options.ts'
import type { Caller } from './tokens.ts'

export class OpenRequests {
  readonly #limits: HandlerTerms['limits']
  readonly #byCaller = new Map<Caller, number>()
  readonly #closing = new AbortController()
  #count = 0

  constructor(limits: HandlerTerms['limits']) {
    this.#limits = limits
  }

  get count(): number {
    return this.#count
  }

  /** Aborted when the server closes: polls answer, and streams end. */
  get closing(): AbortSignal {
    return this.#closing.signal
  }

  /** Gives its end. Throws `RequestRefused` if there are too many. */
  enter(caller: Caller): () => void {
    const own = this.#byCaller.get(caller) ?? 0
    const { open, openPerToken } = this.#limits
    if (this.#count >= open || own >= openPerToken) {
      throw new RequestRefused(
        'TooManyOpen',
        `${this.#count} polls and streams are open, ${own} of them of this token: there may be ${open} and ${openPerToken}. Try again later, or end some.`,
        { open: this.#count, ofToken: own },
        { 'retry-after': '1' },
      )
    }
    this.#count += 1
    this.#byCaller.set(caller, own + 1)
    let isOver = false
    return () => {
      if (isOver) return
      isOver = true
      this.#count -= 1
      this.#byCaller.set(caller, (this.#byCaller.get(caller) ?? 1) - 1)
    }
  }

  close(): void {
    this.#closing.abort()
  }
}
