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

export interface ChangeNotifierOptions {
  /** Of the store: what other processes know it by, too. */
  readonly id: string
  readonly dialect: Dialect
  /** Null: the database's own. */
  readonly clock: Clock | null
  /** How far the database's clock was ahead of this process's when the store was opened. */
  readonly aheadMs: number
  readonly run: <T>(work: (connection: Connection) => Promise<T>) => Promise<T>
  readonly mayBeRestricted: (queue: string) => boolean
  /** Now and then, and whenever others wrote something. */
  readonly onOtherWrites: () => void
}

const WORK: News = new Set<NewsKind>(['work'])
/** Entries of one look; the next one goes on. */
const MOST_ENTRIES = 500
/** What comes later than this is found by a beat, or by whoever looks by himself. */
const LONGEST_WAIT_MS = 1_000
/** So often it is looked at least, whatever the sign of writes says. */
const LONGEST_REST_US = 500_000

export class ChangeNotifier {
  readonly #options: ChangeNotifierOptions
  readonly #listeners = new Set<(news: News) => void>()
  readonly #toListeners = new NewsThrottle((news) => this.#tellListeners(news))
  readonly #toOthers = new NewsThrottle((news) => this.#notifier?.notify(news))
  /** Positions of entries that were written here, and not seen again yet. */
  readonly #ownPositions = new Set<number>()
  #notifier: Notifier | null = null
  #beat: Beat | null = null
  #aheadMs: number
  /** The newest entry that was looked at; null: none yet. */
  #seen: number | null = null
  /** What was due at this time was told. */
  #announcedMs = 0
  /** The sign of writes before the last look, and when that was. */
  #signOfWrites: string | null = null
  #checkedUs = -Infinity
  #isChecking = false
  #isCheckWanted = false
  #nextCheckUs = Infinity
  /** What was waited for until then has not been told yet. */
  #isTimeUp = false
  #stopTimer: (() => void) | null = null
  #isClosed = false

  constructor(parts: ChangeNotifierOptions) {
    this.#options = parts
    this.#aheadMs = parts.aheadMs
  }

  /** The authority's time, as well as it is known here. */
  now(): number {
    const { clock } = this.#options
    return clock === null ? nowUs() / 1_000 + this.#aheadMs : clock.now()
  }

  onNews(listener: (news: News) => void): () => void {
    this.begin()
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  begin(): void {
    if (this.#beat !== null || this.#isClosed) return
    const { dialect, id } = this.#options
    this.#beat = beat(dialect.pollMs, () => this.#checkIfWritten())
    this.#notifier = dialect.openNotifier?.(id, (news) => this.#noteNews(news)) ?? null
    void this.#check()
  }

  /** Whether somebody waits for what comes next, and for nothing else. */
  keepProcessAlive(isKept: boolean): void {
    this.#beat?.keep(isKept)
  }

  /** AFTER they are durable: entries that were written here. */
  noteCommitted(done: readonly AppliedEntry[]): void {
    if (this.#beat === null) return
    const { mayBeRestricted: mayStop } = this.#options
    const news = new Set<NewsKind>()
    const now = Math.max(this.now(), this.#announcedMs)
    for (const one of done) {
      for (const kind of newsOf(one, mayStop)) news.add(kind)
      const dueAt = dueAtOf(one)
      // Time may have passed it before it was durable, and a look with it, which does not come back.
      if (dueAt !== null && dueAt <= now) news.add('work')
      else if (dueAt !== null) this.#checkIn(dueAt - now)
      if (this.#notifier === null) this.#ownPositions.add(one.position)
    }
    if (this.#notifier !== null && news.size > 0) this.#toOthers.add(news)
    if (news.has('work')) this.#tellListeners(WORK)
  }

  /** Found by this process, and news for all of them. */
  tellAll(kind: NewsKind): void {
    this.#toListeners.add([kind])
    if (this.#notifier !== null) this.#toOthers.add([kind])
  }

  /** In so many milliseconds there may be something to take. */
  tellWorkIn(ms: number): void {
    if (this.#beat === null || ms > LONGEST_WAIT_MS) return
    afterMs(Math.ceil(ms), () => this.#toListeners.add(['work']))
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#beat?.stop()
    this.#stopTimer?.()
    this.#listeners.clear()
    this.#toListeners.stop()
    this.#toOthers.flush()
    this.#toOthers.stop()
    await this.#notifier?.close()
  }

  #noteNews(news: News): void {
    if (this.#isClosed) return
    this.#options.onOtherWrites()
    this.#toListeners.add(news)
  }

  #tellListeners(news: News): void {
    for (const listener of this.#listeners) listener(news)
  }

  /** A look that is planned for earlier stays so: it will find what comes after it. */
  #checkIn(ms: number): void {
    const us = nowUs() + ms * 1_000
    if (ms > LONGEST_WAIT_MS || us >= this.#nextCheckUs) return
    this.#nextCheckUs = us
    this.#stopTimer?.()
    this.#stopTimer = afterMs(Math.ceil(ms), () => {
      this.#nextCheckUs = Infinity
      this.#isTimeUp = true
      void this.#check()
    })
  }

  #checkIfWritten(): void {
    const sign = this.#options.dialect.signOfWrites?.() ?? null
    const isRested = nowUs() - this.#checkedUs > LONGEST_REST_US
    if (sign === null || sign !== this.#signOfWrites || isRested) void this.#check()
  }

  async #check(): Promise<void> {
    this.#isCheckWanted = true
    if (this.#isChecking) return
    this.#isChecking = true
    while (this.#isCheckWanted && !this.#isClosed) {
      this.#isCheckWanted = false
      try {
        await this.#options.run((connection) => this.#checkOn(connection))
      } catch {
        // A database that is away is asked again at the next beat; whoever needs it is told.
      }
    }
    this.#isChecking = false
  }

  async #checkOn(connection: Connection): Promise<void> {
    const { dialect, clock, onOtherWrites: onBeat } = this.#options
    const { nextTimes: timesAhead, horizon, entryTypesAfter: newest } = dialect.statements
    const given = clock === null ? null : Math.floor(clock.now())
    // BEFORE asking: what is written meanwhile is looked for again.
    const sign = dialect.signOfWrites?.() ?? null
    this.#skipOwnEntries()
    const asks: Statement[] = [{ sql: timesAhead, values: [given, this.#announcedMs] }]
    const seen = this.#seen
    const hasNotifier = dialect.openNotifier !== undefined
    if (!hasNotifier && seen === null) asks.push({ sql: horizon, values: [] })
    if (!hasNotifier && seen !== null) asks.push({ sql: newest, values: [seen, MOST_ENTRIES] })
    const askedUs = nowUs()
    const [times, entries] = await connection.run(asks)
    this.#signOfWrites = sign
    this.#checkedUs = askedUs
    this.#noteTimes((times as StatementResult).rows[0] as Row, askedUs / 1_000)
    if (entries === undefined) return onBeat()
    if (seen !== null) return this.#noteEntries(entries.rows)
    this.#seen = entries.rows[0]?.[1] as number
    this.#noteNews(ALL_NEWS)
  }

  /** The database's time, and the next ones at which something is due. */
  #noteTimes([clock, ...next]: Row, askedMs: number): void {
    const now = clock as number
    // It was read between question and answer. What was known before is better if it fits.
    const [least, most] = [now - nowUs() / 1_000, now - askedMs]
    this.#aheadMs = Math.max(least, Math.min(most, this.#aheadMs))
    this.#announcedMs = Math.max(this.#announcedMs, now)
    // A time that was waited for has come, also if somebody put what it was about in line before.
    let hasCome = this.#isTimeUp
    this.#isTimeUp = false
    for (const time of next as readonly (number | null)[]) {
      if (time === null) continue
      if (time > now) {
        this.#checkIn(time - now)
        continue
      }
      hasCome = true
      // Of each kind it was the first: what comes behind it is to be waited for, too.
      this.#isCheckWanted = true
    }
    if (hasCome) this.#toListeners.add(['work', 'upkeep'])
  }

  /** Where it is looked for entries, each stands right behind the one before. */
  #skipOwnEntries(): void {
    if (this.#seen === null) return
    let seen = this.#seen
    while (this.#ownPositions.delete(seen + 1)) seen += 1
    this.#seen = seen
  }

  /** Positions and types of entries: of others, or of this process. */
  #noteEntries(entries: readonly Row[]): void {
    const last = entries.at(-1)?.[0] as number | undefined
    if (last === undefined) return
    this.#seen = last
    const others = entries.filter(([position]) => !this.#ownPositions.has(position as number))
    for (const position of this.#ownPositions)
      if (position <= last) this.#ownPositions.delete(position)
    if (entries.length === MOST_ENTRIES) this.#isCheckWanted = true
    if (others.length === 0) return
    const news = new Set<NewsKind>()
    for (const [, type] of others) {
      for (const kind of newsOfType(type as string) ?? ALL_NEWS) news.add(kind)
    }
    this.#noteNews(news)
  }
}
