/**
 * A SQLite file that is open, and statements run on it, one after the other. It blocks whoever
 * calls it: the thread, and a connection that writes for a user.
 */
import type { SqliteDatabase, SqliteStatement, SqliteValue } from '../../log/sqlite.ts'
import { openSqlite } from '../../log/sqlite.ts'
import type { Answered, Ask, Row, Value } from '../sql/connection.ts'
import { NOT_AS_EXPECTED } from './failures.ts'
import type { Opening } from './messages.ts'

interface Prepared {
  readonly statement: SqliteStatement
  /** Which parameter each `?` stands for; null: one after the other. */
  readonly places: readonly number[] | null
  readonly hasRows: boolean
  readonly isChange: boolean
}

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

  /** Creates the file if there is none. */
  constructor({ path, busyMs }: Opening) {
    this.#database = openSqlite(path)
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
  run(asks: readonly Ask[]): Answered[] {
    return asks.map((ask) => {
      try {
        if ('values' in ask) return this.#runOnce(ask.sql, ask.values)
        const answered = this.#runRows(ask.sql, ask.rows)
        const { expect = answered.changed } = ask
        if (answered.changed === expect) return answered
        throw new Error(`${NOT_AS_EXPECTED}: ${answered.changed} of ${expect}`)
      } catch (error) {
        throw Object.assign(error as Error, { sql: ask.sql } satisfies OfStatement)
      }
    })
  }

  get database(): SqliteDatabase {
    return this.#database
  }

  close(): void {
    this.#database.close()
  }

  /** Closes it in the middle of a transaction, if there is one. */
  abandon(): void {
    try {
      this.#database.exec('rollback')
    } catch {
      // None was under way.
    }
    this.#database.close()
  }

  #runRows(sql: string, rows: readonly Row[]): Answered {
    const all: Row[] = []
    let changed = 0
    for (const row of rows) {
      const one = this.#runOnce(sql, row)
      changed += one.changed
      for (const returned of one.rows) all.push(returned)
    }
    return { rows: all, changed }
  }

  #runOnce(sql: string, row: Row): Answered {
    const { statement, places, hasRows, isChange } = this.#prepare(sql)
    const values = places?.map((place) => asStored(row[place])) ?? row.map(asStored)
    if (!hasRows) {
      const { changes } = statement.run(...values)
      // For a statement that changes nothing, SQLite says what the one before it changed.
      return { rows: [], changed: isChange ? Number(changes) : 0 }
    }
    const rows = statement.all(...values) as Row[]
    return { rows, changed: RETURNS.test(sql) ? rows.length : 0 }
  }

  #prepare(sql: string): Prepared {
    const known = this.#prepared.get(sql)
    if (known !== undefined) return known
    const { text, places } = numbered(sql)
    const statement = this.#database.prepare(text)
    statement.setReturnArrays(true)
    const prepared = {
      statement,
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

/** SQLite has no booleans. What is missing is refused by the driver. */
function asStored(value: Value | undefined): SqliteValue {
  return typeof value === 'boolean' ? Number(value) : (value as SqliteValue)
}
