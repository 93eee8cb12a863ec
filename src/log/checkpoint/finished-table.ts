/**
 * Tables of finished jobs, one row each: found by id or by key, and listed in order of submission and
 * of their ends.
 *
 * - `FinishedFile`: a part of a checkpoint on the disk. Records, and behind them an index that is read
 *   into memory as it is: about 64 bytes for each job. The file never changes.
 * - `FinishedBuffer`: jobs that came to their ends since the last checkpoint, in memory, as bytes. A job
 *   takes as many bytes as on a disk and is no object to the virtual machine: however many there are,
 *   its collector has nothing to look at.
 *
 * A row counts until its job is forgotten, or changes and so gets a row in a newer table. That it no
 * longer counts is noted in memory, and in the manifest of the next checkpoint.
 */
import type { Job, JobState, StageTasks } from '../../kernel/index.ts'
import { ByteReader, ByteWriter } from '../format/bytes.ts'
import type { Interning } from '../format/interning.ts'
import type { Disk, DiskFile } from '../disk/disk.ts'
import { readChecked } from '../disk/disk.ts'
import type { JobRecord, KeepsTask } from '../format/record-codec.ts'
import { peekJobId, readJob, writeJob } from '../format/record-codec.ts'
import type { FinishedCell } from './finished-cells.ts'
import { decodeCells } from './finished-cells.ts'
import type {
  FinishedFileInfo,
  FinishedIndex,
  FinishedKind,
  FinishedRow,
  JobKind,
} from './finished-index.ts'
import {
  FinishedRows,
  indexBytes,
  indexIn,
  rebuildIndex,
  rowOf,
  startsOf,
} from './finished-index.ts'
import { findRow, hashKey, hashText, NONE } from './hash-index.ts'
import { RecordWindow } from './record-file.ts'
import { countUpTo, SortedRows } from './sorted-rows.ts'

export abstract class FinishedTable {
  readonly #gone: Uint8Array
  readonly #leftOf: number[] = []
  /** Of each kind: before this place, in the order of ends, no row counts any more. */
  readonly #firstLeft: number[] = []
  #left = 0

  protected constructor(mostRows: number) {
    this.#gone = new Uint8Array(mostRows)
  }

  abstract get records(): number
  abstract get kinds(): readonly FinishedKind[]
  /** The number of a row's kind. */
  abstract kindOf(row: number): number
  /** What jobs are counted and listed by, each once. */
  abstract get cells(): readonly FinishedCell[]
  /** The number of a row's cell. */
  abstract cellOf(row: number): number
  abstract idHash(row: number): number
  /** 0: it has no key. */
  abstract keyHash(row: number): number
  /** Its key outlives it. */
  abstract keepsKey(row: number): boolean
  abstract endedAt(row: number): number
  abstract firstPosition(row: number): number
  /** The n-th row of a kind in order of the jobs' ends. */
  abstract nthEnded(kind: number, n: number): number
  /** The n-th row in order of submission. */
  abstract nthSubmitted(n: number): number
  /** The record in a row as it stands, good until the next one is read. */
  abstract record(row: number): ByteReader
  protected abstract findId(hash: number, isIt: (row: number) => boolean): number
  protected abstract findKeyHash(hash: number, isIt: (row: number) => boolean): number

  /** Rows that still count. */
  get left(): number {
    return this.#left
  }

  /** Rows of a kind that still count. */
  leftOf(kind: number): number {
    return this.#leftOf[kind] as number
  }

  /** So many more rows of a kind count. `place`: of the first of them in the order of ends. */
  protected addLeft(kind: number, rows: number, place: number): void {
    this.#leftOf[kind] = (this.#leftOf[kind] ?? 0) + rows
    this.#firstLeft[kind] = Math.min(this.#firstLeft[kind] ?? 0, place)
    this.#left += rows
  }

  isGone(row: number): boolean {
    return this.#gone[row] === 1
  }

  /** A row no longer counts. */
  leave(row: number): void {
    if (this.#gone[row] === 1) return
    this.#gone[row] = 1
    this.#left -= 1
    const kind = this.kindOf(row)
    this.#leftOf[kind] = this.leftOf(kind) - 1
  }

  /** The row of a job that still counts; -1: it is not here. */
  find(id: string): number {
    return this.findId(hashText(id), (row) => this.#gone[row] === 0 && this.idOf(row) === id)
  }

  /** The same without reading the record: no two jobs begin at the same place of the log. */
  findSubmitted(id: string, firstPosition: number): number {
    return this.findId(hashText(id), (row) => {
      return this.#gone[row] === 0 && this.firstPosition(row) === firstPosition
    })
  }

  /** The row of the job that holds a key; -1: none does. */
  findKey(type: string, key: string, interning: Interning): number {
    return this.findKeyHash(hashKey(type, key), (row) => {
      if (this.#gone[row] === 1) return false
      const { spec } = this.read(row, interning).job
      return spec.type === type && spec.key === key
    })
  }

  /**
   * Rows that still count and have the key, of this type or of any; perhaps some of other keys. A unique
   * key may have been that of many jobs, so it is in no hash table: the column of hashes is read.
   */
  rowsWithKey(key: string, type: string | undefined): number[] {
    const types = type === undefined ? this.kinds.map((kind) => kind.type) : [type]
    const hashes = new Set(types.map((one) => hashKey(one, key)))
    const rows: number[] = []
    for (let row = 0; row < this.records; row++) {
      const hash = this.keyHash(row)
      if (hash !== NONE && hashes.has(hash) && this.#gone[row] === 0) rows.push(row)
    }
    return rows
  }

  idOf(row: number): string {
    return peekJobId(this.record(row))
  }

  read(row: number, interning: Interning, keeps: KeepsTask | null = null): JobRecord {
    return readJob(this.record(row), interning, keeps)
  }

  /** The first place of a kind, in the order of ends, whose row may still count. */
  firstLeft(kind: number): number {
    const { rows } = this.kinds[kind] as FinishedKind
    let at = this.#firstLeft[kind] as number
    while (at < rows && this.isGone(this.nthEnded(kind, at))) at += 1
    this.#firstLeft[kind] = at
    return at
  }

  /** How many were submitted at or before a position. */
  submittedUpTo(position: number): number {
    return countUpTo(position, this.records, (n) => this.firstPosition(this.nthSubmitted(n)))
  }
}

export class FinishedFile extends FinishedTable {
  readonly about: FinishedFileInfo
  /** Its index in the file does not check: the one in memory was made from its records. */
  readonly isRebuilt: boolean
  readonly #file: DiskFile
  readonly #window: RecordWindow
  readonly #index: FinishedIndex
  readonly #starts: readonly number[]
  readonly #kindOf: Uint32Array
  readonly cells: readonly FinishedCell[]

  private constructor(
    about: FinishedFileInfo,
    path: string,
    file: DiskFile,
    bytes: Buffer,
    isRebuilt: boolean,
  ) {
    super(about.records)
    const { kinds } = about
    this.about = about
    this.isRebuilt = isRebuilt
    this.#file = file
    this.#window = new RecordWindow(file, path)
    this.#index = indexIn(bytes, about.records)
    this.cells = decodeCells(bytes.subarray(indexBytes(about.records)))
    this.#starts = startsOf(kinds)
    this.#kindOf = new Uint32Array(about.records)
    for (const [kind, { rows }] of kinds.entries()) {
      this.addLeft(kind, rows, 0)
      // Most files have one kind, and its number stands there already.
      if (kind > 0) for (let n = 0; n < rows; n++) this.#kindOf[this.nthEnded(kind, n)] = kind
    }
    for (const row of about.gone) this.leave(row)
  }

  /**
   * Checkpoints share their files, so one bit that flipped in an index could cost them all: an index
   * that does not check is made again, in memory, if every record does.
   */
  static async open(disk: Disk, folder: string, about: FinishedFileInfo): Promise<FinishedFile> {
    const path = `${folder}/${about.name}`
    const file = await disk.open(path, 'read')
    try {
      const { records, cellBytes } = about
      const read = await readChecked(file, about.end, indexBytes(records) + cellBytes)
      const isWhole = read !== null && read.checksum === about.index
      const bytes = isWhole ? read.bytes : await rebuildIndex(disk, folder, about)
      return new FinishedFile(about, path, file, bytes, !isWhole)
    } catch (error) {
      await file.close()
      throw error
    }
  }

  get records(): number {
    return this.about.records
  }

  get kinds(): readonly FinishedKind[] {
    return this.about.kinds
  }

  get gone(): number[] {
    const rows: number[] = []
    for (let row = 0; row < this.records; row++) if (this.isGone(row)) rows.push(row)
    return rows
  }

  kindOf(row: number): number {
    return this.#kindOf[row] as number
  }

  row(row: number): FinishedRow {
    return {
      offset: this.#index.offsets[row] as number,
      idHash: this.idHash(row),
      keyHash: this.keyHash(row),
      keepsKey: this.keepsKey(row),
      firstPosition: this.firstPosition(row),
      endedAt: this.endedAt(row),
      kind: this.kinds[this.kindOf(row)] as JobKind,
      cell: this.cells[this.cellOf(row)] as FinishedCell,
    }
  }

  cellOf(row: number): number {
    return this.#index.cells[row] as number
  }

  idHash(row: number): number {
    return this.#index.idHashes[row] as number
  }

  keyHash(row: number): number {
    return this.#index.keyHashes[row] as number
  }

  keepsKey(row: number): boolean {
    const hash = this.keyHash(row)
    return hash !== NONE && this.findKeyHash(hash, (one) => one === row) !== -1
  }

  endedAt(row: number): number {
    return this.#index.ends[row] as number
  }

  firstPosition(row: number): number {
    return this.#index.firsts[row] as number
  }

  nthEnded(kind: number, n: number): number {
    return this.#index.byEnd[(this.#starts[kind] as number) + n] as number
  }

  nthSubmitted(n: number): number {
    return this.#index.byFirst[n] as number
  }

  record(row: number): ByteReader {
    return this.#window.read(this.#index.offsets[row] as number)
  }

  /** Nothing was written through it, so nothing is lost if this fails. */
  async close(): Promise<void> {
    await this.#file.close().catch(() => undefined)
  }

  protected findId(hash: number, isIt: (row: number) => boolean): number {
    return findRow(this.#index.ids, hash, (row) => this.idHash(row), isIt)
  }

  protected findKeyHash(hash: number, isIt: (row: number) => boolean): number {
    return findRow(this.#index.keys, hash, (row) => this.keyHash(row), isIt)
  }
}

/** So many in one buffer: putting them in order must not take long. */
const MOST_ROWS = 65_536
const CHUNK_BYTES = 262_144
/** An offset is the number of a chunk and a place in it. */
const CHUNK = 0x1_0000_0000

export class FinishedBuffer extends FinishedTable {
  readonly #rows = new FinishedRows()
  readonly #chunks: ByteWriter[] = []
  /** Of each kind, in the order of their ends. */
  readonly #rowsOf: number[][] = []
  readonly #byFirst = new SortedRows((row) => this.firstPosition(row))
  readonly #reader = new ByteReader(Buffer.alloc(0))

  constructor() {
    super(MOST_ROWS)
  }

  get records(): number {
    return this.#rows.length
  }

  get kinds(): readonly FinishedKind[] {
    return this.#rows.kinds.list
  }

  get isFull(): boolean {
    return this.#rows.length === MOST_ROWS
  }

  get cells(): readonly FinishedCell[] {
    return this.#rows.cells.list
  }

  cellOf(row: number): number {
    return this.#rows.cellOf(row)
  }

  /** Nearly all jobs come in the order of their ends. Its row. */
  add(job: Job, stages: StageTasks | null, endedAt: number, state: JobState): number {
    let chunk = this.#chunks.at(-1)
    if (chunk === undefined || chunk.at > CHUNK_BYTES / 2) {
      this.#chunks.push((chunk = new ByteWriter(CHUNK_BYTES)))
    }
    const offset = (this.#chunks.length - 1) * CHUNK + chunk.at
    writeJob(chunk, job, stages)
    const row = this.#rows.length
    this.#rows.push(rowOf(job, offset, endedAt, state))
    const kind = this.kindOf(row)
    this.addLeft(kind, 1, this.#insert(kind, row, endedAt))
    return row
  }

  kindOf(row: number): number {
    return this.#rows.kindOf(row)
  }

  idHash(row: number): number {
    return this.#rows.idHash(row)
  }

  keyHash(row: number): number {
    return this.#rows.keyHash(row)
  }

  keepsKey(row: number): boolean {
    return this.#rows.keepsKey(row)
  }

  endedAt(row: number): number {
    return this.#rows.endedAt(row)
  }

  firstPosition(row: number): number {
    return this.#rows.firstPosition(row)
  }

  nthEnded(kind: number, n: number): number {
    return this.#rowsOf[kind]?.[n] as number
  }

  nthSubmitted(n: number): number {
    return this.#byFirst.upTo(this.records)[n] as number
  }

  record(row: number): ByteReader {
    const offset = this.#rows.offset(row)
    const { buffer, at } = this.#chunks[Math.floor(offset / CHUNK)] as ByteWriter
    this.#reader.reset(buffer, offset % CHUNK, at)
    return this.#reader
  }

  protected findId(hash: number, isIt: (row: number) => boolean): number {
    return this.#rows.findId(hash, isIt)
  }

  protected findKeyHash(hash: number, isIt: (row: number) => boolean): number {
    return this.#rows.findKey(hash, isIt)
  }

  /** Puts a row in the order of ends: a job that ended long ago and changed comes again. Its place. */
  #insert(kind: number, row: number, endedAt: number): number {
    const rows = (this.#rowsOf[kind] ??= [])
    let at = rows.length
    while (at > 0 && this.endedAt(rows[at - 1] as number) > endedAt) at -= 1
    if (at === rows.length) rows.push(row)
    else rows.splice(at, 0, row)
    return at
  }
}
