/**
 * Presence of the processes on a SQLite file. What they say is in a database file of its own, in the folder
 * of their lock files: nothing in it is synced, and nothing unsynced touches the file of the jobs.
 *
 * It is written and read in the calling thread, which takes a fraction of a millisecond, and never waits for
 * another process: what is locked now is tried again at the next turn. A file that is damaged, or that another
 * process replaced, is begun anew: nothing in it matters for longer than a moment.
 */
import { mkdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { SqliteDatabase } from '../../../log/disk/sqlite-driver.ts'
import { openSqlite, sqlitePrimaryCode } from '../../../log/disk/sqlite-driver.ts'
import { pause } from '../../clock.ts'
import { CompactionIncomplete, StoreClosed } from '../../errors.ts'
import type { DeadSessions, HeardProcess, JobReport, Presence } from '../../presence.ts'
import { HEARD_WITHIN_MS, MOST_REPORTS, NOTHING_ASKED } from '../../presence.ts'
import { newSessionName } from '../../random.ts'
import type { PresenceParts } from '../dialect.ts'
import { SessionLocks } from './session-locks.ts'

/** SQLite's numbers for a file that is damaged, or is no database. */
const DAMAGED: ReadonlySet<number | null> = new Set([11, 26])
const TABLES = [
  'pragma busy_timeout = 0',
  'pragma journal_mode = wal',
  'pragma synchronous = off',
  `create table if not exists processes (
    name text primary key, heard_at integer not null, is_judged integer not null, text text not null
  ) without rowid`,
  `create table if not exists asked (
    process text not null, worker text not null, text text not null, primary key (process, worker)
  ) without rowid`,
  `create table if not exists reports (
    job text primary key, said_at integer not null, text text not null
  ) without rowid`,
]
const SAY = `
  insert into processes (name, heard_at, is_judged, text) values (?, ?, ?, ?)
  on conflict (name) do update
  set heard_at = excluded.heard_at, is_judged = excluded.is_judged, text = excluded.text`
const REPORT = `
  insert into reports (job, said_at, text) values (?, ?, ?)
  on conflict (job) do update set said_at = excluded.said_at, text = excluded.text
  where excluded.said_at >= said_at`
const ASK = `
  insert into asked (process, worker, text) select name, ?, ? from processes where name = ?
  on conflict (process, worker) do update set text = excluded.text`
const FORGET_REPORT = `
  insert into reports (job, said_at, text) values (?, ?, '')
  on conflict (job) do update set said_at = excluded.said_at, text = excluded.text`
const FORGET = `
  delete from reports where job in (select job from reports order by said_at desc limit -1 offset ${MOST_REPORTS})`
const TIDY_MS = 60_000
/** SQLite's number for a file that another connection has. */
const BUSY = 5
/** Others have the file for a fraction of a millisecond. */
const MOST_TRIES = 200
const PAUSE_MS = 10

export class SqlitePresence implements Presence {
  readonly name = newSessionName('sqlite')
  readonly #parts: PresenceParts
  readonly #folder: string
  readonly #path: string
  readonly #locks: SessionLocks
  #file: { readonly database: SqliteDatabase; readonly inode: number } | null = null
  #beginning: Promise<void> | null = null
  #tidyFrom = 0
  #saidLast = false
  #isClosed = false
  #asked = NOTHING_ASKED
  /** Of the file, when it was looked for what is asked: nothing is read while it is the same. */
  #askedSign = ''

  /** `folder`: absolute; made if it is not there. */
  constructor(folder: string, parts: PresenceParts) {
    this.#parts = parts
    this.#folder = folder
    this.#path = join(folder, 'presence.db')
    this.#locks = new SessionLocks(folder, this.name)
  }

  get session(): string {
    return this.#locks.isHeld ? this.name : ''
  }

  /** Its lock says that it is alive, whether or not it speaks. */
  get isMissed(): boolean {
    return false
  }

  begin(): Promise<void> {
    this.#beginning ??= this.#hold()
    return this.#beginning
  }

  async #hold(): Promise<void> {
    if (this.#isClosed) return
    try {
      this.#locks.hold()
    } catch (error) {
      const why = `No lock file can be held in ${this.#folder} (${(error as Error).message}).`
      this.#parts.onNotice({ kind: 'no-presence', why })
    }
  }

  async say(text: string, reports: readonly JobReport[]): Promise<void> {
    this.#use((database) => {
      const now = Math.floor(this.#parts.now())
      database.exec('begin immediate')
      try {
        const isJudged = this.#locks.isHeld ? 1 : 0
        database.prepare(SAY).run(this.name, now, isJudged, text)
        for (const { job, saidAt, text: said } of reports) {
          database.prepare(REPORT).run(job, Math.floor(saidAt), said)
        }
        if (now >= this.#tidyFrom) this.#tidy(database, now)
        database.exec('commit')
      } catch (error) {
        database.exec('rollback')
        throw error
      }
    })
  }

  get asked(): ReadonlyMap<string, string> {
    return this.#asked
  }

  async ask(process: string, worker: string, text: string): Promise<boolean> {
    let isKnown = false
    await this.#insist((database) => {
      isKnown = Number(database.prepare(ASK).run(worker, text, process).changes) > 0
    })
    return isKnown
  }

  /** Only if another process, or this one, wrote since. */
  #readAsked(): void {
    if (this.#file === null) return
    try {
      // BEFORE it is read: what is written meanwhile has another sign.
      const sign = signOf(`${this.#path}-wal`)
      if (sign === this.#askedSign) return
      const rows = this.#use((database) => {
        const statement = database.prepare('select worker, text from asked where process = ?')
        statement.setReturnArrays(true)
        return statement.all(this.name) as [string, string][]
      })
      this.#askedSign = sign
      const isSame = rows.every(([worker, text]) => this.#asked.get(worker) === text)
      if (!isSame) this.#asked = new Map(rows)
    } catch {
      // Another process has the file: it is read at the next turn.
    }
  }

  async heard(isChecked: boolean): Promise<readonly HeardProcess[]> {
    const from = Math.floor(this.#parts.now()) - HEARD_WITHIN_MS
    const rows = this.#use((database) => {
      const statement = database.prepare(
        'select name, heard_at, is_judged, text from processes where heard_at >= ?',
      )
      statement.setReturnArrays(true)
      return statement.all(from) as [string, number, number, string][]
    })
    return rows
      .filter(([name, , isJudged]) => !isChecked || isJudged === 0 || !this.#locks.isFree(name))
      .map(([name, heardAt, , text]) => ({ name, heardAt, text }))
  }

  async reportOf(job: string): Promise<JobReport | null> {
    return this.#use((database) => {
      const statement = database.prepare('select said_at, text from reports where job = ?')
      statement.setReturnArrays(true)
      const row = statement.get(job) as [number, string] | undefined
      return row === undefined ? null : { job, saidAt: row[0], text: row[1] }
    })
  }

  forgetReport(job: string, until: number): Promise<void> {
    return this.#insist((database) => {
      database.prepare(FORGET_REPORT).run(job, Math.floor(until))
    })
  }

  compact(): Promise<void> {
    return this.#insist((database) => {
      database.exec('vacuum')
      const emptied = database.prepare('pragma wal_checkpoint(truncate)')
      emptied.setReturnArrays(true)
      const [isBusy] = emptied.get() as [number, number, number]
      if (isBusy === 1) throw new CompactionIncomplete(this.#path, 'another process reads it.')
    })
  }

  async dead(): Promise<DeadSessions | null> {
    this.#readAsked()
    if (!this.#locks.isHeld) return null
    const dead = this.#locks.deadNeighbours()
    if (dead.length === 0) return null
    return {
      isDead: (session) => dead.includes(session),
      bury: async () => {
        this.#forget(dead)
        for (const session of dead) this.#locks.remove(session)
      },
    }
  }

  async sayLast(text: string): Promise<void> {
    try {
      this.#use((database) => {
        // Of no session: what it says is not taken for that of a process that may be dead.
        database.prepare(SAY).run(this.name, Math.floor(this.#parts.now()), 0, text)
      })
      this.#saidLast = true
    } catch {
      // Another process has the file: what was said before is taken back.
    }
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    await this.#beginning
    try {
      if (this.#file !== null && !this.#saidLast) this.#forget([this.name])
    } catch {
      // Another process has the file: what this one said is too old to be shown soon.
    }
    this.#isClosed = true
    this.#locks.release()
    this.#end()
  }

  #forget(names: readonly string[]): void {
    this.#use((database) => {
      for (const table of ['processes where name', 'asked where process']) {
        const remove = database.prepare(`delete from ${table} = ?`)
        for (const name of names) remove.run(name)
      }
    })
  }

  #tidy(database: SqliteDatabase, now: number): void {
    this.#tidyFrom = now + TIDY_MS
    database.prepare('delete from processes where heard_at < ?').run(now - TIDY_MS)
    database.exec('delete from asked where process not in (select name from processes)')
    database.exec(FORGET)
  }

  #use<T>(work: (database: SqliteDatabase) => T): T {
    if (this.#isClosed) throw new StoreClosed()
    try {
      return work(this.#open())
    } catch (error) {
      if (DAMAGED.has(sqlitePrimaryCode(error))) this.#beginAnew()
      throw error
    }
  }

  /** For what a caller waits for: tried again while another process has the file. */
  async #insist(work: (database: SqliteDatabase) => void): Promise<void> {
    for (let triesLeft = MOST_TRIES; ; triesLeft--) {
      try {
        return this.#use(work)
      } catch (error) {
        const isBusy = error instanceof CompactionIncomplete || sqlitePrimaryCode(error) === BUSY
        if (!isBusy || triesLeft === 0) throw error
      }
      await pause(PAUSE_MS)
    }
  }

  #open(): SqliteDatabase {
    if (this.#file !== null && inodeOf(this.#path) === this.#file.inode) return this.#file.database
    this.#end()
    mkdirSync(this.#folder, { recursive: true })
    const database = openSqlite(this.#path)
    try {
      for (const statement of TABLES) database.exec(statement)
    } catch (error) {
      database.close()
      throw error
    }
    this.#file = { database, inode: inodeOf(this.#path) }
    return database
  }

  #beginAnew(): void {
    this.#end()
    for (const end of ['', '-wal', '-shm']) rmSync(`${this.#path}${end}`, { force: true })
  }

  #end(): void {
    this.#file?.database.close()
    this.#file = null
  }
}

/** Another one once something was written; empty: there is no such file. */
function signOf(path: string): string {
  const { mtimeMs, size } = statSync(path, { throwIfNoEntry: false }) ?? {}
  return mtimeMs === undefined ? '' : `${mtimeMs} ${size}`
}

/** 0: there is none. */
function inodeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.ino ?? 0
}
