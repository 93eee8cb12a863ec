/**
 * How a store on SQLite takes part in a transaction of the user's: on their own connection to the same
 * file, one statement after the other. It neither begins nor ends the transaction.
 */
import { resolve } from 'node:path'
import { openSqlite } from '../../../log/disk/sqlite-driver.ts'
import type { UserTransaction } from '../../user-transaction.ts'
import { TransactionFailed } from '../../user-transaction.ts'
import type { StatementResult, Statement, Connection, Row, Value } from '../connection.ts'
import type { UserTransactionDialect } from '../dialect.ts'
import { innermost, SqlFailed, sqlFailed } from '../failures.ts'
import { reasonOf } from './failures.ts'
import { InThreadConnection, numbered } from './sqlite-file.ts'
import { SQLITE, USER_TRANSACTION } from './statements.ts'

/** SQLite's word for a `begin` in a transaction. */
const WITHIN = /within a transaction/

/** A conflict costs other processes nothing: only the user's own waits. */
const MOST_CONFLICTS = 1_000

/** `path`: absolute. */
export function sqliteUserDialect(path: string): UserTransactionDialect {
  return {
    statements: SQLITE,
    connection: (transaction) => new SqliteUserConnection(transaction),
    async setSavepoint(connection) {
      const isUnderWay = await connection.run([{ sql: USER_TRANSACTION.begin, values: [] }]).then(
        () => false,
        (error: unknown) => {
          if (error instanceof SqlFailed && WITHIN.test(error.message)) return true
          throw error
        },
      )
      if (!isUnderWay) {
        await connection.run([{ sql: SQLITE.rollback, values: [] }])
        const message =
          'No transaction is under way on what was given as `tx`: begin one, submit in it, and commit it.'
        throw new TransactionFailed(message, false, undefined)
      }
      // The time and the positions are read AFTER it has the file.
      await connection.run([
        { sql: USER_TRANSACTION.lockFile, values: [] },
        { sql: SQLITE.savepoint, values: [] },
      ])
    },
    assertSafe() {
      if (!isOfOtherCopy(resolve(path))) return
      const message =
        "The transaction is of another copy of SQLite than the one of this store, and two copies in one process do not see each other's locks: roll it back, and open your connection with openSqlite() of pawl."
      throw new TransactionFailed(message, false, undefined)
    },
    // All processes poll for writes.
    notify: () => [],
    connect: async () => new InThreadConnection(path),
    // SQLite allows one writer at a time.
    connections: 1,
    mostConflicts: MOST_CONFLICTS,
    limitDuration: () => [],
    isConflict: () => false,
  }
}

/**
 * Whether the transaction in this process that has the file is of another copy of SQLite than ours.
 *
 * Two copies in one process do not see each other's locks, and when one closes a file it drops the locks of
 * the other: both would write at once, and what was committed would be gone. Versions do not tell copies
 * apart. But a transaction that has the file keeps all of its own copy out, and none of another.
 */
function isOfOtherCopy(path: string): boolean {
  const database = openSqlite(path)
  try {
    database.exec('pragma busy_timeout = 0')
    database.exec('begin immediate')
    database.exec('rollback')
    return true
  } catch (error) {
    if (reasonOf(error as Error) === 'conflict') return false
    throw error
  } finally {
    database.close()
  }
}

class SqliteUserConnection implements Connection {
  readonly #transaction: UserTransaction

  constructor(transaction: UserTransaction) {
    this.#transaction = transaction
  }

  async run(statements: readonly Statement[]): Promise<readonly StatementResult[]> {
    const answers: StatementResult[] = []
    for (const one of statements) {
      const all: Row[] = []
      for (const row of 'rows' in one ? one.rows : [one.values]) {
        all.push(...(await this.#runOnce(one.sql, row)))
      }
      answers.push({ rows: all, changed: 0 })
    }
    return answers
  }

  close(): Promise<void> {
    return Promise.resolve()
  }

  async #runOnce(sql: string, row: Row): Promise<Row[]> {
    const { text, places } = numbered(sql)
    const values = places === null ? row : places.map((place) => row[place] as Value)
    try {
      const rows = await this.#transaction.query(text, values.map(plain))
      return rows.map((one) => Object.values(one).map(plain))
    } catch (error) {
      const cause = innermost(error)
      throw sqlFailed(reasonOf(cause), 'The transaction', cause, sql)
    }
  }
}

/** SQLite has no booleans, and some drivers read large numbers. */
function plain(value: unknown): Value {
  return typeof value === 'boolean' || typeof value === 'bigint' ? Number(value) : (value as Value)
}
