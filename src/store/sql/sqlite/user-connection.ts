/**
 * A connection made of a transaction of the user's, in SQLite: statements one after the other, on the
 * user's own connection. It neither begins nor ends it.
 */
import type { StatementResult, Statement, Connection, Row, Value } from '../connection.ts'
import { innermost, sqlFailed } from '../failures.ts'
import type { UserTransaction } from '../../user-transaction.ts'
import { numbered } from './sqlite-file.ts'
import { troubleOf } from './failures.ts'

export class UserConnection implements Connection {
  readonly #transaction: UserTransaction

  constructor(transaction: UserTransaction) {
    this.#transaction = transaction
  }

  async run(asks: readonly Statement[]): Promise<readonly StatementResult[]> {
    const answers: StatementResult[] = []
    for (const ask of asks) {
      const all: Row[] = []
      for (const row of 'rows' in ask ? ask.rows : [ask.values]) {
        all.push(...(await this.#runOnce(ask.sql, row)))
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
      throw sqlFailed(troubleOf(cause), 'The transaction', cause, sql)
    }
  }
}

/** SQLite has no booleans, and some drivers read large numbers. */
function plain(value: unknown): Value {
  return typeof value === 'boolean' || typeof value === 'bigint' ? Number(value) : (value as Value)
}
