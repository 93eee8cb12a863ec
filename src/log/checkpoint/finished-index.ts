/**
 * The index of a file of finished jobs: columns that find a job by its id or its key, and that list
 * the jobs in order of submission and of their ends.
 *
 * All of it follows from the records before it, in one way only. So an index that does not check is
 * made again from records that do, and it is the very bytes that were written, or it is not used.
 */
import type { Job, JobState } from '../../kernel/index.ts'
import { jobEndedAt, jobState } from '../../kernel/index.ts'
import { ByteReader } from '../format/bytes.ts'
import { checksumOf } from '../format/checksum.ts'
import { Interning } from '../format/interning.ts'
import type { Disk } from '../disk/disk.ts'
import { readJob, recordTallies } from '../format/record-codec.ts'
import type { FinishedCell } from './finished-cells.ts'
import { cellOf, encodeCells, FinishedCells } from './finished-cells.ts'
import { HashIndex, hashKey, hashText, insertRow, NONE, slotsFor } from './hash-index.ts'
import type { RecordFile, RecordFileWriter } from './record-file.ts'
import { damaged, readRecords } from './record-file.ts'

/** A file of finished jobs as the manifest names it. */
export interface FinishedFileInfo extends RecordFile {
  /** Checksum of the index and the cells. */
  readonly index: number
  /** How many bytes the cells behind the index take. */
  readonly cellBytes: number
  /** Rows that no longer count, ascending. */
  readonly gone: readonly number[]
  /** In the order in which they come in `byEnd`. */
  readonly kinds: readonly FinishedKind[]
}

/** Jobs that one rule of retention is for: of one type, and with the same `retainMs` of their own. */
export interface JobKind {
  readonly type: string
  readonly retainMs: number | null
}

/** So many rows of a file are of a kind, those that count no more included. */
export interface FinishedKind extends JobKind {
  readonly rows: number
}

/** What an index says of a job. */
export interface FinishedRow {
  readonly offset: number
  readonly idHash: number
  /** 0: it has no key. */
  readonly keyHash: number
  /** It still holds its key. */
  readonly keepsKey: boolean
  readonly firstPosition: number
  readonly endedAt: number
  readonly kind: JobKind
  readonly cell: FinishedCell
}

const FIRST_ROWS = 1_024

/** The columns, in the order in which they stand in the file. */
export interface FinishedIndex {
  readonly offsets: Float64Array
  readonly firsts: Float64Array
  readonly ends: Float64Array
  readonly idHashes: Uint32Array
  readonly keyHashes: Uint32Array
  /** Rows in order of submission. */
  readonly byFirst: Uint32Array
  /** Rows by kind, and in order of their end. */
  readonly byEnd: Uint32Array
  /** The number of each row's cell. */
  readonly cells: Uint32Array
  /** Hash tables of ids, and of keys that jobs still hold. */
  readonly ids: Uint32Array
  readonly keys: Uint32Array
}

/** The byte length of each column. */
function layout(rows: number): number[] {
  const slots = slotsFor(rows) * 4
  const padded = Math.ceil(rows / 2) * 8
  return [rows * 8, rows * 8, rows * 8, padded, padded, padded, padded, padded, slots, slots]
}

/** How many bytes the index of so many rows takes. */
export function indexBytes(rows: number): number {
  return layout(rows).reduce((sum, one) => sum + one, 0)
}

/** Where the rows in order of submission begin in the index. */
export function orderStart(rows: number): number {
  return layout(rows)
    .slice(0, 5)
    .reduce((sum, one) => sum + one, 0)
}

/** The row of a job that is over, and whose record stands at an offset. */
export function rowOf(job: Job, offset: number, endedAt: number, state: JobState): FinishedRow {
  const { spec } = job
  const { type, key, unique } = spec
  return {
    offset,
    idHash: hashText(job.id),
    keyHash: key === null ? NONE : hashKey(type, key),
    // A unique key is free again when its job is over.
    keepsKey: key !== null && !unique,
    firstPosition: job.firstPosition,
    endedAt,
    kind: spec,
    cell: cellOf(job, state),
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

/** Rows of a file that is being written, or of a buffer: numbers in columns, however many there are. */
export class FinishedRows {
  #length = 0
  #reals = new Float64Array(3 * FIRST_ROWS)
  #hashes = new Uint32Array(2 * FIRST_ROWS)
  #kindOf = new Uint32Array(FIRST_ROWS)
  #cellOf = new Uint32Array(FIRST_ROWS)
  #keepsKey = new Uint8Array(FIRST_ROWS)
  readonly cells = new FinishedCells()
  readonly kinds = new Kinds()
  readonly #ids = new HashIndex((row) => this.idHash(row))
  readonly #keys = new HashIndex((row) => (this.keepsKey(row) ? this.keyHash(row) : NONE))

  get length(): number {
    return this.#length
  }

  push(given: FinishedRow): void {
    const { offset, firstPosition, endedAt, idHash, keyHash, keepsKey, kind, cell } = given
    const row = this.#length++
    if (3 * row === this.#reals.length) this.#grow()
    this.#reals[3 * row] = offset
    this.#reals[3 * row + 1] = firstPosition
    this.#reals[3 * row + 2] = endedAt
    this.#hashes[2 * row] = idHash
    this.#hashes[2 * row + 1] = keyHash
    this.#kindOf[row] = this.kinds.add(kind)
    this.#cellOf[row] = this.cells.numberOf(cell)
    this.#keepsKey[row] = keepsKey ? 1 : 0
  }

  /** The number of a row's kind. */
  kindOf(row: number): number {
    return this.#kindOf[row] as number
  }

  /** The number of a row's cell. */
  cellOf(row: number): number {
    return this.#cellOf[row] as number
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

  idHash(row: number): number {
    return this.#hashes[2 * row] as number
  }

  keyHash(row: number): number {
    return this.#hashes[2 * row + 1] as number
  }

  keepsKey(row: number): boolean {
    return this.#keepsKey[row] === 1
  }

  /** A row that has the hash of an id and `isIt`; -1: none. */
  findId(hash: number, isIt: (row: number) => boolean): number {
    return this.#ids.find(hash, this.#length, isIt)
  }

  /** The same by the hash of a key that its job still holds. */
  findKey(hash: number, isIt: (row: number) => boolean): number {
    return this.#keys.find(hash, this.#length, isIt)
  }

  #grow(): void {
    this.#reals = twice(this.#reals, new Float64Array(2 * this.#reals.length))
    this.#hashes = twice(this.#hashes, new Uint32Array(2 * this.#hashes.length))
    this.#kindOf = twice(this.#kindOf, new Uint32Array(2 * this.#kindOf.length))
    this.#cellOf = twice(this.#cellOf, new Uint32Array(2 * this.#cellOf.length))
    this.#keepsKey = twice(this.#keepsKey, new Uint8Array(2 * this.#keepsKey.length))
  }
}

function twice<T extends Float64Array | Uint32Array | Uint8Array>(column: T, larger: T): T {
  larger.set(column)
  return larger
}

/** Behind the records of a file that was sealed. */
export function addFinishedIndex(
  writer: RecordFileWriter,
  rows: FinishedRows,
): Pick<FinishedFileInfo, 'index' | 'cellBytes'> {
  const bytes = encodeIndex(rows)
  writer.addBytes(bytes)
  const cellBytes = bytes.length - indexBytes(rows.length)
  return { index: checksumOf(bytes, 0, bytes.length), cellBytes }
}

/** The index of a file made again from its records, as it was; throws if not all of these check. */
export async function rebuildIndex(
  disk: Disk,
  folder: string,
  about: FinishedFileInfo,
): Promise<Buffer> {
  const rows = new FinishedRows()
  const interning = new Interning()
  await readRecords(disk, folder, about, (lent, body, length, offset) => {
    const record = readJob(new ByteReader(lent, body, body + length), interning)
    const tallies = recordTallies(record)
    const { job } = record
    rows.push(rowOf(job, offset, jobEndedAt(job, tallies), jobState(job, tallies, 0)))
  })
  const bytes = encodeIndex(rows)
  if (checksumOf(bytes, 0, bytes.length) !== about.index) {
    const why = 'its index does not follow from its records.'
    throw damaged(`${folder}/${about.name}`, about.end, why)
  }
  return bytes
}

/** The columns, and the cells behind them. */
function encodeIndex(rows: FinishedRows): Buffer {
  const cells = encodeCells(rows.cells.list)
  const size = indexBytes(rows.length)
  const bytes = Buffer.alloc(size + cells.length)
  cells.copy(bytes, size)
  const index = indexIn(bytes, rows.length)
  for (let row = 0; row < rows.length; row++) {
    const idHash = rows.idHash(row)
    const keyHash = rows.keyHash(row)
    index.offsets[row] = rows.offset(row)
    index.firsts[row] = rows.firstPosition(row)
    index.ends[row] = rows.endedAt(row)
    index.idHashes[row] = idHash
    index.keyHashes[row] = keyHash
    index.byFirst[row] = row
    index.cells[row] = rows.cellOf(row)
    insertRow(index.ids, idHash, row)
    if (rows.keepsKey(row)) insertRow(index.keys, keyHash, row)
  }
  sortRows(index.byFirst, index.firsts)
  orderByKind(index.byEnd, index.ends, rows)
  return bytes
}

function orderByKind(into: Uint32Array, ends: Float64Array, rows: FinishedRows): void {
  const starts = startsOf(rows.kinds.list)
  const next = [...starts]
  for (let row = 0; row < rows.length; row++) {
    const kind = rows.kindOf(row)
    into[(next[kind] as number)++] = row
  }
  for (const [kind, from] of starts.entries()) sortRows(into.subarray(from, next[kind]), ends)
}

/** Of each kind: where its rows begin in the order of ends. */
export function startsOf(kinds: readonly FinishedKind[]): number[] {
  let start = 0
  return kinds.map(({ rows }) => {
    start += rows
    return start - rows
  })
}

/** Rows that stand in order, as most do, are not touched. */
function sortRows(rows: Uint32Array, by: Float64Array): void {
  for (let i = 1; i < rows.length; i++) {
    if ((by[rows[i] as number] as number) >= (by[rows[i - 1] as number] as number)) continue
    rows.sort((a, b) => (by[a] as number) - (by[b] as number) || a - b)
    return
  }
}

/** An index as it stands in bytes, which begin at an address that suits 8-byte numbers. */
export function indexIn(bytes: Buffer, rows: number): FinishedIndex {
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
    cells: words(7, rows),
    ids: words(8, slots),
    keys: words(9, slots),
  }
}
