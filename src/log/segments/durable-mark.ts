/**
 * The durable mark: a file of its own that says how far the log is known to be durable.
 *
 * It is written AFTER a group is durable, and not synced each time, so it may lag behind, and
 * never runs ahead. A log that ends before it has lost something, and does not open.
 *
 * Two slots, each in a sector of its own, are written in turn: one of them is always whole.
 */
import { checksumOf } from '../format/checksum.ts'
import type { Disk, DiskFile } from '../disk/disk.ts'
import { readUpTo, replaceFile, withFile } from '../disk/disk.ts'

export const MARK_FILE = 'MARK'
const MAGIC = 'PAWL-MRK'
const SLOT_BYTES = 64
/** Where the slots stand that are written in turn. */
export const SLOT_OFFSETS = [0, 4_096] as const
const FILE_BYTES = 8_192

/** What the file says: `none` before a store's first moment, `damaged` when no slot is whole. */
export type MarkFound =
  | { readonly kind: 'none' }
  | { readonly kind: 'damaged' }
  | { readonly kind: 'mark'; readonly position: number; readonly storeId: string }

export async function createMark(disk: Disk, folder: string, storeId: string): Promise<void> {
  await replaceMark(disk, folder, storeId, 0)
}

/** A new file with this mark in both slots. */
export async function replaceMark(
  disk: Disk,
  folder: string,
  storeId: string,
  position: number,
): Promise<void> {
  await replaceFile(disk, `${folder}/${MARK_FILE}`, encodeMark(storeId, position))
}

/** A whole file, with this mark in both slots. */
export function encodeMark(storeId: string, position: number): Buffer {
  const bytes = Buffer.alloc(FILE_BYTES)
  for (const offset of SLOT_OFFSETS) encodeMarkSlot(storeId, position).copy(bytes, offset)
  return bytes
}

export async function findMark(disk: Disk, folder: string): Promise<MarkFound> {
  if (!(await disk.list(folder)).includes(MARK_FILE)) return { kind: 'none' }
  const path = `${folder}/${MARK_FILE}`
  return decodeMark(await withFile(disk, path, 'read', (file) => readUpTo(file, 0, FILE_BYTES)))
}

/** What a file with a mark says. */
export function decodeMark(bytes: Buffer): MarkFound {
  let best: MarkFound = { kind: 'damaged' }
  for (const offset of SLOT_OFFSETS) {
    const found = readSlot(bytes, offset)
    if (found === null) continue
    if (best.kind !== 'mark' || found.position > best.position) best = { kind: 'mark', ...found }
  }
  return best
}

export class Mark {
  readonly #file: DiskFile
  readonly #bytes: Buffer
  #next = 0

  private constructor(file: DiskFile, bytes: Buffer) {
    this.#file = file
    this.#bytes = bytes
  }

  static async open(disk: Disk, folder: string, storeId: string): Promise<Mark> {
    const file = await disk.open(`${folder}/${MARK_FILE}`, 'write')
    return new Mark(file, encodeMarkSlot(storeId, 0))
  }

  /** The log is durable up to here. */
  set(position: number): void {
    stamp(this.#bytes, position)
    const offset = SLOT_OFFSETS[this.#next] as number
    for (let done = 0; done < SLOT_BYTES;) {
      done += this.#file.writeNow(this.#bytes.subarray(done), offset + done)
    }
    this.#next = 1 - this.#next
  }

  async sync(): Promise<void> {
    await this.#file.sync()
  }

  async close(): Promise<void> {
    await this.#file.close()
  }
}

/** One slot. */
export function encodeMarkSlot(storeId: string, position: number): Buffer {
  const bytes = Buffer.alloc(SLOT_BYTES)
  bytes.write(MAGIC, 0, 'latin1')
  bytes.write(storeId, 16, 'hex')
  stamp(bytes, position)
  return bytes
}

function stamp(bytes: Buffer, position: number): void {
  bytes.writeDoubleLE(position, 8)
  bytes.writeUInt32LE(checksumOf(bytes, 0, SLOT_BYTES - 4), SLOT_BYTES - 4)
}

function readSlot(bytes: Buffer, at: number): { position: number; storeId: string } | null {
  if (at + SLOT_BYTES > bytes.length || bytes.toString('latin1', at, at + 8) !== MAGIC) return null
  const checksum = bytes.readUInt32LE(at + SLOT_BYTES - 4)
  if (checksum !== checksumOf(bytes, at, at + SLOT_BYTES - 4)) return null
  return {
    position: bytes.readDoubleLE(at + 8),
    storeId: bytes.toString('hex', at + 16, at + 32),
  }
}
