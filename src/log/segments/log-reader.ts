/**
 * Reads entries that are durable, from anywhere in the log: one by its position, or one after
 * the other.
 *
 * Every record is checked again when it is read.
 */
import type { Entry } from '../../kernel/index.ts'
import { ByteReader } from '../format/bytes.ts'
import type { RecordHead } from '../format/format.ts'
import { CorruptLog, NoSuchPosition } from '../errors.ts'
import {
  alignUp,
  claimedLength,
  GROUP_ALIGN,
  GROUP_HEAD,
  isGroupHead,
  offsetOf,
  positionOf,
  readRecordHead,
  RECORD_HEAD,
  recordEnd,
  TRAILER,
  MARKER_CODE,
  UNIT,
} from '../format/format.ts'
import { Interning } from '../format/interning.ts'
import type { Disk, DiskFile } from '../disk/disk.ts'
import { readNowUpTo, readUpTo } from '../disk/disk.ts'
import type { Segment } from './segments.ts'
import { upcast } from '../format/versions.ts'

export interface LoggedEntry {
  readonly position: number
  readonly entry: Entry
  /** The position of the job's entry before; 0: there is none. */
  readonly before: number
}

const WINDOW_BYTES = 64 * 1_024
/** Of a window that ends with a record: more than most records take. */
const LAST_RECORD_BYTES = 1_024

/** A piece of a segment, from an offset of its file on. */
interface LinkWindow {
  readonly segment: Segment
  readonly start: number
  readonly bytes: Buffer
}

/** Whether the whole record that begins at an offset is in a window. */
function isWithin({ segment, start, bytes }: LinkWindow, of: Segment, offset: number): boolean {
  if (segment !== of || offset < start) return false
  const length = claimedLength(bytes, offset - start)
  return length !== null && recordEnd(offset - start, length) <= bytes.length
}

/** The bytes of an entry's record, as an entry. */
export function decodeEntry(
  bytes: Buffer,
  body: number,
  length: number,
  code: number,
  version: number,
  position: number,
  interning: Interning,
): LoggedEntry {
  const reader = new ByteReader(bytes, body, body + length)
  const back = reader.count()
  const entry = upcast(reader, code, version, interning)
  if (reader.at !== reader.end) throw reader.malformed('more bytes than its entry has')
  return { position, entry, before: back === 0 ? 0 : position - back }
}

/** The entry at a position that is durable, from the file of its segment, at once. */
export function readEntryNow(
  segment: Segment,
  file: DiskFile,
  position: number,
  interning: Interning,
): LoggedEntry {
  const offset = offsetOf(segment.head.base, position)
  const head = readNowUpTo(file, offset, RECORD_HEAD)
  const claimed = claimedLength(head, 0)
  const bytes = claimed === null ? head : readNowUpTo(file, offset, recordEnd(0, claimed))
  const record = readRecordHead(bytes, 0, bytes.length)
  if (record === null) {
    throw new CorruptLog({ file: segment.path, offset, position }, 'no whole record stands there.')
  }
  const { length, code, version } = record
  return decodeEntry(bytes, RECORD_HEAD, length, code, version, position, interning)
}

/** Whether an entry is wanted, by what it begins with: its type, its time, the job or other thing it is about; and by its place. */
export type EntryFilter = (code: number, at: number, subject: string, position: number) => boolean

const EVERY: EntryFilter | null = null

export class LogReader {
  readonly #segments: () => readonly Segment[]
  readonly #interning = new Interning()
  readonly #head = new ByteReader(Buffer.alloc(0))
  readonly #files: OpenFiles

  /** `segments`: those that there are now, in order. */
  constructor(disk: Disk, segments: () => readonly Segment[]) {
    this.#files = new OpenFiles(disk)
    this.#segments = segments
  }

  /** The oldest position that is still kept. */
  get begin(): number {
    return this.#segments()[0]?.head.base ?? 0
  }

  /** The entry at a position; null if that is before everything that is kept. */
  async at(position: number): Promise<LoggedEntry | null> {
    const segment = this.#segmentOf(position)
    if (segment === null) return null
    const offset = offsetOf(segment.head.base, position)
    const bytes = await this.#window(segment, offset, 1_024)
    return this.#decode(segment, bytes, 0, offset)
  }

  /**
   * Says of an entry, by its position, where its job's entry before it stands; 0: there is none. Null: the entry is before
   * everything that is kept. Made for one walk along a job: entries that stand close together are read together.
   */
  links(): (position: number) => Promise<number | null> {
    let window: LinkWindow | null = null
    let last = Infinity
    return async (position) => {
      const segment = this.#segmentOf(position)
      if (segment === null) return null
      const offset = offsetOf(segment.head.base, position)
      const isClose = last - position < WINDOW_BYTES / UNIT
      last = position
      if (window === null || !isWithin(window, segment, offset)) {
        window = isClose ? await this.#windowBefore(segment, offset) : null
      }
      if (window === null) return (await this.at(position))?.before ?? null
      const { length } = this.#recordAt(segment, window.bytes, offset - window.start, offset)
      const body = offset - window.start + RECORD_HEAD
      this.#head.reset(window.bytes, body, body + length)
      const back = this.#head.count()
      return back === 0 ? 0 : position - back
    }
  }

  /**
   * Some of the entries behind a position, or from the beginning if it is 0, that stand before
   * `until`, and where to go on; none: there are no more.
   */
  async after(position: number, until: number): Promise<{ entries: LoggedEntry[]; next: number }> {
    return this.from(position === 0 ? this.begin : await this.#behind(position), until)
  }

  /**
   * Goes on at a place that `after` named, or at one where a segment or a record begins. Entries that are
   * not wanted are checked, and not decoded: that is several times as quick.
   */
  async from(
    place: number,
    until: number,
    isWanted: EntryFilter | null = EVERY,
  ): Promise<{ entries: LoggedEntry[]; next: number }> {
    const entries: LoggedEntry[] = []
    let next = place
    while (entries.length === 0 && next < until) {
      next = await this.#readFrom(next, until, entries, isWanted)
    }
    return { entries, next }
  }

  /** To be called when the segment is no longer listed, and BEFORE its file is removed. */
  async drop(segment: Segment): Promise<void> {
    await this.#files.drop(segment)
  }

  /** What is read later is read all the same, with files that are closed at once. */
  async close(): Promise<void> {
    await this.#files.close()
  }

  /** The place behind the entry at a position. */
  async #behind(position: number): Promise<number> {
    const segment = this.#segmentOf(position)
    if (segment === null) throw new NoSuchPosition(position)
    const offset = offsetOf(segment.head.base, position)
    const length = claimedLength(await this.#window(segment, offset, RECORD_HEAD), 0)
    if (length === null) throw new NoSuchPosition(position)
    return positionOf(segment.head.base, recordEnd(offset, length))
  }

  /** Reads one window. The place to go on. */
  async #readFrom(
    place: number,
    until: number,
    entries: LoggedEntry[],
    isWanted: EntryFilter | null,
  ): Promise<number> {
    const segment = this.#segmentOf(place)
    // It was removed meanwhile: to go on later would be to miss something.
    if (segment === null) throw new NoSuchPosition(place)
    const { base } = segment.head
    const start = offsetOf(base, place)
    // BEFORE waiting for the disk: the segment may be gone afterwards.
    const behind = this.#endOf(segment)
    const end = offsetOf(base, Math.min(until, behind))
    // Both windows from the same file: in between it may lose its name.
    return this.#files.use(segment, async (file) => {
      const next = await this.#readWindow(segment, file, start, end, entries, isWanted)
      return Math.min(positionOf(base, next), behind)
    })
  }

  /** Reads one window of a file, or one record that is larger. Where to go on. */
  async #readWindow(
    segment: Segment,
    file: DiskFile,
    start: number,
    end: number,
    entries: LoggedEntry[],
    isWanted: EntryFilter | null,
  ): Promise<number> {
    const bytes = await windowOf(segment, file, start, WINDOW_BYTES)
    let at = 0
    while (start + at < end) {
      // What is left of the window is too little to tell what it is; a new one shows, unless the
      // file ends here.
      if (at > 0 && at + GROUP_HEAD > bytes.length) break
      if (isGroupHead(bytes, at)) {
        at += GROUP_HEAD
        continue
      }
      const length = claimedLength(bytes, at)
      if (length === null) {
        // Padding and trailer: the next group begins where groups can begin.
        at = alignUp(start + at + TRAILER, GROUP_ALIGN) - start
        continue
      }
      if (recordEnd(at, length) > bytes.length) {
        if (entries.length > 0) break
        const whole = await windowOf(segment, file, start + at, recordEnd(0, length))
        this.#addEntry(segment, whole, 0, start + at, entries, isWanted)
        return recordEnd(start + at, length)
      }
      this.#addEntry(segment, bytes, at, start + at, entries, isWanted)
      at = recordEnd(at, length)
    }
    return start + at
  }

  #addEntry(
    segment: Segment,
    bytes: Buffer,
    at: number,
    offset: number,
    entries: LoggedEntry[],
    isWanted: EntryFilter | null,
  ): void {
    if (bytes[at + 12] === MARKER_CODE) return
    if (isWanted !== null && !this.#isWanted(segment, bytes, at, offset, isWanted)) return
    entries.push(this.#decode(segment, bytes, at, offset))
  }

  /** Every entry, of every version, begins with its time, its version and what it is about. */
  #isWanted(
    segment: Segment,
    bytes: Buffer,
    at: number,
    offset: number,
    isWanted: EntryFilter,
  ): boolean {
    const { length, code } = this.#recordAt(segment, bytes, at, offset)
    const head = this.#head
    head.reset(bytes, at + RECORD_HEAD, at + RECORD_HEAD + length)
    head.count()
    const time = head.time()
    head.count()
    return isWanted(code, time, head.text(), positionOf(segment.head.base, offset))
  }

  #recordAt(segment: Segment, bytes: Buffer, at: number, offset: number): RecordHead {
    const record = readRecordHead(bytes, at, bytes.length)
    if (record === null) throw this.#wrong(segment, offset)
    return record
  }

  #decode(segment: Segment, bytes: Buffer, at: number, offset: number): LoggedEntry {
    const { length, code, version } = this.#recordAt(segment, bytes, at, offset)
    const position = positionOf(segment.head.base, offset)
    return decodeEntry(bytes, at + RECORD_HEAD, length, code, version, position, this.#interning)
  }

  #wrong(segment: Segment, offset: number): CorruptLog {
    const position = positionOf(segment.head.base, offset)
    return new CorruptLog({ file: segment.path, offset, position }, 'no whole record stands there.')
  }

  #segmentOf(position: number): Segment | null {
    return this.#segments().findLast(({ head }) => head.base <= position) ?? null
  }

  #endOf(segment: Segment): number {
    const segments = this.#segments()
    return segments[segments.indexOf(segment) + 1]?.head.base ?? Infinity
  }

  /** What stands before the end of a record. Null: the record is too large for that. */
  async #windowBefore(segment: Segment, offset: number): Promise<LinkWindow | null> {
    return this.#files.use(segment, async (file) => {
      const start = Math.max(0, offset + LAST_RECORD_BYTES - WINDOW_BYTES)
      const bytes = await readUpTo(file, start, WINDOW_BYTES)
      const window = { segment, start, bytes }
      return isWithin(window, segment, offset) ? window : null
    })
  }

  async #window(segment: Segment, offset: number, least: number): Promise<Buffer> {
    return this.#files.use(segment, (file) => windowOf(segment, file, offset, least))
  }
}

/** At least `least` bytes if the file has them, and the whole of a record that begins here. */
async function windowOf(
  segment: Segment,
  file: DiskFile,
  offset: number,
  least: number,
): Promise<Buffer> {
  const bytes = await readUpTo(file, offset, least)
  const length = claimedLength(bytes, 0)
  if (length === null || recordEnd(0, length) <= bytes.length) return bytes
  return readUpTo(file, offset, Math.min(recordEnd(0, length), segment.head.size - offset))
}

const MOST_FILES = 16

interface OpenFile {
  readonly file: Promise<DiskFile>
  users: number
  /** Later readers do not find it any more. */
  isRetired: boolean
}

/**
 * Segments that are open for reading: opened once and kept, a few at a time.
 *
 * A file that is in use is closed AFTER its last user is done. So one file, or all of them, can be
 * dropped at any time, and a later reader opens it anew.
 *
 * They are known by their segments and not by their names: a segment that is still empty may be
 * replaced by a larger one of the same name, and the old file says nothing of what is in that.
 */
class OpenFiles {
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
      if (open.isRetired && open.users === 0) await this.#closeFile(open)
    }
  }

  /** To be called BEFORE a file is removed. Readers that use it go on, and it is closed after them. */
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
    // One that failed is opened again for the next reader.
    file.catch(() => this.#files.delete(segment))
    const [oldest] = this.#files
    if (this.#files.size > MOST_FILES && oldest !== undefined) this.#retire(...oldest)
    return open
  }

  #retire(segment: Segment, open: OpenFile): void {
    this.#files.delete(segment)
    open.isRetired = true
    if (open.users === 0) void this.#closeFile(open)
  }

  async #closeFile(open: OpenFile): Promise<void> {
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
