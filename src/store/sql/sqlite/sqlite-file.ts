/**
 * A SQLite file that is open, and statements run on it, one after the other. It blocks whoever
 * calls it: the thread, and a connection that writes for a user.
 */
import type {
  SqliteDatabase,
  SqliteStatement,
  SqliteValue,
} from '../../../log/disk/sqlite-driver.ts'
import { openSqlite, sqliteShadeOf } from '../../../log/disk/sqlite-driver.ts'
import { nowUs } from '../../clock.ts'
import type { StatementResult, Row } from '../connection.ts'
import { NOT_AS_EXPECTED } from './failures.ts'
import { BEGIN } from './file-hold.ts'
import type { FlatAsk, OpenFileRequest } from './messages.ts'
import { valuesOf } from './messages.ts'

interface Prepared {
  readonly statement: SqliteStatement
  /** For so many rows at once as `MANY` says; null: it is run for each. */
  readonly ofMany: SqliteStatement | null
  /** Which parameter each `?` stands for; null: one after the other. */
  readonly places: readonly number[] | null
  readonly hasRows: boolean
  readonly isChange: boolean
}

/** As in other databases, no failure when there is nothing to be taken back. */
const ROLLBACK = 'rollback'
const COMMIT = 'commit'
/** SQLite's number for a file that somebody else has. */
const BUSY = 5
/**
 * SQLite itself looks again after 1, 2 and 5 ms, and then ever more seldom, up to 100 ms: whoever
 * writes all the time has the file again by then. So it is asked for anew after these three.
 */
const POLLED_MS = 8
/** Half of what it takes to insert a short row is to run a statement. */
const MANY = 20
/** An insert that is about its own row and nothing else. Our texts have no brackets in quotes. */
const PLAIN_INSERT = /^\s*insert into [^()]+\([^()]+\)\s*values\s*(\([^()]+\))\s*$/i

const CHANGES = /^\s*(?:insert|update|delete|replace|with)\b/i
/** Parameters by number, which not every Node knows. Our texts have no `?` in quotes. */
const NUMBERED = /\?(\d+)/g
const RETURNS = /\breturning\b/i

/** What is thrown has the statement with it. */
export interface OfStatement {
  sql?: string
}

export class SqliteFile {
  readonly #database: SqliteDatabase
  readonly #prepared = new Map<string, Prepared>()
  readonly #busyMs: number
  #isHeld = false

  /** Creates the file if there is none. */
  constructor({ path, busyMs }: OpenFileRequest) {
    this.#database = openSqlite(path)
    this.#busyMs = busyMs
    try {
      // BEFORE anything that may have to wait for another process.
      this.#database.exec(`pragma busy_timeout = ${busyMs}`)
      this.#database.exec('pragma journal_mode = wal')
      // A commit that was answered is on the disk.
      this.#database.exec('pragma synchronous = full')
    } catch (error) {
      this.#database.close()
      throw error
    }
  }

  /** What it throws has `sql`. Nothing behind that is run. */
  run(asks: readonly FlatAsk[]): StatementResult[] {
    return asks.map((ask) => {
      try {
        return ask.sql === BEGIN ? this.#takeFile(ask) : this.#run(ask)
      } catch (error) {
        throw Object.assign(error as Error, { sql: ask.sql } satisfies OfStatement)
      }
    })
  }

  /** A transaction has it that is to go on soon (see `FileHold`). */
  get isHeld(): boolean {
    return this.#isHeld
  }

  get database(): SqliteDatabase {
    return this.#database
  }

  close(): void {
    // A driver may have the file open for as long as one of them is in memory.
    this.#prepared.clear()
    this.#database.close()
  }

  /**
   * Writes what stands in the log of the file into the file itself, which then is whole without it.
   * SQLite does so by itself, but only when the last who has the file open closes it. Whoever is at it
   * just now is not waited for: it is theirs, then.
   */
  settle(): void {
    this.rollBack()
    try {
      this.#database.exec('pragma busy_timeout = 0')
      this.#database.exec('pragma wal_checkpoint(truncate)')
    } catch {
      // There is no room, or it may not be written to. Nothing is lost: whoever opens it reads the log.
    }
  }

  /** Takes a transaction back, if there is one. */
  rollBack(): void {
    this.#isHeld = false
    try {
      this.#database.exec('rollback')
    } catch {
      // None was under way.
    }
  }

  /** Closes it in the middle of a transaction, if there is one. */
  abandon(): void {
    this.rollBack()
    this.close()
  }

  #takeFile(ask: FlatAsk): StatementResult {
    if (this.#busyMs <= POLLED_MS) return this.#run(ask)
    const untilUs = nowUs() + this.#busyMs * 1_000
    this.#database.exec(`pragma busy_timeout = ${POLLED_MS}`)
    try {
      for (;;) {
        try {
          return this.#run(ask)
        } catch (error) {
          if (sqliteShadeOf(error) !== BUSY || nowUs() >= untilUs) throw error
        }
      }
    } finally {
      this.#database.exec(`pragma busy_timeout = ${this.#busyMs}`)
    }
  }

  #run(ask: FlatAsk): StatementResult {
    const { sql, width, expect } = ask
    if (sql === ROLLBACK) this.rollBack()
    if (sql === ROLLBACK || ask.count === 0) return { rows: [], changed: 0 }
    const prepared = this.#prepare(sql)
    const { statement, ofMany, hasRows, isChange } = prepared
    const values = valuesOf(ask)
    const rows: Row[] = []
    let changed = 0
    for (let at = 0; at < ask.count;) {
      const many = ofMany !== null && at + MANY <= ask.count ? MANY : 1
      const own = inPlaces(prepared, values, at * width, many, width)
      if (hasRows) {
        for (const row of statement.all(...own) as Row[]) rows.push(row)
      } else {
        const { changes } = (many === 1 ? statement : (ofMany as SqliteStatement)).run(...own)
        // For a statement that changes nothing, SQLite says what the one before it changed.
        if (isChange) changed += Number(changes)
      }
      at += many
    }
    if (sql === BEGIN || sql === COMMIT) this.#isHeld = sql === BEGIN
    const count = hasRows ? rows.length : changed
    if (expect !== undefined && count !== expect) {
      throw new Error(`${NOT_AS_EXPECTED}: ${count} of ${expect}`)
    }
    return { rows, changed: hasRows && RETURNS.test(sql) ? rows.length : changed }
  }

  #prepare(sql: string): Prepared {
    const known = this.#prepared.get(sql)
    if (known !== undefined) return known
    const { text, places } = numbered(sql)
    const statement = this.#database.prepare(text)
    statement.setReturnArrays(true)
    const [, tuple] = PLAIN_INSERT.exec(text) ?? []
    const more = tuple === undefined ? '' : `, ${tuple}`.repeat(MANY - 1)
    const prepared = {
      statement,
      ofMany: more === '' ? null : this.#database.prepare(text + more),
      places,
      hasRows: statement.columns().length > 0,
      isChange: CHANGES.test(sql),
    }
    this.#prepared.set(sql, prepared)
    return prepared
  }
}

/** A text whose parameters have no numbers, and which value each of them stands for. */
export function numbered(sql: string): Pick<Prepared, 'places'> & { readonly text: string } {
  const places = [...sql.matchAll(NUMBERED)].map(([, number]) => Number(number) - 1)
  return { text: sql.replaceAll(NUMBERED, '?'), places: places.length > 0 ? places : null }
}

/** The values of so many rows, as the statement takes them. */
function inPlaces(
  { places }: Prepared,
  values: readonly SqliteValue[],
  from: number,
  count: number,
  width: number,
): SqliteValue[] {
  if (places === null) return values.slice(from, from + count * width)
  const own: SqliteValue[] = []
  for (let row = from; row < from + count * width; row += width) {
    for (const place of places) own.push(values[row + place] as SqliteValue)
  }
  return own
}
