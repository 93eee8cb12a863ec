/**
 * The user's transaction at both ends of a job: jobs that are submitted in it, and writes of the
 * user's that are done in the one that commits a job. Only a store on a database can do either.
 */
import { PawlError } from '../kernel/index.ts'

export type SqlValue = string | number | boolean | null | Uint8Array

/** Of one statement. On PostgreSQL a parameter may be an array. */
export type SqlParameter = SqlValue | readonly SqlValue[]

/**
 * A transaction of the user's, in the database that the store is on. `fromPg`, `fromSqlite`,
 * `fromKysely` and `fromDrizzle` make one; for any other library it is one function.
 */
export interface UserTransaction {
  /**
   * Runs one statement in the transaction and gives its rows, each an object with its columns in
   * order; none for a statement that has none. Parameters are `$1`, `$2` on PostgreSQL, and `?` on
   * SQLite.
   */
  query(
    text: string,
    parameters: readonly SqlParameter[],
  ): Promise<readonly object[]> | readonly object[]
  /** What stands for the connection, if the same one may come again: it is looked at once. */
  readonly connection?: object
}

/** What a user does in the transaction that commits a job. */
export interface Writes {
  /** Given a client of pg, or a database of SQLite. May be called again after it was rolled back. */
  readonly run: (client: never) => unknown
  /** How long it may take. */
  readonly withinMs: number
}

/**
 * A submit in a transaction of the user's failed. The transaction cannot be trusted any more, and
 * only its owner can end it: it is to be rolled back. Of kind `retryable`, it is worth running it
 * again, from its beginning.
 */
export class TransactionFailed extends PawlError {
  constructor(message: string, isWorthAnother: boolean, cause: unknown) {
    super('TransactionFailed', isWorthAnother ? 'retryable' : 'rejected', message, {}, cause)
  }
}

/** What the user wanted to write with a commit failed, by its cause. Nothing was committed. */
export class WritesFailed extends PawlError {
  constructor(job: string, cause: unknown) {
    const why = cause instanceof Error ? cause.message : String(cause)
    super(
      'WritesFailed',
      'rejected',
      `The writes that were to be committed with job ${job} failed, and nothing was committed: ${why}`,
      { job },
      cause,
    )
  }
}

/** The function that writes with a commit took longer than it may. It was rolled back. */
export class WritesTooSlow extends PawlError {
  constructor(ms: number) {
    super(
      'WritesTooSlow',
      'retryable',
      `The function that writes with the commit took longer than ${ms} ms, and was rolled back. It is for writes only: do the work before, or give it more time with \`within\`.`,
      { ms },
    )
  }
}
