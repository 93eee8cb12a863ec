/**
 * What happens on a database without being asked for here: what others do, and what time does.
 *
 * - quiet: nobody wants to know.
 * - listening: what others write is heard by a bell, or, where there is none, looked for at each
 *   beat. Each beat also looks when time will have made something due before the next one, and the
 *   news of that come on time. A beat keeps no process alive, unless somebody watches.
 * - closed.
 *
 * What is written here is told to others. Here it is news only as far as there may be something to
 * take, because nobody but the store knows which limits it left room in.
 */
import type { Beat, Clock } from '../../clock.ts'
import { afterMs, beat, nowUs } from '../../clock.ts'
import type { News, NewsKind } from '../../news.ts'
import { ALL_NEWS } from '../../news.ts'
import type { StatementResult, Statement, Connection, Row } from '../connection.ts'
import type { Notifier, Dialect } from '../dialect.ts'
import { NewsThrottle } from './news-throttle.ts'
import type { AppliedEntry } from '../transaction/working-set.ts'
import { dueAtOf, newsOf, newsOfType } from './news-of-entries.ts'

export interface ChangeNotifierParts {
  /** Of the store: what other processes know it by, too. */
  readonly id: string
  readonly dialect: Dialect
  /** Null: the database's own. */
  readonly clock: Clock | null
  /** How far the database's clock was ahead of this process's when the store was opened. */
  readonly aheadMs: number
  readonly run: <T>(work: (connection: Connection) => Promise<T>) => Promise<T>
  readonly mayStop: (queue: string) => boolean
  /** Now and then, and whenever others wrote something. */
  readonly onBeat: () => void
}

const WORK: News = new Set<NewsKind>(['work'])
/** Entries of one look; the next one goes on. */
const MOST_ENTRIES = 500
/** What comes later than this is found by a beat, or by whoever looks by himself. */
const LONGEST_WAIT_MS = 1_000
/** So often it is looked at least, whatever the sign of writes says. */
const LONGEST_REST_US = 500_000

export class ChangeNotifier {
  readonly #parts: ChangeNotifierParts
  readonly #listeners = new Set<(news: News) => void>()
  readonly #telling = new NewsThrottle((news) => this.#tellAll(news))
  readonly #ringing = new NewsThrottle((news) => this.#notifier?.notify(news))
  /** Positions of entries that were written here, and not seen again yet. */
  readonly #own = new Set<number>()
  #notifier: Notifier | null = null
  #beat: Beat | null = null
  #aheadMs: number
  /** The newest entry that was looked at; null: none yet. */
  #seen: number | null = null
  /** What was due at this time was told. */
  #toldMs = 0
  /** The sign of writes before the last look, and when that was. */
  #sign: string | null = null
  #lookedUs = -Infinity
  #isLooking = false
  #isLookWanted = false
  #lookUs = Infinity
  /** What was waited for until then has not been told yet. */
  #isTimeUp = false
  #stopWaiting: (() => void) | null = null
  #isClosed = false

  constructor(parts: ChangeNotifierParts) {
    this.#parts = parts
    this.#aheadMs = parts.aheadMs
  }

  /** The authority's time, as well as it is known here. */
  now(): number {
    const { clock } = this.#parts
    return clock === null ? nowUs() / 1_000 + this.#aheadMs : clock.now()
  }

  onNews(listener: (news: News) => void): () => void {
    this.begin()
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  begin(): void {
    if (this.#beat !== null || this.#isClosed) return
    const { dialect, id } = this.#parts
    this.#beat = beat(dialect.pollMs, () => this.#lookIfWritten())
    this.#notifier = dialect.openNotifier?.(id, (news) => this.#heard(news)) ?? null
    void this.#look()
  }

  /** Whether somebody waits for what comes next, and for nothing else. */
  keep(isKept: boolean): void {
    this.#beat?.keep(isKept)
  }

  /** AFTER they are durable: entries that were written here. */
  wrote(done: readonly AppliedEntry[]): void {
    if (this.#beat === null) return
    const { mayStop } = this.#parts
    const news = new Set<NewsKind>()
    const now = Math.max(this.now(), this.#toldMs)
    for (const one of done) {
      for (const kind of newsOf(one, mayStop)) news.add(kind)
      const dueAt = dueAtOf(one)
      // Time may have passed it before it was durable, and a look with it, which does not come back.
      if (dueAt !== null && dueAt <= now) news.add('work')
      else if (dueAt !== null) this.#lookIn(dueAt - now)
      if (this.#notifier === null) this.#own.add(one.position)
    }
    if (this.#notifier !== null && news.size > 0) this.#ringing.add(news)
    if (news.has('work')) this.#tellAll(WORK)
  }

  /** Found by this process, and news for all of them. */
  found(kind: NewsKind): void {
    this.#telling.add([kind])
    if (this.#notifier !== null) this.#ringing.add([kind])
  }

  /** In so many milliseconds there may be something to take. */
  soon(ms: number): void {
    if (this.#beat === null || ms > LONGEST_WAIT_MS) return
    afterMs(Math.ceil(ms), () => this.#telling.add(['work']))
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#beat?.stop()
    this.#stopWaiting?.()
    this.#listeners.clear()
    this.#telling.stop()
    this.#ringing.flush()
    this.#ringing.stop()
    await this.#notifier?.close()
  }

  #heard(news: News): void {
    if (this.#isClosed) return
    this.#parts.onBeat()
    this.#telling.add(news)
  }

  #tellAll(news: News): void {
    for (const listener of this.#listeners) listener(news)
  }

  /** A look that is planned for earlier stays so: it will find what comes after it. */
  #lookIn(ms: number): void {
    const us = nowUs() + ms * 1_000
    if (ms > LONGEST_WAIT_MS || us >= this.#lookUs) return
    this.#lookUs = us
    this.#stopWaiting?.()
    this.#stopWaiting = afterMs(Math.ceil(ms), () => {
      this.#lookUs = Infinity
      this.#isTimeUp = true
      void this.#look()
    })
  }

  #lookIfWritten(): void {
    const sign = this.#parts.dialect.signOfWrites?.() ?? null
    const isRested = nowUs() - this.#lookedUs > LONGEST_REST_US
    if (sign === null || sign !== this.#sign || isRested) void this.#look()
  }

  async #look(): Promise<void> {
    this.#isLookWanted = true
    if (this.#isLooking) return
    this.#isLooking = true
    while (this.#isLookWanted && !this.#isClosed) {
      this.#isLookWanted = false
      try {
        await this.#parts.run((connection) => this.#lookWith(connection))
      } catch {
        // A database that is away is asked again at the next beat; whoever needs it is told.
      }
    }
    this.#isLooking = false
  }

  async #lookWith(connection: Connection): Promise<void> {
    const { dialect, clock, onBeat } = this.#parts
    const { timesAhead, horizon, newest } = dialect.statements
    const given = clock === null ? null : Math.floor(clock.now())
    // BEFORE asking: what is written meanwhile is looked for again.
    const sign = dialect.signOfWrites?.() ?? null
    this.#passOwn()
    const asks: Statement[] = [{ sql: timesAhead, values: [given, this.#toldMs] }]
    const seen = this.#seen
    const hasNotifier = dialect.openNotifier !== undefined
    if (!hasNotifier && seen === null) asks.push({ sql: horizon, values: [] })
    if (!hasNotifier && seen !== null) asks.push({ sql: newest, values: [seen, MOST_ENTRIES] })
    const askedUs = nowUs()
    const [times, entries] = await connection.run(asks)
    this.#sign = sign
    this.#lookedUs = askedUs
    this.#takeTimes((times as StatementResult).rows[0] as Row, askedUs / 1_000)
    if (entries === undefined) return onBeat()
    if (seen !== null) return this.#takeEntries(entries.rows)
    this.#seen = entries.rows[0]?.[1] as number
    this.#heard(ALL_NEWS)
  }

  /** The database's time, and the next ones at which something is due. */
  #takeTimes([clock, ...next]: Row, askedMs: number): void {
    const now = clock as number
    // It was read between question and answer. What was known before is better if it fits.
    const [least, most] = [now - nowUs() / 1_000, now - askedMs]
    this.#aheadMs = Math.max(least, Math.min(most, this.#aheadMs))
    this.#toldMs = Math.max(this.#toldMs, now)
    // A time that was waited for has come, also if somebody put what it was about in line before.
    let hasCome = this.#isTimeUp
    this.#isTimeUp = false
    for (const time of next as readonly (number | null)[]) {
      if (time === null) continue
      if (time > now) {
        this.#lookIn(time - now)
        continue
      }
      hasCome = true
      // Of each kind it was the first: what comes behind it is to be waited for, too.
      this.#isLookWanted = true
    }
    if (hasCome) this.#telling.add(['work', 'upkeep'])
  }

  /** Where it is looked for entries, each stands right behind the one before. */
  #passOwn(): void {
    if (this.#seen === null) return
    let seen = this.#seen
    while (this.#own.delete(seen + 1)) seen += 1
    this.#seen = seen
  }

  /** Positions and types of entries: of others, or of this process. */
  #takeEntries(entries: readonly Row[]): void {
    const last = entries.at(-1)?.[0] as number | undefined
    if (last === undefined) return
    this.#seen = last
    const others = entries.filter(([position]) => !this.#own.has(position as number))
    for (const position of this.#own) if (position <= last) this.#own.delete(position)
    if (entries.length === MOST_ENTRIES) this.#isLookWanted = true
    if (others.length === 0) return
    const news = new Set<NewsKind>()
    for (const [, type] of others) {
      for (const kind of newsOfType(type as string) ?? ALL_NEWS) news.add(kind)
    }
    this.#heard(news)
  }
}
