/**
 * Owns the right to a store's folder: one owner at a time, over all processes of the machine.
 *
 * The right is a lock of the operating system on the file `LOCK`, which dies with its process:
 * after a crash the next one opens at once, and nothing has to be judged stale. `LOCK` stays empty
 * and is never removed: to remove it while it is locked lets a second owner in.
 *
 * Beside it, `OWNER` says who holds the lock, for messages only. Nothing is decided by it: a
 * process number may belong to another process by now, or come from another container.
 *
 * Held: `LOCK` is locked. Released: anyone may take it. A folder that is held is refused with
 * `DirectoryInUse`, one that cannot be locked with `DirectoryNotUsable`.
 *
 * On POSIX systems a process loses its lock on a file when it closes ANY descriptor of it. So
 * nothing in the owner's process may open `LOCK`, not even to copy it; listing the folder or
 * asking for a file's size is fine. And a network file system must have locks that work.
 */
import { access, constants, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { PawlError } from '../../kernel/index.ts'
import type { FileLock } from './file-lock.ts'
import { tryLockFile } from './file-lock.ts'
import { SqliteMissing } from './sqlite-driver.ts'

/** What `OWNER` says. */
export interface OwnerNote {
  readonly pid: number
  readonly host: string
  /** In milliseconds since 1970. */
  readonly since: number
}

export interface Owner {
  /** Gives the folder up. Doing so twice is fine. */
  release(): Promise<void>
}

/** Another owner has the folder, perhaps in this very process. */
export class DirectoryInUse extends PawlError {
  constructor(folder: string, note: OwnerNote | null) {
    const who =
      note === null
        ? 'an unknown owner (its OWNER file cannot be read)'
        : `process ${note.pid} on host ${note.host} since ${new Date(note.since).toISOString()}`
    const doubt =
      note === null ? ' If no process has it open, its file system may lack working locks.' : ''
    super(
      'DirectoryInUse',
      'rejected',
      `The folder ${folder} is in use by ${who}. Only one owner may have it open: close it ` +
        `there, or end that process, or give this one another folder.${doubt}`,
      {
        folder,
        pid: note?.pid ?? null,
        host: note?.host ?? null,
        since: note?.since ?? null,
      },
    )
  }
}

/** The folder cannot be locked, by any process. */
export class DirectoryNotUsable extends PawlError {
  constructor(folder: string, why: string, cause?: unknown) {
    super(
      'DirectoryNotUsable',
      'rejected',
      `The folder ${folder} cannot be used: ${why}`,
      { folder },
      cause,
    )
  }
}

const LATEST_DATE = 8.64e15

/** `note` is what others are told about the new owner. The folder must exist. */
export async function takeOwnership(folder: string, note: OwnerNote): Promise<Owner> {
  // SQLite takes a relative path that begins with `file:` for an address.
  const root = resolve(folder)
  await checkFolder(root)
  await checkLockFile(root)
  const lock = await takeLock(root)
  try {
    await writeNote(root, note)
  } catch (error) {
    lock.release()
    const why = `the file OWNER cannot be written there (${messageOf(error)}).`
    throw new DirectoryNotUsable(root, why, error)
  }
  let released: Promise<void> | null = null
  return {
    release() {
      released ??= release(root, lock)
      return released
    },
  }
}

async function release(root: string, lock: FileLock): Promise<void> {
  // BEFORE the lock is free: afterwards it may be the note of the next owner. One that stays
  // does no harm.
  await rm(join(root, 'OWNER'), { force: true }).catch(() => {})
  lock.release()
}

async function checkFolder(root: string): Promise<void> {
  try {
    const found = await stat(root)
    if (!found.isDirectory()) throw new DirectoryNotUsable(root, 'it is not a folder.')
    await access(root, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch (error) {
    if (error instanceof DirectoryNotUsable) throw error
    const missing = (error as NodeJS.ErrnoException).code === 'ENOENT'
    const why = missing
      ? 'it does not exist. Create it first.'
      : `this process may not write there (${messageOf(error)}).`
    throw new DirectoryNotUsable(root, why, error)
  }
}

/**
 * SQLite would refuse foreign bytes, or worse, take them for a database in a mode that locks
 * otherwise. Emptying or removing the file here could free the lock of a living owner, so a
 * person must do it.
 */
async function checkLockFile(root: string): Promise<void> {
  const found = await stat(join(root, 'LOCK')).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw new DirectoryNotUsable(root, `its file LOCK is out of reach (${error.message}).`, error)
  })
  if (found === null || (found.isFile() && found.size === 0)) return
  const what = found.isFile() ? 'is not empty, so something else wrote to it' : 'is not a file'
  throw new DirectoryNotUsable(
    root,
    `its LOCK ${what}. Nothing in it is needed: first end every process that uses the folder, ` +
      'then remove LOCK and open the folder again.',
  )
}

async function takeLock(root: string): Promise<FileLock> {
  let lock: FileLock | null
  try {
    lock = tryLockFile(join(root, 'LOCK'))
  } catch (error) {
    if (error instanceof SqliteMissing) throw error
    const why =
      `its file LOCK cannot be locked (${messageOf(error)}). Check that this process may write ` +
      'to it, that the disk is not full, and that the file system has locks.'
    throw new DirectoryNotUsable(root, why, error)
  }
  if (lock === null) throw new DirectoryInUse(root, await readNote(root))
  return lock
}

async function writeNote(root: string, note: OwnerNote): Promise<void> {
  const { pid, host, since } = note
  const fresh = join(root, 'OWNER.new')
  await writeFile(fresh, `${JSON.stringify({ pid, host, since })}\n`)
  await rename(fresh, join(root, 'OWNER'))
}

/** Null if there is none, or not a proper one. Right after a change it may name the last owner. */
async function readNote(root: string): Promise<OwnerNote | null> {
  try {
    const { pid, host, since } = JSON.parse(await readFile(join(root, 'OWNER'), 'utf8')) as Partial<
      Record<string, unknown>
    >
    if (typeof pid !== 'number' || typeof host !== 'string' || typeof since !== 'number') {
      return null
    }
    return Math.abs(since) <= LATEST_DATE ? { pid, host, since } : null
  } catch {
    return null
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
