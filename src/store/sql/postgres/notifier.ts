/**
 * Tells the other processes on the same store what may have happened, by PostgreSQL's `NOTIFY`, and
 * hears what they tell. A payload names the process that sends it, so that it ignores its own.
 *
 * `NOTIFY` is never part of a transaction of the store: the server commits those that notify one at a time.
 */
import { afterMs } from '../../clock.ts'
import type { News, NewsKind } from '../../notice.ts'
import { ALL_NEWS, NEWS_KINDS } from '../../notice.ts'
import { newNotifierName } from '../../random.ts'
import type { Connection } from '../connection.ts'
import type { Notifier } from '../dialect.ts'
import type { PostgresAddress } from './address.ts'
import { ANSWER_MS } from './address.ts'
import type { ConnectedClient } from './client.ts'
import { connect, within } from './client.ts'
import { RECONNECT_MS } from './presence.ts'

const ignore = (): void => undefined

/** channel, payload. */
export const NOTIFY = `select pg_notify($1::text, $2::text)`

/** The channel of a store. */
export function channelOf(storeId: string): string {
  return `pawl_${storeId}`
}

/** `sender`: empty for one that does not listen. */
export function newsPayload(news: News, sender = ''): string {
  return `${sender} ${[...news].join(' ')}`
}

/** Null: `receiver` sent it itself. */
export function newsIn(payload: string, receiver: string): News | null {
  const [sender, ...words] = payload.split(' ')
  if (sender === receiver) return null
  const kinds = words.filter((word): word is NewsKind => KINDS.has(word))
  // A newer version of Pawl tells something that this one does not know.
  return kinds.length === words.length ? new Set(kinds) : ALL_NEWS
}

const KINDS: ReadonlySet<string> = new Set(NEWS_KINDS)

/** Behind a pooler, where no session listens: it only tells, and the store polls. */
export function tellingNotifier(
  storeId: string,
  run: (work: (connection: Connection) => Promise<unknown>) => Promise<unknown>,
): Notifier {
  let telling: Promise<unknown> = Promise.resolve()
  return {
    hears: false,
    notify(news) {
      const notify = { sql: NOTIFY, values: [channelOf(storeId), newsPayload(news)] }
      // The other processes do not hear it: they find out by themselves, a little later.
      telling = run((connection) => connection.run([notify])).catch(ignore)
    },
    close: async () => void (await telling),
  }
}

/** `address`: its schema only says what the connection is called. */
export function openNotifier(
  { schema, ...address }: PostgresAddress,
  storeId: string,
  onHeard: (news: News) => void,
  session: ListeningSession | null = null,
): Notifier {
  const self = newNotifierName()
  const listener = new PostgresListener({
    ...address,
    role: `listener ${schema}`,
    channel: channelOf(storeId),
    onNotification(payload) {
      const news = newsIn(payload, self)
      if (news !== null) onHeard(news)
    },
    onGap: () => onHeard(ALL_NEWS),
    session,
  })
  listener.begin()
  return {
    hears: true,
    notify: (news) => listener.notify(newsPayload(news, self)),
    close: () => listener.close(),
  }
}

/** What is held by the session that listens, for as long as it is there. */
export interface ListeningSession {
  /** It listens. Does not throw. */
  connected(client: ConnectedClient): Promise<void>
  lost(): void
}

interface ListenerOptions extends PostgresAddress {
  readonly channel: string
  /** With what `pg_notify` was given. */
  onNotification(payload: string): void
  /** It did not listen for a while, and does again. */
  onGap(): void
  readonly session?: ListeningSession | null
}

const FIRST_PAUSE_MS = 50
/** A process that can connect again does so within the grace period of presence. */
const LONGEST_PAUSE_MS = RECONNECT_MS
const MOST_UNSENT = 100

/**
 * Listens on a channel, on a connection of its own.
 *
 * - listening: it passes each notification on.
 * - waiting: the connection was lost. It connects again after a pause, which grows with each failure.
 * - closed.
 *
 * The server drops a notification that nothing listens for: once it listens again it tells of the gap, and
 * the store looks for what there is. It keeps no process alive, but while it sends itself.
 */
export class PostgresListener {
  readonly #options: ListenerOptions
  #client: ConnectedClient | null = null
  #stopWaiting = ignore
  #isClosed = false
  #beginning: Promise<void> = Promise.resolve()
  #sending: Promise<void> = Promise.resolve()
  /** Notifications on their way. */
  #sends = 0
  /** Sent once it listens. */
  readonly #unsent = new Set<string>()

  constructor(options: ListenerOptions) {
    this.#options = options
  }

  /** Resolved when it listens. Throws `SqlFailed` if the server cannot be reached. */
  async listen(): Promise<void> {
    const { client } = await connect(this.#options)
    let isOver = false
    const ended = (): void => {
      isOver = true
      if (this.#client === client) this.#lose(client)
    }
    client.on('error', ended)
    client.on('end', ended)
    client.on('notification', ({ channel, payload }) => {
      if (channel === this.#options.channel) this.#options.onNotification(payload ?? '')
    })
    try {
      const listen = `listen ${client.escapeIdentifier(this.#options.channel)}`
      await this.#within(client, () => client.query(listen))
      for (const payload of this.#unsent) {
        this.#unsent.delete(payload)
        await this.#send(client, payload)
      }
    } catch (error) {
      isOver = true
      throw error
    } finally {
      if (isOver || this.#isClosed) client.end(ignore)
    }
    if (this.#isClosed) return
    this.#client = client
    // It may have been lost BEFORE `ended` could know that it is the current one.
    if (isOver) return this.#lose(client)
    client.unref()
    void this.#options.session?.connected(client)
  }

  /** Does not wait until it listens; when it does, that is the end of a gap, too. */
  begin(): void {
    this.#beginning = this.#connectAgain(FIRST_PAUSE_MS)
  }

  /** While it does not listen, some are kept until it does. */
  notify(payload: string): void {
    if (this.#client !== null) this.#sending = this.#send(this.#client, payload)
    else if (this.#unsent.size < MOST_UNSENT) this.#unsent.add(payload)
  }

  /** AFTER what was given to `notify` is sent. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#stopWaiting()
    // The caller waits for what is on its way, so the process must not end before.
    this.#client?.ref()
    await this.#sending
    if (this.#unsent.size > 0) await this.#beginning
    const client = this.#client
    this.#client = null
    if (client === null) return
    client.ref()
    await this.#within(client, () => client.end())
  }

  /** A server that is there does at once what a listener asks for. */
  async #within(client: ConnectedClient, work: () => Promise<unknown>): Promise<void> {
    await within(client, this.#options.answerMs ?? ANSWER_MS, work)
  }

  async #send(client: ConnectedClient, payload: string): Promise<void> {
    client.ref()
    this.#sends += 1
    try {
      const values = [this.#options.channel, payload]
      await this.#within(client, () => client.query(NOTIFY, values))
    } catch {
      // The other processes do not hear it: they find out by themselves, a little later.
    }
    this.#sends -= 1
    // Others may be on their way, or `close` waits for the end.
    if (this.#sends === 0 && !this.#isClosed) client.unref()
  }

  #lose(client: ConnectedClient): void {
    this.#client = null
    this.#options.session?.lost()
    client.end(ignore)
    this.#waitToConnect(FIRST_PAUSE_MS)
  }

  #waitToConnect(pauseMs: number): void {
    this.#stopWaiting = afterMs(pauseMs, () => void this.#connectAgain(pauseMs))
  }

  async #connectAgain(pauseMs: number): Promise<void> {
    try {
      await this.listen()
    } catch {
      if (!this.#isClosed) this.#waitToConnect(Math.min(pauseMs * 2, LONGEST_PAUSE_MS))
      return
    }
    if (!this.#isClosed) this.#options.onGap()
  }
}
