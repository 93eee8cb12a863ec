/**
 * Whether the server of a store can be reached.
 *
 * - there: a connection is open, or none was needed yet.
 * - away: no connection is open, and opening one failed, or takes long.
 *
 * A connection that can be opened ends it. One that cannot, while others are open, says nothing.
 */
import { afterMs, nowUs, systemClock } from '../clock.ts'
import type { StoreNotice } from '../notice.ts'
import type { Outage, Reachability } from '../reachability.ts'

/** A connection that takes longer than this to open is none, until it is there. */
const SLOW_MS = 1_500

const ignore = (): void => undefined

export class Availability implements Reachability {
  /** Told of the beginning and the end of an outage. */
  onNotice: (notice: StoreNotice) => void = ignore
  #outage: Outage | null = null
  #sinceUs = 0
  #open = 0
  #tellWaiting: () => void = ignore
  #whenAway: Promise<void> | null = null

  get outage(): Outage | null {
    return this.#outage
  }

  /** Resolved when the next outage begins. */
  whenAway(): Promise<void> {
    this.#whenAway ??= new Promise((resolve) => (this.#tellWaiting = resolve))
    return this.#whenAway
  }

  /** Watches how a connection is opened. `onEnd` is called once with what is to be called at its end. */
  async watch<T>(
    open: () => Promise<T>,
    onEnd: (connection: T, ended: () => void) => void,
  ): Promise<T> {
    const stop = afterMs(SLOW_MS, () => this.#noteFailed(`no connection in ${SLOW_MS} ms`))
    try {
      const connection = await open()
      this.#noteOpened()
      onEnd(connection, () => (this.#open -= 1))
      return connection
    } catch (error) {
      this.#noteFailed((error as Error).message)
      throw error
    } finally {
      stop()
    }
  }

  #noteFailed(why: string): void {
    if (this.#open > 0 || this.#outage !== null) return
    this.#sinceUs = nowUs()
    this.#outage = { since: systemClock.now(), why }
    this.onNotice({ kind: 'database-away', why })
    this.#tellWaiting()
    this.#whenAway = null
  }

  #noteOpened(): void {
    this.#open += 1
    if (this.#outage === null) return
    this.#outage = null
    this.onNotice({ kind: 'database-back', awayMs: Math.round((nowUs() - this.#sinceUs) / 1_000) })
  }
}
