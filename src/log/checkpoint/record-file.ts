/**
 * A file of records, one behind the other, each linked to the one before: what checkpoints are
 * made of. Written once from beginning to end, then only read.
 *
 * It begins with 64 bytes that say what it is. Where its records end, how many there are and
 * the checksum of the last one stands in the manifest, so that a file
 * that is cut, or one that was mixed up with another, does not pass.
 */
import { ByteReader, ByteWriter } from '../format/bytes.ts'
import { CorruptLog, NewerFormat } from '../errors.ts'
import { checksumOf } from '../format/checksum.ts'
import {
  alignUp,
  claimedLength,
  readRecordHead,
  RECORD_HEAD,
  recordEnd,
  sealRecord,
  UNIT,
} from '../format/format.ts'
import type { Disk, DiskFile } from '../disk/disk.ts'
import { readUpTo, withFile, writeAll } from '../disk/disk.ts'

export const FILE_HEAD = 64
const MAGIC = 'PAWL-REC'
const CHUNK_BYTES = 1_024 * 1_024
const RECORD_CODE = 0x90
export const RECORD_VERSION = 1

/** What must be known of a file to read and check it. */
export interface RecordFile {
  readonly name: string
  readonly records: number
  /** Where the records end. */
  readonly end: number
  /** Checksum of the last one; 0 if there is none. */
  readonly link: number
}

export class RecordFileWriter {
  readonly name: string
  /** To read what was flushed. */
  readonly file: DiskFile
  readonly #writer = new ByteWriter(CHUNK_BYTES + 64 * 1_024)
  /** Bytes of the file that are written already. */
  #written = 0
  #link = 0
  #records = 0

  private constructor(name: string, file: DiskFile) {
    this.name = name
    this.file = file
    this.#writer.raw(headOf(name))
  }

  static async create(disk: Disk, folder: string, name: string): Promise<RecordFileWriter> {
    await disk.remove(`${folder}/${name}`)
    return new RecordFileWriter(name, await disk.open(`${folder}/${name}`, 'create'))
  }

  /** Where the next thing will stand. */
  get offset(): number {
    return this.#written + this.#writer.at
  }

  /** Adds a record; `write` puts its body. Its offset. */
  add(write: (writer: ByteWriter) => void): number {
    const writer = this.#writer
    const { offset } = this
    const start = writer.at
    writer.ensure(RECORD_HEAD)
    writer.at = start + RECORD_HEAD
    write(writer)
    const end = writer.at
    this.#link = sealRecord(writer.buffer, start, end, this.#link, RECORD_CODE, RECORD_VERSION)
    this.#records += 1
    const next = alignUp(end, UNIT)
    writer.ensure(UNIT)
    for (let at = end; at < next; at++) writer.buffer[at] = 0
    writer.at = next
    return offset
  }

  /** Adds bytes behind the records: `finish` was not called yet, `seal` was. */
  addBytes(bytes: Uint8Array): void {
    this.#writer.raw(bytes)
  }

  /** No more records. */
  seal(): RecordFile {
    return { name: this.name, records: this.#records, end: this.offset, link: this.#link }
  }

  get isFull(): boolean {
    return this.#writer.at >= CHUNK_BYTES
  }

  /** To be called when it is full, so that it does not grow without bound. */
  async flush(): Promise<void> {
    await writeAll(this.file, this.#writer.buffer.subarray(0, this.#writer.at), this.#written)
    this.#written += this.#writer.at
    this.#writer.at = 0
  }

  async finish(): Promise<void> {
    await this.flush()
    await this.file.sync()
    await this.file.close()
  }

  /** The file will not be used. */
  async abandon(): Promise<void> {
    await this.file.close().catch(() => undefined)
  }
}

function headOf(name: string): Buffer {
  const bytes = Buffer.alloc(FILE_HEAD)
  bytes.write(MAGIC, 0, 'latin1')
  bytes.write(name, 8, 'latin1')
  bytes.writeUInt32LE(checksumOf(bytes, 0, FILE_HEAD - 4), FILE_HEAD - 4)
  return bytes
}

export function damaged(path: string, offset: number, why: string): CorruptLog {
  return new CorruptLog({ file: path, offset, position: null }, why)
}

/** The record checks, so a larger version was written by a newer Pawl, which knew more than this one. */
export function mustBeKnown(path: string, version: number): void {
  if (version > RECORD_VERSION) throw new NewerFormat(path, version, RECORD_VERSION)
}

/** Called for each record; the bytes are only lent. */
export type OnFileRecord = (bytes: Buffer, body: number, length: number, offset: number) => void

/** Reads all records and checks each, the links, and that they are as many as there should be. */
export async function readRecords(
  disk: Disk,
  folder: string,
  expected: RecordFile,
  onRecord: OnFileRecord,
  between: () => Promise<void> | null = () => null,
): Promise<void> {
  const path = `${folder}/${expected.name}`
  await withFile(disk, path, 'read', async (file) => {
    if (!(await readUpTo(file, 0, FILE_HEAD)).equals(headOf(expected.name))) {
      throw damaged(path, 0, 'it does not begin as such a file does.')
    }
    let offset = FILE_HEAD
    let link = 0
    let records = 0
    while (offset < expected.end) {
      const bytes = await chunk(file, offset, expected.end)
      let at = 0
      while (at < bytes.length) {
        const length = claimedLength(bytes, at)
        if (length !== null && at > 0 && recordEnd(at, length) > bytes.length) break
        if (length === null && at > 0 && at + RECORD_HEAD > bytes.length) break
        const record = readRecordHead(bytes, at, bytes.length)
        if (record === null || record.link !== link) {
          throw damaged(path, offset + at, 'a record in it does not check.')
        }
        mustBeKnown(path, record.version)
        onRecord(bytes, at + RECORD_HEAD, record.length, offset + at)
        link = record.checksum
        records += 1
        at = recordEnd(at, record.length)
      }
      offset += at
      const wait = between()
      if (wait !== null) await wait
    }
    if (records !== expected.records || link !== expected.link || offset !== expected.end) {
      throw damaged(path, offset, `it should hold ${expected.records} records.`)
    }
  })
}

/** Some bytes, and at least one record whole. */
async function chunk(file: DiskFile, offset: number, end: number): Promise<Buffer> {
  const bytes = await readUpTo(file, offset, Math.min(CHUNK_BYTES, end - offset))
  const length = claimedLength(bytes, 0)
  if (length === null || recordEnd(0, length) <= bytes.length) return bytes
  return readUpTo(file, offset, Math.min(recordEnd(0, length), end - offset))
}

const WINDOW_BYTES = 256 * 1_024

/** Reads single records of a file at once, a window at a time: the next one asked for is usually near. */
export class RecordWindow {
  readonly #path: string
  readonly #file: DiskFile
  readonly #reader = new ByteReader(Buffer.alloc(0))
  #window: Buffer = Buffer.alloc(0)
  #windowAt = 0

  constructor(file: DiskFile, path: string) {
    this.#file = file
    this.#path = path
  }

  /** A reader over the body of the record at an offset, good until the next call. */
  read(offset: number): ByteReader {
    if (!this.#holds(offset)) this.#move(offset)
    const at = offset - this.#windowAt
    const record = readRecordHead(this.#window, at, this.#window.length)
    if (record === null) throw damaged(this.#path, offset, 'a record in it does not check.')
    mustBeKnown(this.#path, record.version)
    const body = at + RECORD_HEAD
    this.#reader.reset(this.#window, body, body + record.length)
    return this.#reader
  }

  #holds(offset: number): boolean {
    const at = offset - this.#windowAt
    if (at < 0 || at + RECORD_HEAD > this.#window.length) return false
    const length = claimedLength(this.#window, at)
    return length !== null && at + RECORD_HEAD + length <= this.#window.length
  }

  #move(offset: number): void {
    this.#windowAt = offset
    this.#window = this.#bytes(offset, WINDOW_BYTES)
    const length = claimedLength(this.#window, 0)
    if (length !== null && RECORD_HEAD + length > this.#window.length) {
      this.#window = this.#bytes(offset, RECORD_HEAD + length)
    }
  }

  #bytes(offset: number, length: number): Buffer {
    const bytes = Buffer.allocUnsafeSlow(length)
    let done = 0
    while (done < length) {
      const count = this.#file.readNow(done === 0 ? bytes : bytes.subarray(done), offset + done)
      if (count === 0) break
      done += count
    }
    return bytes.subarray(0, done)
  }
}
