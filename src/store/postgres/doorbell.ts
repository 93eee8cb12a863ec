/**
 * Hears what is said on a channel of PostgreSQL's `NOTIFY`, on a connection of its own.
 *
 * - listening: each notification rings.
 * - waiting: the connection was lost. It tries again after a pause, which grows with each failure.
 * - closed.
 *
 * What is said while nobody listens is lost: once it listens again it tells of the gap, and whoever
 * it tells looks for what there is. It keeps no process alive.
 */
import type { Client } from 'pg'
import { afterMs } from '../clock.ts'
import type { PostgresAddress } from './client.ts'
import { connect } from './client.ts'

export interface DoorbellOptions extends PostgresAddress {
  readonly channel: string
  /** With what `pg_notify` was given. */
  onRing(payload: string): void
  /** It was deaf for a while, and hears again. */
  onGap(): void
}

export interface Doorbell {
  close(): Promise<void>
}

const FIRST_PAUSE_MS = 50
const LONGEST_PAUSE_MS = 5_000

/** Listens when it is there. Throws `SqlFailed` if the server cannot be reached at all. */
export async function openDoorbell(options: DoorbellOptions): Promise<Doorbell> {
  const doorbell = new PostgresDoorbell(options)
  await doorbell.listen()
  return doorbell
}

const nothing = (): void => undefined

class PostgresDoorbell implements Doorbell {
  readonly #options: DoorbellOptions
  #client: Client | null = null
  #stopWaiting = nothing
  #isClosed = false

  constructor(options: DoorbellOptions) {
    this.#options = options
  }

  async listen(): Promise<void> {
    const { client } = await connect(this.#options)
    let isOver = false
    const ended = (): void => {
      isOver = true
      if (this.#client === client) this.#lost(client)
    }
    client.on('error', ended)
    client.on('end', ended)
    client.on('notification', ({ payload }) => this.#options.onRing(payload ?? ''))
    try {
      await client.query(`listen ${client.escapeIdentifier(this.#options.channel)}`)
    } catch (error) {
      isOver = true
      throw error
    } finally {
      if (isOver || this.#isClosed) client.end(nothing)
    }
    if (this.#isClosed) return
    this.#client = client
    // It may have been lost just now, BEFORE this one knew that it is its own.
    if (isOver) this.#lost(client)
    else unref(client)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#stopWaiting()
    const client = this.#client
    this.#client = null
    await client?.end()
  }

  #lost(client: Client): void {
    this.#client = null
    client.end(nothing)
    this.#wait(FIRST_PAUSE_MS)
  }

  #wait(pauseMs: number): void {
    this.#stopWaiting = afterMs(pauseMs, () => void this.#again(pauseMs))
  }

  async #again(pauseMs: number): Promise<void> {
    try {
      await this.listen()
    } catch {
      if (!this.#isClosed) this.#wait(Math.min(pauseMs * 2, LONGEST_PAUSE_MS))
      return
    }
    if (!this.#isClosed) this.#options.onGap()
  }
}

/** pg has it, its types do not. */
function unref(client: Client): void {
  ;(client as Client & { unref(): void }).unref()
}
