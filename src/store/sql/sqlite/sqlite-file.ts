/**
 * A SQLite file that is open, and statements that are run on it, one after the other. It blocks the thread
 * that calls it: the thread of a connection, or the user's, for a connection in that very thread.
 */
import type {
  SqliteDatabase,
  SqliteStatement,
  SqliteValue,
} from '../../../log/disk/sqlite-driver.ts'
import { openSqlite, sqliteExtendedCode } from '../../../log/disk/sqlite-driver.ts'
import { nowUs } from '../../clock.ts'
import type { StatementResult, ClientConnection, Row, Statement } from '../connection.ts'
import { connectionFailed, sqlFailed } from '../failures.ts'
import { AcknowledgedMarkFile } from './acknowledged-mark.ts'
import { NOT_AS_EXPECTED, reasonOf } from './failures.ts'
import type { FlatStatement, OpenFileRequest } from './messages.ts'
import { flatStatements, valuesOf } from './messages.ts'
import { BEGIN, ROLLBACK } from './stall-timer.ts'
import { SQLITE } from './statements.ts'

interface Prepared {
  readonly forOne: SqliteStatement
  /** For `MANY` rows at once; null: it is run for each. */
  readonly forMany: SqliteStatement | null
  /** Which parameter each `?` stands for; null: one after the other. */
  readonly places: readonly number[] | null
  readonly hasRows: boolean
  readonly isChange: boolean
}

const COMMIT = 'commit'
/** SQLite's number for a file that another connection has. */
const BUSY = 5
/**
 * SQLite itself tries again after 1, 2 and 5 ms, and then ever more seldom, up to 100 ms: a connection
 * that writes all the time has the file again by then. So it is asked anew after these three.
 */
const POLLED_MS = 8
/** Half of what it takes to insert a short row is to run a statement. */
const MANY = 20
/** An insert of one row that does nothing else. Our texts have no brackets in quotes. */
const PLAIN_INSERT = /^\s*insert into [^()]+\([^()]+\)\s*values\s*(\([^()]+\))\s*$/i

const CHANGES = /^\s*(?:insert|update|delete|replace|with)\b/i
/** Parameters by number, which not every Node knows. Our texts have no `?` in quotes. */
const NUMBERED = /\?(\d+)/g
const RETURNS = /\breturning\b/i

/** What `run` throws has the statement with it. */
export interface OfStatement {
  sql?: string
}

export class SqliteFile {
  readonly #database: SqliteDatabase
  readonly #prepared = new Map<string, Prepared>()
  readonly #busyMs: number
  readonly #path: string
  #isInTransaction = false
  #mark: AcknowledgedMarkFile | null = null
  /** The newest entry of the transaction that is under way; 0: it has none. */
  #appended = 0

  /** Creates the file if there is none. */
  constructor({ path, busyMs }: OpenFileRequest) {
    this.#database = openSqlite(path)
    this.#busyMs = busyMs
    this.#path = path
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
  run(statements: readonly FlatStatement[]): StatementResult[] {
    return statements.map((one) => {
      try {
        return one.sql === BEGIN ? this.#lockFile(one) : this.#run(one)
      } catch (error) {
        throw Object.assign(error as Error, { sql: one.sql } satisfies OfStatement)
      }
    })
  }

  /** A transaction of `BEGIN` has the file, and is to go on soon (see `StallTimer`). */
  get isInTransaction(): boolean {
    return this.#isInTransaction
  }

  get database(): SqliteDatabase {
    return this.#database
  }

  close(): void {
    // A driver may have the file open for as long as one of them is in memory.
    this.#prepared.clear()
    this.#database.close()
    this.#mark?.close()
    this.#mark = null
  }

  /**
   * Writes what stands in the write-ahead log into the file itself, which then is whole without it.
   * SQLite does so by itself, but only when the last connection closes the file. It does not wait for
   * another connection that uses the file now: that one will do it.
   */
  checkpoint(): void {
    this.rollBack()
    try {
      this.#database.exec('pragma busy_timeout = 0')
      this.#database.exec('pragma wal_checkpoint(truncate)')
    } catch {
      // There is no room, or it may not be written to. Nothing is lost: the next to open it reads the log.
    }
  }

  /** If there is a transaction: as in other databases, it is no failure if there is none. */
  rollBack(): void {
    this.#isInTransaction = false
    this.#appended = 0
    try {
      this.#database.exec('rollback')
    } catch {
      // None was under way.
    }
  }

  #lockFile(begin: FlatStatement): StatementResult {
    if (this.#busyMs <= POLLED_MS) return this.#run(begin)
    const untilUs = nowUs() + this.#busyMs * 1_000
    this.#database.exec(`pragma busy_timeout = ${POLLED_MS}`)
    try {
      for (;;) {
        try {
          return this.#run(begin)
        } catch (error) {
          if (sqliteExtendedCode(error) !== BUSY || nowUs() >= untilUs) throw error
        }
      }
    } finally {
      this.#database.exec(`pragma busy_timeout = ${this.#busyMs}`)
    }
  }

  #run(statement: FlatStatement): StatementResult {
    const { sql, count, width, expect } = statement
    if (sql === ROLLBACK) this.rollBack()
    if (sql === ROLLBACK || count === 0) return { rows: [], changed: 0 }
    const prepared = this.#prepare(sql)
    const { forOne, forMany, hasRows, isChange } = prepared
    const values = valuesOf(statement)
    const rows: Row[] = []
    let changed = 0
    for (let at = 0; at < count;) {
      const many = forMany !== null && at + MANY <= count ? MANY : 1
      const own = inPlaces(prepared, values, at * width, many, width)
      if (hasRows) {
        for (const row of forOne.all(...own) as Row[]) rows.push(row)
      } else {
        const { changes } = (many === 1 ? forOne : (forMany as SqliteStatement)).run(...own)
        // For a statement that changes nothing, SQLite gives what the one before it changed.
        if (isChange) changed += Number(changes)
      }
      at += many
    }
    if (sql === BEGIN || sql === COMMIT) this.#isInTransaction = sql === BEGIN
    if (sql === SQLITE.insertEvents) this.#appended = values[(count - 1) * width] as number
    if (sql === COMMIT) this.#noteCommitted()
    const found = hasRows ? rows.length : changed
    if (expect !== undefined && found !== expect) {
      throw new Error(`${NOT_AS_EXPECTED}: ${found} of ${expect}`)
    }
    return { rows, changed: hasRows && RETURNS.test(sql) ? rows.length : changed }
  }

  /** What was committed is on the disk. */
  #noteCommitted(): void {
    if (this.#appended === 0) return
    this.#mark ??= this.#openMark()
    this.#mark?.set(this.#appended)
    this.#appended = 0
  }

  #openMark(): AcknowledgedMarkFile | null {
    const [row] = this.#prepare(SQLITE.readMeta).forOne.all('id') as Row[]
    const id = row?.[0]
    return typeof id === 'string' ? new AcknowledgedMarkFile(this.#path, id) : null
  }

  #prepare(sql: string): Prepared {
    const known = this.#prepared.get(sql)
    if (known !== undefined) return known
    const { text, places } = numbered(sql)
    const forOne = this.#database.prepare(text)
    forOne.setReturnArrays(true)
    const [, tuple] = PLAIN_INSERT.exec(text) ?? []
    const more = tuple === undefined ? '' : `, ${tuple}`.repeat(MANY - 1)
    const prepared = {
      forOne,
      forMany: more === '' ? null : this.#database.prepare(text + more),
      places,
      hasRows: forOne.columns().length > 0,
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

/**
 * A connection in the calling thread: for writes of the user's, who is given the database itself. It does
 * not wait for a file that another connection writes to, because nothing else could go on in this thread
 * meanwhile: that is a conflict, and the caller tries again later.
 */
export class InThreadConnection implements ClientConnection {
  readonly #file: SqliteFile
  readonly #where: string
  #isClosed = false

  /** `path`: absolute. Throws `SqlFailed`. */
  constructor(path: string) {
    this.#where = `The SQLite file ${path}`
    try {
      this.#file = new SqliteFile({ path, busyMs: 0 })
    } catch (error) {
      throw this.#failure(error)
    }
  }

  get client(): object {
    return this.#file.database
  }

  async run(statements: readonly Statement[]): Promise<readonly StatementResult[]> {
    if (this.#isClosed) throw sqlFailed('lost', this.#where, new RangeError('It was closed here'))
    try {
      return this.#file.run(flatStatements(statements))
    } catch (error) {
      throw this.#failure(error)
    }
  }

  close(): Promise<void> {
    if (this.#isClosed) return Promise.resolve()
    this.#isClosed = true
    this.#file.rollBack()
    this.#file.close()
    return Promise.resolve()
  }

  #failure(error: unknown): Error {
    const cause = error as Error & OfStatement
    return connectionFailed(reasonOf(cause), this.#where, cause, cause.sql ?? null)
  }
}
