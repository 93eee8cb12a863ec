/**
 * Finds out whether a transaction is of another copy of SQLite than ours.
 *
 * Two copies in one process do not see each other's locks, and whoever closes a file drops those of
 * the other: both would write at once, and what was committed would be gone. Versions do not tell
 * copies apart. But a transaction that has the file keeps everybody of its own copy out, and nobody
 * of another one.
 */
import { openSqlite } from '../../../log/disk/sqlite-driver.ts'
import { troubleOf } from './failures.ts'

/** `path` is absolute; a transaction in this process has the file. */
export function isOfOtherCopy(path: string): boolean {
  const database = openSqlite(path)
  try {
    database.exec('pragma busy_timeout = 0')
    database.exec('begin immediate')
    database.exec('rollback')
    return true
  } catch (error) {
    if (troubleOf(error as Error) === 'conflict') return false
    throw error
  } finally {
    database.close()
  }
}
