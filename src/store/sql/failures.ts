/**
 * What can go wrong with a database, sorted by what the store or a person does about it.
 *
 * - `conflict`: another transaction wrote first (a serialization failure, a deadlock, a busy file, a
 *   row that is there already). The store rolls back and tries again, so often or so long.
 * - `lost`: the connection is gone. What was not committed is not there; a commit that was under
 *   way may be. The store sends the commands again: they carry their own ids.
 * - `unreachable`: no connection could be opened, so nothing was sent. The store tries again, for a while.
 * - `full`, `read-only`: nothing can be written until a person did something about it.
 * - `missing`: the tables are not there, or are of another version.
 * - `unusable`: the place that was given is no database, and cannot become one.
 * - `denied`: the user may not do this, or could not log in.
 * - `damaged`: the database cannot read its own pages. Outside of a user's transaction that is a
 *   `DatabaseDamaged`.
 * - `broken`: anything else: a bug, or damage.
 */
import { PawlError } from '../../kernel/index.ts'

export type SqlFailureReason =
  | 'conflict'
  | 'lost'
  | 'unreachable'
  | 'full'
  | 'read-only'
  | 'missing'
  | 'unusable'
  | 'denied'
  | 'damaged'
  | 'broken'

/** Nothing was done, and the next time it may be. */
const RETRYABLE: ReadonlySet<SqlFailureReason> = new Set<SqlFailureReason>([
  'conflict',
  'unreachable',
])

export class SqlFailed extends PawlError {
  readonly reason: SqlFailureReason

  constructor(reason: SqlFailureReason, message: string, cause: unknown) {
    super(
      'SqlFailed',
      reason === 'lost' ? 'unknown_outcome' : RETRYABLE.has(reason) ? 'retryable' : 'rejected',
      message,
      { reason },
      cause,
    )
    this.reason = reason
  }
}

const WHAT_TO_DO: Readonly<Record<SqlFailureReason, string>> = {
  // A person reads this only when the store has given up trying.
  conflict:
    'Another transaction wrote first each time, or holds a lock for too long: try again later.',
  lost: 'The connection is gone: whether the last commit arrived is not known.',
  unreachable: 'No connection could be opened, and nothing was sent.',
  full: 'Nothing can be written until a person makes room.',
  'read-only': 'Nothing can be written here: give it a database that takes writes.',
  missing: 'The tables are not there, or are those of another version.',
  unusable: 'Give it the place of a database.',
  denied: 'Look at the name, the password and the rights that it is opened with.',
  damaged: 'Look at all of it with verifyDatabase, then restore a backup.',
  broken: 'This is a bug, or the database is damaged.',
}

/** What a driver threw: libraries wrap it in errors of their own. */
export function innermost(error: unknown): Error {
  if (!(error instanceof Error)) return new RangeError(String(error))
  return error.cause instanceof Error ? innermost(error.cause) : error
}

/**
 * `where`: the database, for people. `sql`: the statement that failed, if it was one. `remedy`: what to do, if
 * more is known than the reason.
 */
export function sqlFailed(
  reason: SqlFailureReason,
  where: string,
  cause: Error,
  sql: string | null = null,
  remedy: string = WHAT_TO_DO[reason],
): SqlFailed {
  const said = cause.message.replace(/\.?$/, '.')
  return new SqlFailed(reason, `${where}: ${said} ${remedy}${inStatement(sql)}`, cause)
}

function inStatement(sql: string | null): string {
  return sql === null ? '' : ` In: ${sql.trim().replaceAll(/\s+/g, ' ').slice(0, 200)}`
}

/** The same on a connection of the store's own: damage is what it is called everywhere else. */
export function connectionFailed(
  reason: SqlFailureReason,
  where: string,
  cause: Error,
  sql: string | null = null,
): SqlFailed | DatabaseDamaged {
  if (reason !== 'damaged') return sqlFailed(reason, where, cause, sql)
  const what = `${cause.message.replace(/\.$/, '')}.${inStatement(sql)}`.replace(/\.$/, '')
  return new DatabaseDamaged(where, [{ what, table: 'file', row: null, position: null }], cause)
}

/** Something that is wrong, and where. */
export interface DatabaseProblem {
  readonly what: string
  /**
   * `events`, `baselines`, `work`, `queues`, `queue_counts`, `schedules`, `limits`, `tallies` or `meta`; on
   * SQLite also `indexes`, or `file` for what is about none of our tables and indexes alone.
   */
  readonly table: string
  /** A job, `job/stage/segment`, a queue, a schedule, the key of a limit, an index; null: all of it. */
  readonly row: string | null
  /** The position of the event that is meant; null: it is about none. */
  readonly position: number | null
}

/** What is stored is not what was written, or makes no sense: a person must look. */
export class DatabaseDamaged extends PawlError {
  readonly problems: readonly DatabaseProblem[]

  /** `where`: the database, for people. */
  constructor(where: string, problems: readonly DatabaseProblem[], cause?: unknown) {
    const [first] = problems
    const row = first?.row == null ? '' : ` (${first.row})`
    super(
      'DatabaseDamaged',
      'corrupt',
      `${where} is damaged: ${first?.table}${row}: ${first?.what}. Nothing was changed. Look at all of it with verifyDatabase, then restore a backup or use repairDatabase.`,
      { where, problems },
      cause,
    )
    this.problems = problems
  }
}
