/**
 * What can go wrong with a database, sorted by what is to be done about it.
 *
 * - `conflict`: somebody else was quicker (a serialization failure, a deadlock, a busy file, a row
 *   that is there already): the transaction is rolled back and done again, so often or so long.
 * - `lost`: the connection is gone. What was not committed is not there; a commit that was under
 *   way may be. Commands are sent again: they say by themselves what they are.
 * - `full`, `read-only`: nothing can be written until a person did something about it.
 * - `missing`: the tables are not there, or are of another version.
 * - `denied`: the user may not do this, or could not log in.
 * - `broken`: anything else: a bug, or damage.
 */
import { PawlError } from '../../kernel/index.ts'

export type SqlTrouble =
  | 'conflict'
  | 'lost'
  | 'full'
  | 'read-only'
  | 'missing'
  | 'denied'
  | 'broken'

export class SqlFailed extends PawlError {
  readonly trouble: SqlTrouble

  constructor(trouble: SqlTrouble, message: string, cause: unknown) {
    super(
      'SqlFailed',
      trouble === 'lost' ? 'unknown_outcome' : trouble === 'conflict' ? 'retryable' : 'rejected',
      message,
      { trouble },
      cause,
    )
    this.trouble = trouble
  }
}

const WHAT_TO_DO: Readonly<Record<SqlTrouble, string>> = {
  // Read by a person only when it was done again for as long as it may be.
  conflict: 'Somebody else was quicker each time, or has it for too long: try again later.',
  lost: 'The connection is gone: whether the last commit arrived is not known.',
  full: 'Nothing can be written before somebody makes room.',
  'read-only': 'Nothing can be written here: give it a database that takes writes.',
  missing: 'The tables are not there, or are those of another version.',
  denied: 'Look at the name, the password and the rights that it is opened with.',
  broken: 'This is a bug, or the database is damaged.',
}

/** Libraries put what a driver threw into errors of their own. */
export function innermost(error: unknown): Error {
  if (!(error instanceof Error)) return new RangeError(String(error))
  return error.cause instanceof Error ? innermost(error.cause) : error
}

/** `where` is the database, for people; `sql` the statement of which it was said, if it was of one. */
export function sqlFailed(
  trouble: SqlTrouble,
  where: string,
  cause: Error,
  sql: string | null = null,
): SqlFailed {
  const said = cause.message.replace(/\.?$/, '.')
  const statement = sql === null ? '' : ` In: ${sql.trim().replaceAll(/\s+/g, ' ').slice(0, 200)}`
  return new SqlFailed(trouble, `${where}: ${said} ${WHAT_TO_DO[trouble]}${statement}`, cause)
}
