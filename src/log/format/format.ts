/**
 * The bytes of the log: where everything stands. `docs/log-format.md` is the same in words.
 *
 * A log is one long line of bytes, cut into segment files. A position counts it in units of
 * 8 bytes from the very beginning, so it says where an entry stands, whatever file that is in.
 *
 *   segment   head (64 of the first 4,096 bytes), then groups, then zeros
 *   group     head (64), records, zeros, trailer (8); as a whole a multiple of 64
 *   record    head (16), body, zeros; as a whole a multiple of 8
 *
 * A group is what was made durable together. Each one is written only AFTER the one before is
 * durable, so a group that is there proves all that stand before it.
 */
import { checksumOf } from './checksum.ts'

/** Older readers refuse newer formats; newer readers keep reading older ones. */
export const FORMAT = 1

export const UNIT = 8
export const SEGMENT_HEAD = 4_096
export const GROUP_HEAD = 64
export const GROUP_ALIGN = 64
export const TRAILER = 8
export const RECORD_HEAD = 16
/** The least that a disk writes or loses. */
export const SECTOR = 512

const SEGMENT_MAGIC = 'PAWL-LOG'
const SEGMENT_HEAD_USED = 64
const RECORD_MAGIC = 0x9a5c
const GROUP_MAGIC = 0x50_41_57_4c
const GROUP_END = 0xa7_96_85_74
/** Never zero, and far from it, so that a trailer of zeros is one that was not written. */
const TRAILER_WORD = 0x5a_c3_96_3c

/** Record codes from here on belong to the log itself; those below are entry types. */
export const MARKER_CODE = 0x80

export interface SegmentHead {
  readonly format: number
  /** Position of the first byte after the head. */
  readonly base: number
  /** Checksum of the last record before; 0 at the beginning of the log. */
  readonly link: number
  /** The size that the file was made with. */
  readonly size: number
  /** The same in all files of one store: 16 bytes as hex. */
  readonly storeId: string
  /** The authority's time when the segment was begun: everything before it is older. */
  readonly begunAt: number
}

export interface GroupHead {
  readonly position: number
  /** Of the whole group. */
  readonly bytes: number
  /** Of head and records, before padding and trailer. */
  readonly used: number
  readonly entries: number
  /** Sectors' shares of this group that are zeros by nature, and so do not mean that they are lost. */
  readonly blanks: number
}

export interface RecordHead {
  readonly checksum: number
  readonly length: number
  readonly link: number
  readonly code: number
  readonly version: number
}

export function alignUp(value: number, to: number): number {
  const beyond = value % to
  return beyond === 0 ? value : value + to - beyond
}

/** A few lines instead of a call into native code: it is done several times for each record. */
function putWord(bytes: Buffer, at: number, value: number): void {
  bytes[at] = value
  bytes[at + 1] = value >>> 8
  bytes[at + 2] = value >>> 16
  bytes[at + 3] = value >>> 24
}

/** 16 hex digits, so that names sort as positions do. */
export function segmentName(base: number): string {
  return `log-${base.toString(16).padStart(16, '0')}`
}

/** The position in a segment's name; null if it is no segment's. */
export function segmentBase(name: string): number | null {
  const digits = /^log-([0-9a-f]{16})$/.exec(name)?.[1]
  return digits === undefined ? null : Number.parseInt(digits, 16)
}

export function offsetOf(base: number, position: number): number {
  return SEGMENT_HEAD + (position - base) * UNIT
}

export function positionOf(base: number, offset: number): number {
  return base + (offset - SEGMENT_HEAD) / UNIT
}

export function encodeSegmentHead(head: SegmentHead): Buffer {
  const bytes = Buffer.alloc(SEGMENT_HEAD_USED)
  bytes.write(SEGMENT_MAGIC, 0, 'latin1')
  bytes.writeUInt32LE(head.format, 8)
  bytes.writeUInt32LE(head.link, 12)
  bytes.writeDoubleLE(head.base, 16)
  bytes.writeDoubleLE(head.size, 24)
  bytes.write(head.storeId, 32, 'hex')
  bytes.writeDoubleLE(head.begunAt, 48)
  bytes.writeUInt32LE(checksumOf(bytes, 0, 60), 60)
  return bytes
}

/** Null: these bytes are no head. The format is told even when the rest may mean something else. */
export function decodeSegmentHead(bytes: Buffer): SegmentHead | null {
  if (bytes.length < SEGMENT_HEAD_USED) return null
  if (bytes.toString('latin1', 0, 8) !== SEGMENT_MAGIC) return null
  if (bytes.readUInt32LE(60) !== checksumOf(bytes, 0, 60)) return null
  return {
    format: bytes.readUInt32LE(8),
    link: bytes.readUInt32LE(12),
    base: bytes.readDoubleLE(16),
    size: bytes.readDoubleLE(24),
    storeId: bytes.toString('hex', 32, 48),
    begunAt: bytes.readDoubleLE(48),
  }
}

/** Writes a record's head around a body that is there already. What follows it: its end, aligned. */
export function sealRecord(
  bytes: Buffer,
  start: number,
  end: number,
  link: number,
  code: number,
  version: number,
): number {
  putWord(bytes, start + 4, end - start - RECORD_HEAD)
  putWord(bytes, start + 8, link)
  putWord(bytes, start + 12, code | (version << 8) | (RECORD_MAGIC << 16))
  const checksum = checksumOf(bytes, start + 4, end)
  putWord(bytes, start, checksum)
  return checksum
}

/** Null: there is no whole record here. */
export function readRecordHead(bytes: Buffer, at: number, end: number): RecordHead | null {
  if (at + RECORD_HEAD > end || bytes.readUInt16LE(at + 14) !== RECORD_MAGIC) return null
  const length = bytes.readUInt32LE(at + 4)
  if (at + RECORD_HEAD + length > end) return null
  const checksum = bytes.readUInt32LE(at)
  if (checksum !== checksumOf(bytes, at + 4, at + RECORD_HEAD + length)) return null
  return {
    checksum,
    length,
    link: bytes.readUInt32LE(at + 8),
    code: bytes[at + 12] as number,
    version: bytes[at + 13] as number,
  }
}

/** How long a record claims to be, judged by nothing but its head's form; null: not a record's head. */
export function claimedLength(bytes: Buffer, at: number): number | null {
  if (at + RECORD_HEAD > bytes.length || bytes.readUInt16LE(at + 14) !== RECORD_MAGIC) return null
  return bytes.readUInt32LE(at + 4)
}

export function recordEnd(at: number, length: number): number {
  return alignUp(at + RECORD_HEAD + length, UNIT)
}

/** The size of a group whose head and records take so many bytes. */
export function groupBytes(used: number): number {
  return alignUp(used + TRAILER, GROUP_ALIGN)
}

/** Head and trailer around records that are there already; `bytes` is the whole group. */
export function sealGroup(
  bytes: Buffer,
  position: number,
  offset: number,
  used: number,
  entries: number,
): void {
  bytes.fill(0, used)
  bytes.writeUInt32LE(TRAILER_WORD, bytes.length - 8)
  bytes.writeUInt32LE(TRAILER_WORD, bytes.length - 4)
  bytes.fill(0, 0, GROUP_HEAD)
  bytes.writeUInt32LE(GROUP_MAGIC, 4)
  bytes.writeDoubleLE(position, 8)
  bytes.writeUInt32LE(bytes.length, 16)
  bytes.writeUInt32LE(used, 20)
  bytes.writeUInt32LE(entries, 24)
  bytes.writeUInt32LE(GROUP_END, 60)
  bytes.writeUInt32LE(countBlanks(bytes, offset), 28)
  bytes.writeUInt32LE(checksumOf(bytes, 4, GROUP_HEAD), 0)
}

/** Null: there is no whole head here. */
export function readGroupHead(bytes: Buffer, at: number): GroupHead | null {
  if (at + GROUP_HEAD > bytes.length || bytes.readUInt32LE(at + 4) !== GROUP_MAGIC) return null
  if (bytes.readUInt32LE(at) !== checksumOf(bytes, at + 4, at + GROUP_HEAD)) return null
  return {
    position: bytes.readDoubleLE(at + 8),
    bytes: bytes.readUInt32LE(at + 16),
    used: bytes.readUInt32LE(at + 20),
    entries: bytes.readUInt32LE(at + 24),
    blanks: bytes.readUInt32LE(at + 28),
  }
}

/** Judged by its form alone. */
export function isGroupHead(bytes: Buffer, at: number): boolean {
  return (
    at + GROUP_HEAD <= bytes.length &&
    bytes.readUInt32LE(at + 4) === GROUP_MAGIC &&
    bytes.readUInt32LE(at + 60) === GROUP_END
  )
}

/** A head ends with a byte that is never zero: if it is, the end was not written. */
export function headEndMissing(bytes: Buffer, at: number): boolean {
  return at + GROUP_HEAD > bytes.length || bytes[at + GROUP_HEAD - 1] === 0
}

export function hasTrailer(bytes: Buffer, end: number): boolean {
  return (
    end <= bytes.length &&
    bytes.readUInt32LE(end - 8) === TRAILER_WORD &&
    bytes.readUInt32LE(end - 4) === TRAILER_WORD
  )
}

export function trailerMissing(bytes: Buffer, end: number): boolean {
  return end > bytes.length || bytes[end - 1] === 0
}

/** How many sectors' shares of a group are zeros through and through; it stands at `offset` in its file. */
export function countBlanks(group: Buffer, offset: number): number {
  let blanks = 0
  let from = 0
  let to = SECTOR - (offset % SECTOR)
  while (from < group.length) {
    if (isZero(group, from, Math.min(to, group.length))) blanks += 1
    from = to
    to += SECTOR
  }
  return blanks
}

const ZEROS = Buffer.alloc(64 * 1_024)

export function isZero(bytes: Buffer, from: number, to: number): boolean {
  for (let at = from; at < to; at += ZEROS.length) {
    const end = Math.min(to, at + ZEROS.length)
    if (bytes.compare(ZEROS, 0, end - at, at, end) !== 0) return false
  }
  return true
}

/** Behind the last byte that is not zero; `from` if there is none. */
export function contentEnd(bytes: Buffer, from: number): number {
  let end = Math.max(from, bytes.length)
  while (end - ZEROS.length > from && isZero(bytes, end - ZEROS.length, end)) end -= ZEROS.length
  while (end > from && bytes[end - 1] === 0) end -= 1
  return end
}
