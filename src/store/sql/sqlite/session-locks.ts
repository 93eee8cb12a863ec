/**
 * The lock files of the processes on a SQLite file, in a folder of their own: one for each session.
 *
 * - held: the process holds its file locked from BEFORE its first claim until it ends or is closed, and
 *   never opens it again.
 * - free: the file is there and no process has it locked. Its process is dead.
 * - absent: nothing is known. The process was closed, or another one found it dead and removed the file.
 *
 * A file gets its name only once it is locked: no process can find it free before that.
 */
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { FileLock } from '../../../log/index.ts'
import { tryLockFile } from '../../../log/index.ts'

const LOCK = '.lock'
const NEW = '.new'

export class SessionLocks {
  readonly #folder: string
  readonly #own: string
  #lock: FileLock | null = null

  /** `own`: the session of this process. */
  constructor(folder: string, own: string) {
    this.#folder = folder
    this.#own = own
  }

  get isHeld(): boolean {
    return this.#lock !== null
  }

  /** Throws what the system says if it cannot be locked. */
  hold(): void {
    mkdirSync(this.#folder, { recursive: true })
    const path = this.#pathOf(this.#own)
    this.#lock = tryLockFile(`${path}${NEW}`)
    renameSync(`${path}${NEW}`, path)
  }

  /** Sessions that have a file, in order, this process's among them. */
  list(): string[] {
    return readdirSync(this.#folder)
      .filter((name) => name.endsWith(LOCK))
      .map((name) => name.slice(0, -LOCK.length))
      .toSorted()
  }

  /** Whether its process is known to be dead. Of its own it is known that it lives. */
  isFree(session: string): boolean {
    if (session === this.#own) return false
    const path = this.#pathOf(session)
    // Absent is unknown, and to try the lock would make the file.
    if (!existsSync(path)) return false
    try {
      const lock = tryLockFile(path)
      lock?.release()
      return lock !== null
    } catch {
      // It cannot be locked by this process: nothing is known.
      return false
    }
  }

  /**
   * Dead sessions among those that come behind this one, around the end of the list, up to the first that
   * lives. Each process asks about its neighbours only, and together they ask about all.
   */
  deadNeighbours(): string[] {
    const all = this.list()
    const at = all.indexOf(this.#own) + 1
    const others = [...all.slice(at), ...all.slice(0, at)].filter((one) => one !== this.#own)
    const living = others.findIndex((session) => !this.isFree(session))
    return living < 0 ? others : others.slice(0, living)
  }

  /** Of a session that is dead. */
  remove(session: string): void {
    rmSync(this.#pathOf(session), { force: true })
  }

  release(): void {
    if (this.#lock === null) return
    // BEFORE the lock is free: another process would find it free, and take this one for dead.
    this.remove(this.#own)
    this.#lock.release()
    this.#lock = null
  }

  #pathOf(session: string): string {
    return join(this.#folder, `${session}${LOCK}`)
  }
}
