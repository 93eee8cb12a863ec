/**
 * A shelf: jobs that are over, on disk, found by id or by key without being in memory.
 *
 * Records, and behind them tables that are read into memory as they are: about 40 bytes for
 * each job. A job is found by a hash of its id; whether it is the right one shows in the
 * record itself. A shelf never changes: that a job on it was forgotten, or has changed and
 * stands elsewhere now, is noted beside it, in memory and in the manifest.
 */
import type { ByteReader } from './bytes.ts'
import { checksumOf } from './checksum.ts'
import type { Interning } from './interning.ts'
import type { Disk, DiskFile } from './port.ts'
import { readChecked } from './port.ts'
import type { JobRecord } from './record-codec.ts'
import { peekJobId, readJob } from './record-codec.ts'
import type { RecordFile, RecordFileWriter } from './record-file.ts'
import { damaged } from './record-file.ts'
import { RecordWindow } from './record-window.ts'

/** A shelf as the manifest names it. */
export interface ShelfFile extends RecordFile {
  /** Checksum of the tables. */
  readonly tables: number
  /** Rows that no longer count, ascending. */
  readonly gone: readonly number[]
}

/** What a shelf's tables say of a job. */
export interface ShelfRow {
  readonly offset: number
  readonly idHash: number
  /** 0: it has no key that outlives it. */
  readonly keyHash: number
  readonly firstPosition: number
  readonly endedAt: number
}

const NONE = 0
const FIRST_ROWS = 1_024

/** The columns of a shelf, in the order in which they stand in the file. */
interface Tables {
  readonly offsets: Float64Array
  readonly firsts: Float64Array
  readonly ends: Float64Array
  readonly idHashes: Uint32Array
  readonly keyHashes: Uint32Array
  /** Rows in order of submission. */
  readonly byFirst: Uint32Array
  /** Rows in order of their end. */
  readonly byEnd: Uint32Array
  /** Open addressing: row + 1 at the hash of an id, or of a key. */
  readonly ids: Uint32Array
  readonly keys: Uint32Array
}

/** FNV-1a over UTF-16 units; never 0. */
export function hashText(text: string): number {
  let hash = 0x81_1c_9d_c5
  for (let i = 0; i < text.length; i++) {
    hash = Math.imul(hash ^ text.charCodeAt(i), 0x01_00_01_93)
  }
  return hash >>> 0 || 1
}

/** A key belongs to a type. */
export function hashKey(type: string, key: string): number {
  return hashText(`${type.length}:${type}${key}`)
}

function slotsFor(rows: number): number {
  let slots = 8
  while (slots < rows * 2) slots *= 2
  return slots
}

/** The byte length of each column. */
function layout(rows: number): number[] {
  const slots = slotsFor(rows) * 4
  const padded = Math.ceil(rows / 2) * 8
  return [rows * 8, rows * 8, rows * 8, padded, padded, padded, padded, slots, slots]
}

/** The rows of a shelf that is being made: numbers in columns, however many there are. */
export class ShelfRows {
  #length = 0
  #reals = new Float64Array(3 * FIRST_ROWS)
  #hashes = new Uint32Array(2 * FIRST_ROWS)
  /** Rows at the hashes of their ids, as far as they were asked for. */
  #ids = new Uint32Array(0)
  #indexed = 0

  get length(): number {
    return this.#length
  }

  push({ offset, firstPosition, endedAt, idHash, keyHash }: ShelfRow): void {
    const row = this.#length++
    if (3 * row === this.#reals.length) this.#grow()
    this.#reals[3 * row] = offset
    this.#reals[3 * row + 1] = firstPosition
    this.#reals[3 * row + 2] = endedAt
    this.#hashes[2 * row] = idHash
    this.#hashes[2 * row + 1] = keyHash
  }

  row(row: number): ShelfRow {
    return {
      offset: this.offset(row),
      firstPosition: this.#reals[3 * row + 1] as number,
      endedAt: this.#reals[3 * row + 2] as number,
      idHash: this.#idHash(row),
      keyHash: this.#hashes[2 * row + 1] as number,
    }
  }

  offset(row: number): number {
    return this.#reals[3 * row] as number
  }

  /** The row of a job; -1: none. `isIt` has a look, because hashes may be the same. */
  find(id: string, isIt: (row: number) => boolean): number {
    this.#index()
    const hash = hashText(id)
    const mask = this.#ids.length - 1
    for (let slot = hash & mask; this.#ids[slot] !== NONE; slot = (slot + 1) & mask) {
      const row = (this.#ids[slot] as number) - 1
      if (this.#idHash(row) === hash && isIt(row)) return row
    }
    return -1
  }

  #index(): void {
    const slots = slotsFor(this.#length)
    if (slots > this.#ids.length) {
      this.#ids = new Uint32Array(slots)
      this.#indexed = 0
    }
    for (; this.#indexed < this.#length; this.#indexed++) {
      insert(this.#ids, this.#idHash(this.#indexed), this.#indexed)
    }
  }

  #idHash(row: number): number {
    return this.#hashes[2 * row] as number
  }

  #grow(): void {
    const { length } = this.#reals
    const reals = new Float64Array(2 * length)
    reals.set(this.#reals)
    this.#reals = reals
    const hashes = new Uint32Array(2 * this.#hashes.length)
    hashes.set(this.#hashes)
    this.#hashes = hashes
  }
}

/** Behind the records of a file that was sealed. The checksum of the tables. */
export function addTables(writer: RecordFileWriter, rows: ShelfRows): number {
  const bytes = Buffer.alloc(layout(rows.length).reduce((sum, one) => sum + one, 0))
  const tables = tablesOver(bytes, rows.length)
  for (let i = 0; i < rows.length; i++) {
    const row = rows.row(i)
    tables.offsets[i] = row.offset
    tables.firsts[i] = row.firstPosition
    tables.ends[i] = row.endedAt
    tables.idHashes[i] = row.idHash
    tables.keyHashes[i] = row.keyHash
    insert(tables.ids, row.idHash, i)
    if (row.keyHash !== NONE) insert(tables.keys, row.keyHash, i)
  }
  order(tables.byFirst, tables.firsts)
  order(tables.byEnd, tables.ends)
  writer.addBytes(bytes)
  return checksumOf(bytes, 0, bytes.length)
}

function order(into: Uint32Array, by: Float64Array): void {
  let isInOrder = true
  for (let i = 0; i < by.length; i++) {
    into[i] = i
    if (i > 0 && (by[i] as number) < (by[i - 1] as number)) isInOrder = false
  }
  if (isInOrder) return
  into.subarray(0, by.length).sort((a, b) => (by[a] as number) - (by[b] as number) || a - b)
}

function insert(slots: Uint32Array, hash: number, row: number): void {
  let slot = hash & (slots.length - 1)
  while (slots[slot] !== NONE) slot = (slot + 1) & (slots.length - 1)
  slots[slot] = row + 1
}

function tablesOver(bytes: Buffer, rows: number): Tables {
  const starts: number[] = []
  let at = bytes.byteOffset
  for (const length of layout(rows)) {
    starts.push(at)
    at += length
  }
  const { buffer } = bytes
  const slots = slotsFor(rows)
  const reals = (i: number): Float64Array => new Float64Array(buffer, starts[i], rows)
  const words = (i: number, count: number): Uint32Array => new Uint32Array(buffer, starts[i], count)
  return {
    offsets: reals(0),
    firsts: reals(1),
    ends: reals(2),
    idHashes: words(3, rows),
    keyHashes: words(4, rows),
    byFirst: words(5, rows),
    byEnd: words(6, rows),
    ids: words(7, slots),
    keys: words(8, slots),
  }
}

export class Shelf {
  readonly about: ShelfFile
  readonly #file: DiskFile
  readonly #window: RecordWindow
  readonly #tables: Tables
  readonly #gone: Uint8Array
  #left: number

  private constructor(about: ShelfFile, path: string, file: DiskFile, tables: Tables) {
    this.about = about
    this.#file = file
    this.#window = new RecordWindow(file, path)
    this.#tables = tables
    this.#gone = new Uint8Array(about.records)
    this.#left = about.records
    for (const row of about.gone) this.leave(row)
  }

  static async open(disk: Disk, folder: string, about: ShelfFile): Promise<Shelf> {
    const path = `${folder}/${about.name}`
    const file = await disk.open(path, 'read')
    try {
      const size = layout(about.records).reduce((sum, one) => sum + one, 0)
      const read = await readChecked(file, about.end, size)
      if (read === null || read.checksum !== about.tables) {
        throw damaged(path, about.end, 'its tables do not check.')
      }
      return new Shelf(about, path, file, tablesOver(read.bytes, about.records))
    } catch (error) {
      await file.close()
      throw error
    }
  }

  /** Rows that still count. */
  get left(): number {
    return this.#left
  }

  get gone(): number[] {
    const rows: number[] = []
    this.#gone.forEach((isGone, row) => {
      if (isGone === 1) rows.push(row)
    })
    return rows
  }

  isGone(row: number): boolean {
    return this.#gone[row] === 1
  }

  leave(row: number): void {
    if (this.#gone[row] === 1) return
    this.#gone[row] = 1
    this.#left -= 1
  }

  /** The row of a job that still counts; -1: it is not here. */
  find(id: string): number {
    return this.#probe(this.#tables.ids, this.#tables.idHashes, hashText(id), (row) => {
      return peekJobId(this.record(row)) === id
    })
  }

  /** The row of the job that holds a key; -1: none does. */
  findKey(type: string, key: string, interning: Interning): number {
    const hash = hashKey(type, key)
    return this.#probe(this.#tables.keys, this.#tables.keyHashes, hash, (row) => {
      const { spec } = this.read(row, interning).job
      return spec.type === type && spec.key === key
    })
  }

  /** The id of the job in a row. */
  idOf(row: number): string {
    return peekJobId(this.record(row))
  }

  read(row: number, interning: Interning): JobRecord {
    return readJob(this.record(row), interning)
  }

  /** The record in a row as it stands, good until the next one is read. */
  record(row: number): ByteReader {
    return this.#window.read(this.#tables.offsets[row] as number)
  }

  row(row: number): ShelfRow {
    const { offsets, idHashes, keyHashes } = this.#tables
    return {
      offset: offsets[row] as number,
      idHash: idHashes[row] as number,
      keyHash: keyHashes[row] as number,
      firstPosition: this.firstPosition(row),
      endedAt: this.endedAt(row),
    }
  }

  endedAt(row: number): number {
    return this.#tables.ends[row] as number
  }

  firstPosition(row: number): number {
    return this.#tables.firsts[row] as number
  }

  /** The n-th row in order of the jobs' ends. */
  nthEnded(n: number): number {
    return this.#tables.byEnd[n] as number
  }

  /** The n-th row in order of submission. */
  nthSubmitted(n: number): number {
    return this.#tables.byFirst[n] as number
  }

  /** How many were submitted at or before a position. */
  submittedUpTo(position: number): number {
    let low = 0
    let high = this.about.records
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.firstPosition(this.nthSubmitted(middle)) <= position) low = middle + 1
      else high = middle
    }
    return low
  }

  /** Nothing was written through it, so nothing is lost if this fails. */
  async close(): Promise<void> {
    await this.#file.close().catch(() => undefined)
  }

  #probe(
    slots: Uint32Array,
    hashes: Uint32Array,
    hash: number,
    isIt: (row: number) => boolean,
  ): number {
    const mask = slots.length - 1
    for (let slot = hash & mask; slots[slot] !== NONE; slot = (slot + 1) & mask) {
      const row = (slots[slot] as number) - 1
      if (hashes[row] === hash && this.#gone[row] === 0 && isIt(row)) return row
    }
    return -1
  }
}
