/**
 * Segments that are open for reading: opened once and kept, a few at a time.
 *
 * A file that is in use is not closed: it goes when its last user is done. So one that is
 * dropped, or the whole lot, can be let go at any time, and whoever comes later opens anew.
 *
 * They are known by their segments and not by their names: a segment that is still empty may be
 * replaced by a larger one of the same name, and the old file says nothing of what is in that.
 */
import type { Disk, DiskFile } from '../disk/disk.ts'
import type { Segment } from './segments.ts'

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
  readonly #files = new Map<Segment, OpenFile>()
  readonly #closing = new Set<Promise<void>>()
  #isClosed = false

  constructor(disk: Disk) {
    this.#disk = disk
  }

  async use<T>(segment: Segment, task: (file: DiskFile) => Promise<T>): Promise<T> {
    const open = this.#files.get(segment) ?? this.#open(segment)
    open.users += 1
    try {
      return await task(await open.file)
    } finally {
      open.users -= 1
      if (open.isRetired && open.users === 0) await this.#letGo(open)
    }
  }

  /** To be called before a file is removed. Those who use it go on, and it is closed after them. */
  async drop(segment: Segment): Promise<void> {
    const open = this.#files.get(segment)
    if (open === undefined) return
    this.#retire(segment, open)
    // While it is being opened it needs its name.
    await open.file.catch(() => undefined)
    await Promise.all(this.#closing)
  }

  /** Later uses open their file for themselves. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const [segment, open] of this.#files) this.#retire(segment, open)
    await Promise.all(this.#closing)
  }

  #open(segment: Segment): OpenFile {
    const file = this.#disk.open(segment.path, 'read')
    const open = { file, users: 0, isRetired: this.#isClosed }
    if (this.#isClosed) return open
    this.#files.set(segment, open)
    // One that failed is tried again by whoever asks next.
    file.catch(() => this.#files.delete(segment))
    const [oldest] = this.#files
    if (this.#files.size > MOST_FILES && oldest !== undefined) this.#retire(...oldest)
    return open
  }

  #retire(segment: Segment, open: OpenFile): void {
    this.#files.delete(segment)
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
