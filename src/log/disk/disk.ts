/**
 * The port to the disk: everything that the log asks of it, and nothing else.
 *
 * Two disks stand behind it: the real one (`real-disk.ts`) and, in the tests, a simulated one
 * that fails at any call and loses power at any moment.
 *
 * What a disk promises:
 * - What was written through, or written and then synced, is there after a power loss.
 * - What was written and not synced may be there or not, sector by sector (512 bytes); a
 *   sector is never half old and half new.
 * - A file that was created, renamed or removed may come back as it was, until its folder was
 *   synced.
 * A call that fails throws an error with a `code` such as ENOSPC or EIO. Paths are absolute.
 */
import { crc32 } from './crc32.ts'

/** No system reads 2 GiB or more in one call. */
const MOST_AT_ONCE = 1_024 * 1_024 * 1_024
/** Read or copied at once: small enough that a checksum over it does not hold up the event loop. */
const PIECE_BYTES = 1_024 * 1_024
const ZEROS = Buffer.alloc(PIECE_BYTES)

export interface Disk {
  /** Creates a folder and its parents; one that exists is fine. */
  makeFolder(path: string): Promise<void>
  /** Names of the files and folders in a folder, sorted; none if there is no such folder. */
  list(folder: string): Promise<string[]>
  open(path: string, access: Access): Promise<DiskFile>
  /** Replaces `to` if it exists, at once and whole. */
  rename(from: string, to: string): Promise<void>
  /** One that is not there is fine. */
  remove(path: string): Promise<void>
  /** Makes what happened to the names in a folder durable. */
  syncFolder(path: string): Promise<void>
}

/**
 * - read: of a file that exists.
 * - write: reads and writes a file that exists.
 * - write-through: as `write`, but a write is durable when it returns.
 * - create: makes a new, empty file, which must not exist, to read and write.
 */
export type Access = 'read' | 'write' | 'write-through' | 'create'

export interface DiskFile {
  size(): Promise<number>
  /** How many bytes were read: fewer than asked for only at the end of the file. */
  read(into: Uint8Array, at: number): Promise<number>
  /** The same at once, for the few bytes that a decision cannot wait for. */
  readNow(into: Uint8Array, at: number): number
  /** How many bytes were written: perhaps fewer than given, never none. */
  write(bytes: Uint8Array, at: number): Promise<number>
  /** The same at once, for a few bytes that need not be durable. */
  writeNow(bytes: Uint8Array, at: number): number
  /** Makes everything that was written to this file durable, its size included. */
  sync(): Promise<void>
  close(): Promise<void>
}

/** Opens a file for a task, and closes it AFTER the task, whatever came of it. */
export async function withFile<T>(
  disk: Disk,
  path: string,
  access: Access,
  task: (file: DiskFile) => Promise<T>,
): Promise<T> {
  const file = await disk.open(path, access)
  try {
    return await task(file)
  } finally {
    await file.close()
  }
}

/** Writes all of it, however many bytes the disk takes at a time. */
export async function writeAll(file: DiskFile, bytes: Uint8Array, at: number): Promise<void> {
  let done = 0
  while (done < bytes.length) {
    done += await file.write(done === 0 ? bytes : bytes.subarray(done), at + done)
  }
}

/** Reads as much as there is; the result is shorter than asked for only at the end of the file. */
export async function readUpTo(file: DiskFile, at: number, length: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(length)
  let done = 0
  while (done < length) {
    const piece = bytes.subarray(done, Math.min(length, done + MOST_AT_ONCE))
    const count = await file.read(piece, at + done)
    if (count === 0) break
    done += count
  }
  return bytes.subarray(0, done)
}

/** The same at once, for what a decision cannot wait for. */
export function readNowUpTo(file: DiskFile, at: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(length)
  let done = 0
  while (done < length) {
    const count = file.readNow(bytes.subarray(done), at + done)
    if (count === 0) break
    done += count
  }
  return bytes.subarray(0, done)
}

/** A file of one piece, in place of the old one at once: all of it, or the old one stays. */
export async function replaceFile(disk: Disk, path: string, bytes: Uint8Array): Promise<void> {
  const folder = path.slice(0, path.lastIndexOf('/'))
  const fresh = `${path}.new`
  await disk.remove(fresh)
  await withFile(disk, fresh, 'create', async (file) => {
    await writeAll(file, bytes, 0)
    // BEFORE the rename: a name must never stand for bytes that are not there.
    await file.sync()
  })
  await disk.rename(fresh, path)
  await disk.syncFolder(folder)
}

export async function writeZeros(file: DiskFile, from: number, to: number): Promise<void> {
  for (let at = from; at < to; at += ZEROS.length) {
    await writeAll(file, ZEROS.subarray(0, Math.min(ZEROS.length, to - at)), at)
  }
}

/**
 * Copies a file, durably but for its name. `upTo`: the bytes behind it become zeros, up to `size`;
 * null: all of it is copied. `read` reads a piece.
 */
export async function copyFile(
  disk: Disk,
  from: string,
  to: string,
  upTo: { readonly bytes: number; readonly size: number } | null,
  read = readUpTo,
): Promise<void> {
  await withFile(disk, from, 'read', async (source) => {
    const end = upTo?.bytes ?? (await source.size())
    await disk.remove(to)
    await withFile(disk, to, 'create', async (target) => {
      for (let at = 0; at < end; at += PIECE_BYTES) {
        await writeAll(target, await read(source, at, Math.min(PIECE_BYTES, end - at)), at)
      }
      // Written, not left as a hole: later writes into it must need no room.
      if (upTo !== null) await writeZeros(target, end, upTo.size)
      await target.sync()
    })
  })
}

/** Reads into memory of its own, piece by piece, with a checksum over all; null: it is too short. */
export async function readChecked(
  file: DiskFile,
  at: number,
  length: number,
): Promise<{ bytes: Buffer; checksum: number } | null> {
  // At an address that suits columns of 8-byte numbers.
  const bytes = Buffer.from(new ArrayBuffer(length))
  let checksum = 0
  for (let done = 0; done < length;) {
    const piece = bytes.subarray(done, Math.min(length, done + PIECE_BYTES))
    const count = await file.read(piece, at + done)
    if (count === 0) return null
    checksum = crc32(piece.subarray(0, count), checksum)
    done += count
  }
  return { bytes, checksum }
}
