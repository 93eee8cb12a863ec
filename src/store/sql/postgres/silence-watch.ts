/**
 * Notices a server that says nothing any more. A network that is gone is noticed by its own means; but
 * a proxy may take what is sent and pass on nothing, and a machine may answer for a server that hangs.
 *
 * - resting: nobody waits for the server.
 * - waiting: somebody does. Each byte that comes in, or goes out, begins the wait anew.
 * - asking: there was none for a while, and the server is asked on another connection whether it is at
 *   work for this one. A statement that takes long, or waits for a lock, may take as long as it likes.
 * - over: twice in a row the server was not at work for it, or did not answer. Once is not enough: what
 *   was sent may be on its way, and this process may have been held up itself.
 */
import { afterMs } from '../../clock.ts'

export interface SilenceLimits {
  /** After so long without a word the server is asked. Default: 5 s. */
  readonly silentMs?: number
  /** So long it may take to answer. Default: 5 s. */
  readonly answerMs?: number
}

export interface SilenceParts {
  readonly silentMs: number
  /** Another one after each byte that came in or went out. */
  readonly sign: () => string
  /** Whether the server is at work for this connection. Does not throw. */
  readonly isAtWork: () => Promise<boolean>
  readonly onOver: () => void
}

export const SILENT_MS = 5_000
export const ANSWER_MS = 5_000
const MOST_IN_VAIN = 2

const nothing = (): void => undefined

export class SilenceWatch {
  readonly #parts: SilenceParts
  /** Of this wait: what was found out for an earlier one says nothing. */
  #wait = {}
  #sign = ''
  #inVain = 0
  #stop = nothing

  constructor(parts: SilenceParts) {
    this.#parts = parts
  }

  /** From here on the server is waited for. */
  begin(): void {
    this.#wait = {}
    this.#inVain = 0
    this.#sign = this.#parts.sign()
    this.#goOn()
  }

  end(): void {
    this.#wait = {}
    this.#stop()
  }

  #goOn(): void {
    this.#stop = afterMs(this.#parts.silentMs, () => void this.#look())
  }

  async #look(): Promise<void> {
    const wait = this.#wait
    const { sign, isAtWork, onOver } = this.#parts
    const isAlive = sign() !== this.#sign || (await isAtWork())
    if (wait !== this.#wait) return
    // Something may have come in while it was asked.
    this.#inVain = isAlive || sign() !== this.#sign ? 0 : this.#inVain + 1
    this.#sign = sign()
    if (this.#inVain < MOST_IN_VAIN) this.#goOn()
    else onOver()
  }
}
