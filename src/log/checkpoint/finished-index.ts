/**
 * The tables of a shelf: columns that find a job by its id or its key, and that list the jobs
 * in order of submission and of their ends.
 *
 * Everything in them follows from the records before them, in one way only. So tables that do
 * not check are made again from records that do, and they are the very bytes that were written,
 * or they are not used.
 */
import type { Job } from '../../kernel/index.ts'
import { jobEndedAt } from '../../kernel/index.ts'
import { ByteReader } from '../format/bytes.ts'
import { checksumOf } from '../format/checksum.ts'
import { Interning } from '../format/interning.ts'
import type { Disk } from '../disk/disk.ts'
import { readJob, recordTallies } from '../format/record-codec.ts'
import type { RecordFile, RecordFileWriter } from './record-file.ts'
import { damaged, readRecords } from './record-file.ts'

/** A shelf as the manifest names it. */
export interface FinishedFileAbout extends RecordFile {
  /** Checksum of the tables. */
  readonly tables: number
  /** Rows that no longer count, ascending. */
  readonly gone: readonly number[]
  /** In the order in which they come in `byEnd`; null: an older format, which had none. */
  readonly kinds: readonly FinishedKind[] | null
}

/** Jobs that are kept by one rule: of one type, and with the same word of their own on it. */
export interface JobKind {
  readonly type: string
  readonly retainMs: number | null
}

/** So many rows of a shelf are of a kind, those that count no more included. */
export interface FinishedKind extends JobKind {
  readonly rows: number
}

/** What a shelf's tables say of a job. */
export interface FinishedRow {
  readonly offset: number
  readonly idHash: number
  /** 0: it has no key that outlives it. */
  readonly keyHash: number
  readonly firstPosition: number
  readonly endedAt: number
  readonly kind: JobKind
}

/** No row, and no hash. */
export const NONE = 0
const FIRST_ROWS = 1_024

/** The columns of a shelf, in the order in which they stand in the file. */
export interface FinishedIndexes {
  readonly offsets: Float64Array
  readonly firsts: Float64Array
  readonly ends: Float64Array
  readonly idHashes: Uint32Array
  readonly keyHashes: Uint32Array
  /** Rows in order of submission. */
  readonly byFirst: Uint32Array
  /** Rows by kind, and in order of their end. */
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

/** How many bytes the tables of so many rows take. */
export function sizeOfIndexes(rows: number): number {
  return layout(rows).reduce((sum, one) => sum + one, 0)
}

/** What the tables say of a job that is over, and whose record stands at an offset. */
export function rowOf(job: Job, offset: number, endedAt: number): FinishedRow {
  const { spec } = job
  const { type, key, unique } = spec
  return {
    offset,
    idHash: hashText(job.id),
    // A unique key is free again when its job is over.
    keyHash: key === null || unique ? NONE : hashKey(type, key),
    firstPosition: job.firstPosition,
    endedAt,
    kind: spec,
  }
}

/** Kinds of jobs, numbered as they come. */
class Kinds {
  readonly list: (JobKind & { rows: number })[] = []
  readonly #numbers = new Map<string, Map<number | null, number>>()

  /** One more row is of this kind. Its number. */
  add({ type, retainMs }: JobKind): number {
    let ofType = this.#numbers.get(type)
    if (ofType === undefined) this.#numbers.set(type, (ofType = new Map()))
    let number = ofType.get(retainMs)
    if (number === undefined) {
      number = this.list.push({ type, retainMs, rows: 0 }) - 1
      ofType.set(retainMs, number)
    }
    ;(this.list[number] as { rows: number }).rows += 1
    return number
  }
}

/** Finds rows by a hash. Those that came since it was last asked are taken in when it is asked. */
class HashIndex {
  readonly #hashOf: (row: number) => number
  #slots = new Uint32Array(0)
  #indexed = 0

  constructor(hashOf: (row: number) => number) {
    this.#hashOf = hashOf
  }

  /** Among the first so many rows, one that has the hash and `isIt`; -1: none. */
  find(hash: number, rows: number, isIt: (row: number) => boolean): number {
    this.#takeIn(rows)
    const slots = this.#slots
    const mask = slots.length - 1
    for (let slot = hash & mask; slots[slot] !== NONE; slot = (slot + 1) & mask) {
      const row = (slots[slot] as number) - 1
      if (this.#hashOf(row) === hash && isIt(row)) return row
    }
    return -1
  }

  #takeIn(rows: number): void {
    const slots = slotsFor(rows)
    if (slots > this.#slots.length) {
      this.#slots = new Uint32Array(slots)
      this.#indexed = 0
    }
    for (; this.#indexed < rows; this.#indexed++) {
      const hash = this.#hashOf(this.#indexed)
      if (hash !== NONE) insert(this.#slots, hash, this.#indexed)
    }
  }
}

/** The rows of a shelf that is being made, or of a tray: numbers in columns, however many there are. */
export class FinishedRows {
  #length = 0
  #reals = new Float64Array(3 * FIRST_ROWS)
  #hashes = new Uint32Array(2 * FIRST_ROWS)
  #kindOf = new Uint32Array(FIRST_ROWS)
  readonly kinds = new Kinds()
  readonly #ids = new HashIndex((row) => this.idHash(row))
  readonly #keys = new HashIndex((row) => this.keyHash(row))

  get length(): number {
    return this.#length
  }

  push({ offset, firstPosition, endedAt, idHash, keyHash, kind }: FinishedRow): void {
    const row = this.#length++
    if (3 * row === this.#reals.length) this.#grow()
    this.#reals[3 * row] = offset
    this.#reals[3 * row + 1] = firstPosition
    this.#reals[3 * row + 2] = endedAt
    this.#hashes[2 * row] = idHash
    this.#hashes[2 * row + 1] = keyHash
    this.#kindOf[row] = this.kinds.add(kind)
  }

  row(row: number): FinishedRow {
    return {
      offset: this.offset(row),
      firstPosition: this.firstPosition(row),
      endedAt: this.endedAt(row),
      idHash: this.idHash(row),
      keyHash: this.keyHash(row),
      kind: this.kinds.list[this.kind(row)] as JobKind,
    }
  }

  /** The number of a row's kind. */
  kind(row: number): number {
    return this.#kindOf[row] as number
  }

  offset(row: number): number {
    return this.#reals[3 * row] as number
  }

  firstPosition(row: number): number {
    return this.#reals[3 * row + 1] as number
  }

  endedAt(row: number): number {
    return this.#reals[3 * row + 2] as number
  }

  /** The row of a job; -1: none. `isIt` has a look, because hashes may be the same. */
  find(id: string, isIt: (row: number) => boolean): number {
    return this.#ids.find(hashText(id), this.#length, isIt)
  }

  /** The row of the job that holds a key; -1: none. */
  findKey(type: string, key: string, isIt: (row: number) => boolean): number {
    return this.#keys.find(hashKey(type, key), this.#length, isIt)
  }

  idHash(row: number): number {
    return this.#hashes[2 * row] as number
  }

  keyHash(row: number): number {
    return this.#hashes[2 * row + 1] as number
  }

  #grow(): void {
    const { length } = this.#reals
    const reals = new Float64Array(2 * length)
    reals.set(this.#reals)
    this.#reals = reals
    const hashes = new Uint32Array(2 * this.#hashes.length)
    hashes.set(this.#hashes)
    this.#hashes = hashes
    const kindOf = new Uint32Array(2 * this.#kindOf.length)
    kindOf.set(this.#kindOf)
    this.#kindOf = kindOf
  }
}

/** Behind the records of a file that was sealed. The checksum of the tables. */
export function addIndexes(writer: RecordFileWriter, rows: FinishedRows): number {
  const bytes = indexesOf(rows)
  writer.addBytes(bytes)
  return checksumOf(bytes, 0, bytes.length)
}

/** The rows of a shelf made again from its records; throws if not all of these check. */
export async function readRows(
  disk: Disk,
  folder: string,
  about: RecordFile,
): Promise<FinishedRows> {
  const rows = new FinishedRows()
  const interning = new Interning()
  await readRecords(disk, folder, about, (lent, body, length, offset) => {
    const record = readJob(new ByteReader(lent, body, body + length), interning)
    rows.push(rowOf(record.job, offset, jobEndedAt(record.job, recordTallies(record))))
  })
  return rows
}

/** The tables of a shelf made again from its records, as they were. */
export async function rebuildIndexes(
  disk: Disk,
  folder: string,
  about: FinishedFileAbout,
): Promise<Buffer> {
  const rows = await readRows(disk, folder, about)
  const bytes = indexesOf(rows, about.kinds !== null)
  if (checksumOf(bytes, 0, bytes.length) !== about.tables) {
    throw damaged(
      `${folder}/${about.name}`,
      about.end,
      'its tables do not follow from its records.',
    )
  }
  return bytes
}

/** Without kinds: as the older format had them. */
export function indexesOf(rows: FinishedRows, hasKinds = true): Buffer {
  const bytes = Buffer.alloc(sizeOfIndexes(rows.length))
  const tables = indexesOver(bytes, rows.length)
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
  if (hasKinds) orderByKind(tables.byEnd, tables.ends, rows)
  else order(tables.byEnd, tables.ends)
  return bytes
}

function orderByKind(into: Uint32Array, ends: Float64Array, rows: FinishedRows): void {
  const starts: number[] = []
  let start = 0
  for (const { rows: count } of rows.kinds.list) {
    starts.push(start)
    start += count
  }
  const next = [...starts]
  for (let row = 0; row < rows.length; row++) {
    const kind = rows.kind(row)
    into[(next[kind] as number)++] = row
  }
  for (const [kind, from] of starts.entries()) {
    const some = into.subarray(from, next[kind])
    if (!isAscending(some, ends)) sortBy(some, ends)
  }
}

function order(into: Uint32Array, by: Float64Array): void {
  for (let i = 0; i < by.length; i++) into[i] = i
  const rows = into.subarray(0, by.length)
  if (!isAscending(rows, by)) sortBy(rows, by)
}

function isAscending(rows: Uint32Array, by: Float64Array): boolean {
  for (let i = 1; i < rows.length; i++) {
    if ((by[rows[i] as number] as number) < (by[rows[i - 1] as number] as number)) return false
  }
  return true
}

function sortBy(rows: Uint32Array, by: Float64Array): void {
  rows.sort((a, b) => (by[a] as number) - (by[b] as number) || a - b)
}

function insert(slots: Uint32Array, hash: number, row: number): void {
  let slot = hash & (slots.length - 1)
  while (slots[slot] !== NONE) slot = (slot + 1) & (slots.length - 1)
  slots[slot] = row + 1
}

/** Tables as they stand in bytes, which begin at an address that suits 8-byte numbers. */
export function indexesOver(bytes: Buffer, rows: number): FinishedIndexes {
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
