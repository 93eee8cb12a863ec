/**
 * What SQLite says when something goes wrong, sorted by what is to be done.
 */
import { sqlitePrimaryCode, sqliteExtendedCode } from '../../../log/disk/sqlite-driver.ts'
import type { SqlFailureReason } from '../failures.ts'

/** By SQLite's number for it. */
const REASONS: Readonly<Record<number, SqlFailureReason>> = {
  3: 'denied',
  5: 'conflict',
  6: 'conflict',
  8: 'read-only',
  // A page that makes no sense, a file that is no database.
  11: 'damaged',
  13: 'full',
  14: 'denied',
  23: 'denied',
  26: 'damaged',
}

/** Extended numbers that differ from the rest of their kind. */
const EXTENDED: Readonly<Record<number, SqlFailureReason>> = {
  // A primary key, a unique index, a row id.
  1555: 'conflict',
  2067: 'conflict',
  2579: 'conflict',
  // The file that the processes share cannot grow: there is no room on the disk.
  4874: 'full',
}

/** The store's own message: fewer rows were changed than should have been. */
export const NOT_AS_EXPECTED = 'rows are not as they were'

/** The store's own message: a transaction had the file for too long without a message. */
export const STALLED = 'the stalled transaction was rolled back'

/** Where the driver does not give the number: the message of SQLite. */
const WORDS: readonly (readonly [RegExp, SqlFailureReason])[] = [
  [/^no such (?:table|column)/, 'missing'],
  [new RegExp(`^${NOT_AS_EXPECTED}`), 'conflict'],
  [new RegExp(`^${STALLED}`), 'conflict'],
  [/^UNIQUE constraint failed/, 'conflict'],
  [/^database (?:table |schema )?is locked/, 'conflict'],
  [/^database or disk is full/, 'full'],
  [/^database disk image is malformed|^file is not a database/, 'damaged'],
  [/^malformed database schema|^unsupported file format/, 'damaged'],
  [/^attempt to write a readonly database/, 'read-only'],
]

export function reasonOf(error: Error): SqlFailureReason {
  const [kind, extended] = [sqlitePrimaryCode(error), sqliteExtendedCode(error)]
  const byNumber = extended === null ? undefined : (EXTENDED[extended] ?? REASONS[kind ?? 0])
  return byNumber ?? WORDS.find(([words]) => words.test(error.message))?.[1] ?? 'broken'
}
