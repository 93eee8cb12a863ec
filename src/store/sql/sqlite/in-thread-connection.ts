/**
 * A connection to a SQLite file in this very thread: for writes of the user's, who is given the
 * database itself. A file that somebody else writes to is not waited for here, because nothing else
 * could go on meanwhile: it is a conflict, and whoever has it tries again later.
 */
import type { StatementResult, Statement, ClientConnection } from '../connection.ts'
import { sqlFailed } from '../failures.ts'
import type { OfStatement } from './sqlite-file.ts'
import { SqliteFile } from './sqlite-file.ts'
import { troubleOf } from './failures.ts'
import { flatAsks } from './messages.ts'

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
      throw this.#sorted(error)
    }
  }

  get client(): object {
    return this.#file.database
  }

  async run(asks: readonly Statement[]): Promise<readonly StatementResult[]> {
    if (this.#isClosed) throw sqlFailed('lost', this.#where, new RangeError('It was closed here'))
    try {
      return this.#file.run(flatAsks(asks))
    } catch (error) {
      throw this.#sorted(error)
    }
  }

  close(): Promise<void> {
    if (this.#isClosed) return Promise.resolve()
    this.#isClosed = true
    this.#file.abandon()
    return Promise.resolve()
  }

  #sorted(error: unknown): Error {
    const cause = error as Error & OfStatement
    return sqlFailed(troubleOf(cause), this.#where, cause, cause.sql ?? null)
  }
}
