/**
 * Files that are open for reading: opened once and kept, a few at a time.
 *
 * A file that is in use is not closed: it goes when its last user is done. So one that is
 * closed, or the whole lot, can be let go at any time, and whoever comes later opens anew.
 */
import type { Disk, DiskFile } from './port.ts'

const MOST_FILES = 16

interface OpenFile {
  readonly file: Promise<DiskFile>
  users: number
  /** Nobody finds it any more. */
  isRetired: boolean
}

export class OpenFiles {
  readonly #disk: Disk
  /** Oldest first. */
  readonly #files = new Map<string, OpenFile>()
  readonly #closing = new Set<Promise<void>>()
  #isClosed = false

  constructor(disk: Disk) {
    this.#disk = disk
  }

  async use<T>(path: string, task: (file: DiskFile) => Promise<T>): Promise<T> {
    const open = this.#files.get(path) ?? this.#open(path)
    open.users += 1
    try {
      return await task(await open.file)
    } finally {
      open.users -= 1
      if (open.isRetired && open.users === 0) await this.#letGo(open)
    }
  }

  /** Later uses open their file for themselves. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const [path, open] of this.#files) this.#retire(path, open)
    await Promise.all(this.#closing)
  }

  #open(path: string): OpenFile {
    const open = { file: this.#disk.open(path, 'read'), users: 0, isRetired: this.#isClosed }
    if (this.#isClosed) return open
    this.#files.set(path, open)
    // One that failed is tried again by whoever asks next.
    open.file.catch(() => this.#files.delete(path))
    const [oldest] = this.#files
    if (this.#files.size > MOST_FILES && oldest !== undefined) this.#retire(...oldest)
    return open
  }

  #retire(path: string, open: OpenFile): void {
    this.#files.delete(path)
    open.isRetired = true
    if (open.users === 0) void this.#letGo(open)
  }

  async #letGo(open: OpenFile): Promise<void> {
    const closing = close(open)
    this.#closing.add(closing)
    await closing
    this.#closing.delete(closing)
  }
}

/** Nothing was written through it, so nothing is lost if this fails. */
async function close({ file }: OpenFile): Promise<void> {
  try {
    await (await file).close()
  } catch {
    // It was never open, or it is closed now.
  }
}
