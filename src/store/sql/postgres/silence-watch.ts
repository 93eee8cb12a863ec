/**
 * Notices a server that says nothing any more. The operating system notices a network that is gone; but
 * a proxy may take what is sent and pass on nothing, and a machine may answer for a server that hangs.
 *
 * - idle: no answer is awaited.
 * - waiting: an answer is. Each byte that comes in, or goes out, begins the wait anew.
 * - asking: there was none for a while, and the server is asked on another connection whether it is at
 *   work for this one. A statement that takes long, or waits for a lock, may take as long as it likes.
 * - over: twice in a row the server was not at work for it, or did not answer. Once is not enough: what
 *   was sent may be on its way, and this process may have been held up itself.
 */
import { afterMs } from '../../clock.ts'

interface SilenceParts {
  readonly silentMs: number
  /** Another text after each byte that came in or went out. */
  readonly traffic: () => string
  /** Whether the server is at work for this connection. Does not throw. */
  readonly isAtWork: () => Promise<boolean>
  readonly onOver: () => void
}

const MOST_IN_VAIN = 2

export class SilenceWatch {
  readonly #parts: SilenceParts
  /** Of this wait: an answer that was asked for in an earlier one says nothing. */
  #wait = {}
  #traffic = ''
  #inVain = 0
  #stop = (): void => undefined

  constructor(parts: SilenceParts) {
    this.#parts = parts
  }

  /** An answer is awaited from here on. */
  begin(): void {
    this.#wait = {}
    this.#inVain = 0
    this.#traffic = this.#parts.traffic()
    this.#waitOn()
  }

  end(): void {
    this.#wait = {}
    this.#stop()
  }

  #waitOn(): void {
    this.#stop = afterMs(this.#parts.silentMs, () => void this.#checkServer())
  }

  async #checkServer(): Promise<void> {
    const wait = this.#wait
    const { traffic, isAtWork, onOver } = this.#parts
    const isAlive = traffic() !== this.#traffic || (await isAtWork())
    if (wait !== this.#wait) return
    // A byte may have come in while the server was asked.
    this.#inVain = isAlive || traffic() !== this.#traffic ? 0 : this.#inVain + 1
    this.#traffic = traffic()
    if (this.#inVain < MOST_IN_VAIN) this.#waitOn()
    else onOver()
  }
}
