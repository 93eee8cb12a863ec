/**
 * Counts polls and streams that are open, of all callers and of each: beyond the bounds they are refused, so that one
 * caller cannot take the places of all others, and memory is bounded.
 */
import { RequestRefused } from './errors.ts'
import type { HandlerTerms } from './options.ts'
import type { Caller } from './tokens.ts'

export interface OpenRequest {
  readonly signal: AbortSignal
  leave(): void
}

export class OpenRequests {
  readonly #limits: HandlerTerms['limits']
  readonly #byCaller = new Map<Caller, number>()
  readonly #open = new Map<AbortController, Caller>()
  #isClosed = false
  #count = 0

  constructor(limits: HandlerTerms['limits']) {
    this.#limits = limits
  }

  get count(): number {
    return this.#count
  }

  /**
   * One more. Its signal is aborted when the caller is gone or the server closes: then it answers, or ends. Throws
   * `RequestRefused` if there are too many.
   */
  enter(caller: Caller, gone: AbortSignal): OpenRequest {
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
    const ended = new AbortController()
    const abort = (): void => ended.abort()
    gone.addEventListener('abort', abort)
    if (gone.aborted || this.#isClosed) abort()
    this.#open.set(ended, caller)
    const leave = (): void => {
      if (!this.#open.delete(ended)) return
      abort()
      gone.removeEventListener('abort', abort)
      this.#count -= 1
      const left = (this.#byCaller.get(caller) ?? 1) - 1
      if (left === 0) this.#byCaller.delete(caller)
      else this.#byCaller.set(caller, left)
    }
    return { signal: ended.signal, leave }
  }

  /** Those of a caller end: its token is none any more. */
  end(caller: Caller): void {
    for (const [one, own] of this.#open) if (own === caller) one.abort()
  }

  close(): void {
    this.#isClosed = true
    for (const one of this.#open.keys()) one.abort()
  }
}
