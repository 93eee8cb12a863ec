/**
 * Reads single records of a file at once, a window at a time: whoever needs one usually needs
 * its neighbours next.
 */
import { ByteReader } from '../format/bytes.ts'
import { claimedLength, readRecordHead, RECORD_HEAD } from '../format/format.ts'
import type { DiskFile } from '../disk/disk.ts'
import { damaged, mustBeKnown } from './record-file.ts'

const WINDOW_BYTES = 256 * 1_024

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
