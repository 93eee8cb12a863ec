/**
 * The disk port on the real disk, by `node:fs`.
 */
import { constants, readSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import type { FileHandle } from 'node:fs/promises'
import { mkdir, open, readdir, rename, rm } from 'node:fs/promises'
import type { Access, Disk, DiskFile } from './disk.ts'

const { O_CREAT, O_DSYNC, O_EXCL, O_RDONLY, O_RDWR } = constants

/** Not everywhere is there such a flag, and on macOS it leaves bytes in the cache of the drive. */
const HAS_WRITE_THROUGH = O_DSYNC !== undefined && process.platform !== 'darwin'

const FLAGS: Readonly<Record<Access, number>> = {
  read: O_RDONLY,
  write: O_RDWR,
  // Else every write is followed by a sync.
  'write-through': O_RDWR | (HAS_WRITE_THROUGH ? O_DSYNC : 0),
  create: O_RDWR | O_CREAT | O_EXCL,
}

class RealFile implements DiskFile {
  readonly #handle: FileHandle
  readonly #syncs: boolean

  constructor(handle: FileHandle, syncs: boolean) {
    this.#handle = handle
    this.#syncs = syncs
  }

  async size(): Promise<number> {
    return (await this.#handle.stat()).size
  }

  async read(into: Uint8Array, at: number): Promise<number> {
    return (await this.#handle.read(into, 0, into.length, at)).bytesRead
  }

  readNow(into: Uint8Array, at: number): number {
    return readSync(this.#handle.fd, into, 0, into.length, at)
  }

  async write(bytes: Uint8Array, at: number): Promise<number> {
    const { bytesWritten } = await this.#handle.write(bytes, 0, bytes.length, at)
    if (this.#syncs) await this.#handle.datasync()
    return bytesWritten
  }

  writeNow(bytes: Uint8Array, at: number): number {
    return writeSync(this.#handle.fd, bytes, 0, bytes.length, at)
  }

  async sync(): Promise<void> {
    await this.#handle.datasync()
  }

  async close(): Promise<void> {
    await this.#handle.close()
  }
}

async function syncFolder(path: string): Promise<void> {
  // Windows has no such thing, and needs none.
  if (process.platform === 'win32') return
  const handle = await open(path, O_RDONLY)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

export const realDisk: Disk = {
  async makeFolder(path) {
    const first = await mkdir(path, { recursive: true })
    if (first === undefined) return
    // A folder is there for good when the one above it says so.
    for (let at = path; at.length >= first.length; at = dirname(at)) {
      await syncFolder(dirname(at))
    }
  },

  async list(folder) {
    try {
      return (await readdir(folder)).toSorted()
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
      throw error
    }
  },

  async open(path, access) {
    const handle = await open(path, FLAGS[access])
    return new RealFile(handle, access === 'write-through' && !HAS_WRITE_THROUGH)
  },

  rename,

  async remove(path) {
    await rm(path, { force: true })
  },

  syncFolder,
}
