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
  readonly #open = new Set<AbortController>()
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
    this.#open.add(ended)
    const leave = (): void => {
      if (!this.#open.delete(ended)) return
      gone.removeEventListener('abort', abort)
      this.#count -= 1
      this.#byCaller.set(caller, (this.#byCaller.get(caller) ?? 1) - 1)
    }
    return { signal: ended.signal, leave }
  }

  close(): void {
    this.#isClosed = true
    for (const one of this.#open) one.abort()
  }
}
