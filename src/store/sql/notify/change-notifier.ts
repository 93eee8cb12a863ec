/**
 * News of what happens on a database: what other processes write, and what becomes due in time.
 *
 * - quiet: there are no listeners and no watches.
 * - listening: other processes notify this one, or, where the database has no notifications, this one
 *   reads their entries at each poll. Each poll also reads when the next task or lease is due before
 *   the next poll, and the news of that come on time. A poll keeps the process alive only for a watch.
 * - closed.
 *
 * What this process writes is news for others. For itself it is news only if a worker may find work,
 * because only the store knows which limits have room.
 */
import type { RepeatingTimer, Clock } from '../../clock.ts'
import { afterMs, repeatEvery, nowUs } from '../../clock.ts'
import type { News, NewsKind } from '../../notice.ts'
import { ALL_NEWS } from '../../notice.ts'
import type { Presence } from '../../presence.ts'
import type { StatementResult, Statement, Connection, Row } from '../connection.ts'
import type { Notifier, Dialect } from '../dialect.ts'
import type { AppliedEntry } from '../transaction/working-set.ts'
import { dueAtOf, newsOf, newsOfType } from './news-of-entries.ts'

export interface ChangeNotifierOptions {
  /** Of the store, the same in all processes. */
  readonly id: string
  readonly dialect: Dialect
  /** Null: the database's own. */
  readonly clock: Clock | null
  /** How far the database's clock was ahead of this process's when the store was opened. */
  readonly aheadMs: number
  readonly run: <T>(work: (connection: Connection) => Promise<T>) => Promise<T>
  readonly mayBeRestricted: (queue: string) => boolean
  /** Null: it is turned off. */
  readonly presence: Presence | null
  /** Called now and then, and whenever other processes wrote. */
  readonly onOtherWrites: () => void
}

const WORK: News = new Set<NewsKind>(['work'])
/** Entries that are read at once. */
const MOST_ENTRIES = 500
/** No timer for work is set for longer: the claim that follows sets the next one. */
const LONGEST_RETRY_MS = 60_000
/** What is due later than this is found by a poll. */
const LONGEST_WAIT_MS = 1_000
/** It checks at least so often, whatever the sign of writes says. */
const LONGEST_REST_US = 500_000
/** While nothing is due and nothing is written for so long, every second poll is enough. */
const REST_AFTER_US = 10_000_000
/** News are told at most so often. */
const THROTTLE_MS = 10

export class ChangeNotifier {
  readonly #options: ChangeNotifierOptions
  readonly #listeners = new Set<(news: News) => void>()
  readonly #toListeners = new NewsThrottle((news) => this.#tellListeners(news))
  readonly #toOthers = new NewsThrottle((news) => this.#notifier?.notify(news))
  /** Of entries that were written here, and not read again yet. */
  readonly #ownPositions = new Set<number>()
  #notifier: Notifier | null = null
  #poll: RepeatingTimer | null = null
  #aheadMs: number
  /** Position of the newest entry that was read; null: none yet. */
  #seen: number | null = null
  /** Listeners were told of everything that was due at this time. */
  #announcedMs = 0
  /** The sign of writes before the last check, and when that was. */
  #signOfWrites: string | null = null
  #checkedUs = -Infinity
  /** What the database said of that at the last check; null: it was not asked. */
  #writesSoFar: string | null = null
  /** When something was due, or written, for the last time. */
  #busyUs = nowUs()
  #isChecking = false
  #isCheckWanted = false
  #nextCheckUs = Infinity
  /** The timer has run out, and listeners were not told yet. */
  #isTimeUp = false
  #stopTimer: (() => void) | null = null
  #isClosed = false

  constructor(options: ChangeNotifierOptions) {
    this.#options = options
    this.#aheadMs = options.aheadMs
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
    if (this.#poll !== null || this.#isClosed) return
    const { dialect, id, presence, run } = this.#options
    this.#poll = repeatEvery(dialect.pollMs, () => this.#checkIfWritten())
    const hear = (news: News): void => this.#noteNews(news)
    this.#notifier = dialect.openNotifier?.(id, hear, presence, run) ?? null
    void this.#check()
  }

  /** While a watch waits for the next entry. */
  keepProcessAlive(isKept: boolean): void {
    this.#poll?.keep(isKept)
  }

  /** AFTER they are durable: entries that were written here. `alike`: positions of more, which are the same news. */
  noteCommitted(applied: readonly AppliedEntry[], alike: readonly number[] = []): void {
    if (this.#poll === null) return
    this.#busyUs = nowUs()
    const { mayBeRestricted } = this.#options
    const news = new Set<NewsKind>()
    const now = Math.max(this.now(), this.#announcedMs)
    for (const one of applied) {
      for (const kind of newsOf(one, mayBeRestricted)) news.add(kind)
      const dueAt = dueAtOf(one)
      // It may have become due before it was durable, and a check may have missed it.
      if (dueAt !== null && dueAt <= now) news.add('work')
      else if (dueAt !== null) this.#checkIn(dueAt - now)
      if (this.#notifier === null) this.#ownPositions.add(one.position)
    }
    if (this.#notifier === null) for (const position of alike) this.#ownPositions.add(position)
    if (this.#notifier !== null && news.size > 0) this.#toOthers.add(news)
    if (news.has('work')) this.#tellListeners(WORK)
  }

  /** News for all processes, found by this one. */
  tellAll(kind: NewsKind): void {
    this.#toListeners.add([kind])
    if (this.#notifier !== null) this.#toOthers.add([kind])
  }

  /** In so many milliseconds there may be work. */
  tellWorkIn(ms: number): void {
    if (this.#poll === null) return
    afterMs(Math.ceil(Math.min(ms, LONGEST_RETRY_MS)), () => this.#toListeners.add(['work']))
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#poll?.stop()
    this.#stopTimer?.()
    this.#listeners.clear()
    this.#toListeners.stop()
    this.#toOthers.flush()
    this.#toOthers.stop()
    await this.#notifier?.close()
  }

  #noteNews(news: News): void {
    if (this.#isClosed) return
    this.#busyUs = nowUs()
    this.#options.onOtherWrites()
    this.#toListeners.add(news)
  }

  #tellListeners(news: News): void {
    for (const listener of this.#listeners) listener(news)
  }

  /** A check that is planned for earlier stays planned: it finds what is due after it. */
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
    const { dialect } = this.#options
    const isResting = nowUs() - this.#busyUs > REST_AFTER_US
    // A little earlier than two polls apart: timers are not exact.
    const restUs = 1_500 * dialect.pollMs
    const isNotified = this.#notifier?.hears === true
    if (isNotified && isResting && nowUs() - this.#checkedUs < restUs) return
    const sign = dialect.signOfWrites?.() ?? null
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
        // A database that is away is checked again at the next poll; calls that need it fail themselves.
      }
    }
    this.#isChecking = false
  }

  async #checkOn(connection: Connection): Promise<void> {
    const { dialect, clock, onOtherWrites } = this.#options
    const { nextTimes, horizon, entryTypesAfter } = dialect.statements
    const given = clock === null ? null : Math.floor(clock.now())
    // BEFORE the read: what is written meanwhile changes the sign, and is read at the next poll.
    const sign = dialect.signOfWrites?.() ?? null
    this.#skipOwnEntries()
    const statements: Statement[] = [{ sql: nextTimes, values: [given, this.#announcedMs] }]
    const seen = this.#seen
    const notifier = this.#notifier
    const { writesSoFar = null } = notifier?.hears === false ? dialect : {}
    if (writesSoFar !== null) statements.push({ sql: writesSoFar, values: [] })
    else if (notifier === null && seen === null) statements.push({ sql: horizon, values: [] })
    else if (notifier === null)
      statements.push({ sql: entryTypesAfter, values: [seen, MOST_ENTRIES] })
    const askedUs = nowUs()
    const [times, entries] = await connection.run(statements)
    this.#signOfWrites = sign
    this.#checkedUs = askedUs
    this.#noteTimes((times as StatementResult).rows[0] as Row, askedUs / 1_000)
    if (entries === undefined) return onOtherWrites()
    if (writesSoFar !== null) return this.#noteWrites(entries.rows[0]?.[0] as string)
    if (seen !== null) return this.#noteEntries(entries.rows)
    this.#seen = entries.rows[0]?.[1] as number
    this.#noteNews(ALL_NEWS)
  }

  /** Where nothing is heard, any write may be news. */
  #noteWrites(soFar: string): void {
    if (soFar !== this.#writesSoFar) this.#noteNews(ALL_NEWS)
    this.#writesSoFar = soFar
  }

  /** The database's time, and the next ones at which something is due. */
  #noteTimes([clock, ...next]: Row, askedMs: number): void {
    const now = clock as number
    // The clock was read between question and answer. The difference known before is better if it fits.
    const [least, most] = [now - nowUs() / 1_000, now - askedMs]
    this.#aheadMs = Math.max(least, Math.min(most, this.#aheadMs))
    this.#announcedMs = Math.max(this.#announcedMs, now)
    // A time that the timer was set for has come, also if another process gave the task its turn before.
    let hasCome = this.#isTimeUp
    this.#isTimeUp = false
    for (const time of next as readonly (number | null)[]) {
      if (time === null) continue
      if (time > now) {
        this.#checkIn(time - now)
        if (time - now <= LONGEST_WAIT_MS) this.#busyUs = nowUs()
        continue
      }
      hasCome = true
      this.#busyUs = nowUs()
      // It was the first of its kind: the next one has to be read, too.
      this.#isCheckWanted = true
    }
    if (hasCome) this.#toListeners.add(['work', 'upkeep'])
  }

  /** Where entries are read, positions have no gaps. */
  #skipOwnEntries(): void {
    if (this.#seen === null) return
    let seen = this.#seen
    while (this.#ownPositions.delete(seen + 1)) seen += 1
    this.#seen = seen
  }

  /** Positions and types of entries, of this process and of others. */
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

/** Joins news that come close together: the first at once, those behind it after a pause. */
class NewsThrottle {
  readonly #tell: (news: News) => void
  readonly #waiting = new Set<NewsKind>()
  #stopTimer: (() => void) | null = null

  constructor(tell: (news: News) => void) {
    this.#tell = tell
  }

  add(news: Iterable<NewsKind>): void {
    for (const kind of news) this.#waiting.add(kind)
    if (this.#stopTimer === null) this.flush()
  }

  flush(): void {
    this.stop()
    if (this.#waiting.size === 0) return
    const news = new Set(this.#waiting)
    this.#waiting.clear()
    this.#stopTimer = afterMs(THROTTLE_MS, () => {
      this.#stopTimer = null
      this.flush()
    })
    this.#tell(news)
  }

  stop(): void {
    this.#stopTimer?.()
    this.#stopTimer = null
  }
}
