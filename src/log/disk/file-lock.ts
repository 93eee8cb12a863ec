/**
 * A lock of the operating system on an empty file, which dies with its process. Node cannot lock files, so
 * the lock is an open SQLite transaction that never writes: the file stays empty.
 *
 * On POSIX systems a process loses its lock on a file when it closes ANY descriptor of it. So nothing in the
 * holder's process may open the file but SQLite, which knows its own locks. A network file system must have
 * locks that work.
 */
import { openSqlite, sqlitePrimaryCode } from './sqlite-driver.ts'
import type { SqliteDatabase } from './sqlite-driver.ts'

export interface FileLock {
  release(): void
}

const SQLITE_BUSY = 5

/** Otherwise a database that nothing refers to is collected as garbage, and its lock with it. */
const heldLocks = new Set<SqliteDatabase>()

/**
 * Creates the file if there is none. The path must be absolute. Null: another one holds it. Throws if it
 * cannot be locked at all.
 */
export function tryLockFile(path: string): FileLock | null {
  let lock: SqliteDatabase | null = null
  try {
    lock = openSqlite(path)
    // A second one is refused at once.
    lock.exec('PRAGMA busy_timeout = 0')
    // Otherwise a holder that is killed leaves a journal behind.
    lock.exec('PRAGMA journal_mode = MEMORY')
    // Not EXCLUSIVE: that climbs over a shared lock to one that bears no other, so two that
    // come at the same time can hinder each other and both be refused. Here one step decides.
    lock.exec('BEGIN IMMEDIATE')
    // A file that may only be read is opened and begun all the same, but not locked: a write
    // shows it. It is never committed, so nothing reaches the file.
    lock.exec('PRAGMA user_version = 1')
  } catch (error) {
    lock?.close()
    if (sqlitePrimaryCode(error) === SQLITE_BUSY) return null
    throw error
  }
  const held = lock
  heldLocks.add(held)
  return {
    release() {
      held.close()
      heldLocks.delete(held)
    },
  }
}
