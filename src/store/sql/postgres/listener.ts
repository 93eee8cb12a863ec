/**
 * Hears what is said on a channel of PostgreSQL's `NOTIFY`, on a connection of its own.
 *
 * - listening: each notification rings.
 * - waiting: the connection was lost. It tries again after a pause, which grows with each failure.
 * - closed.
 *
 * What is said while nobody listens is lost: once it listens again it tells of the gap, and whoever
 * it tells looks for what there is. It keeps no process alive, but while it rings itself.
 */
import type { Client } from 'pg'
import { afterMs } from '../../clock.ts'
import type { PostgresAddress } from './address.ts'
import { connect, within } from './client.ts'
import { ANSWER_MS } from './silence-watch.ts'

export interface ListenerOptions extends PostgresAddress {
  readonly channel: string
  /** With what `pg_notify` was given. */
  onRing(payload: string): void
  /** It was deaf for a while, and hears again. */
  onGap(): void
}

export interface Listener {
  /** Says something on the channel; while it does not listen, once it does, if not too much else. */
  ring(payload: string): void
  /** What was rung is said. */
  close(): Promise<void>
}

const FIRST_PAUSE_MS = 50
const LONGEST_PAUSE_MS = 5_000
const MOST_UNSAID = 100

/** Listens when it is there. Throws `SqlFailed` if the server cannot be reached at all. */
export async function openListener(options: ListenerOptions): Promise<Listener> {
  const listener = new PostgresDoorbell(options)
  await listener.listen()
  return listener
}

/** The same, but it does not wait: also the beginning is the end of a gap. */
export function beginListener(options: ListenerOptions): Listener {
  const listener = new PostgresDoorbell(options)
  listener.begin()
  return listener
}

const nothing = (): void => undefined

class PostgresDoorbell implements Listener {
  readonly #options: ListenerOptions
  #client: Client | null = null
  #stopWaiting = nothing
  #isClosed = false
  #beginning: Promise<void> = Promise.resolve()
  #ringing: Promise<void> = Promise.resolve()
  readonly #unsaid = new Set<string>()

  constructor(options: ListenerOptions) {
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
      const listen = `listen ${client.escapeIdentifier(this.#options.channel)}`
      await this.#within(client, () => client.query(listen))
      for (const payload of this.#unsaid) {
        this.#unsaid.delete(payload)
        await this.#say(client, payload)
      }
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
    else untyped(client).unref()
  }

  begin(): void {
    this.#beginning = this.#again(FIRST_PAUSE_MS)
  }

  ring(payload: string): void {
    if (this.#client !== null) this.#ringing = this.#say(this.#client, payload)
    else if (this.#unsaid.size < MOST_UNSAID) this.#unsaid.add(payload)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#stopWaiting()
    await this.#ringing
    if (this.#unsaid.size > 0) await this.#beginning
    const client = this.#client
    this.#client = null
    if (client === null) return
    // Somebody waits for this.
    untyped(client).ref()
    await this.#within(client, () => client.end())
  }

  /** All that it asks for is done at once, by a server that is there. */
  async #within(client: Client, work: () => Promise<unknown>): Promise<void> {
    await within(client, this.#options.answerMs ?? ANSWER_MS, work)
  }

  async #say(client: Client, payload: string): Promise<void> {
    untyped(client).ref()
    try {
      const values = [this.#options.channel, payload]
      await this.#within(client, () => client.query('select pg_notify($1, $2)', values))
    } catch {
      // Nobody hears it: they look by themselves.
    }
    untyped(client).unref()
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

/** pg has them, its types do not. */
interface UntypedClient {
  ref(): void
  unref(): void
}

function untyped(client: Client): UntypedClient {
  return client as Client & UntypedClient
}
