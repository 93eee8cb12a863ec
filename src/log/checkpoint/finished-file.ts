/**
 * A shelf: jobs that are over, on disk, found by id or by key without being in memory.
 *
 * Records, and behind them tables that are read into memory as they are: about 60 bytes for
 * each job. A job is found by a hash of its id; whether it is the right one shows in the
 * record itself. A shelf never changes: that a job on it was forgotten, or has changed and
 * stands elsewhere now, is noted beside it, in memory and in the manifest.
 */
import type { ByteReader } from '../format/bytes.ts'
import { countUpTo } from './count-up-to.ts'
import type { Interning } from '../format/interning.ts'
import type { Disk, DiskFile } from '../disk/disk.ts'
import { readChecked } from '../disk/disk.ts'
import type { JobRecord } from '../format/record-codec.ts'
import { peekJobId, readJob } from '../format/record-codec.ts'
import { RecordWindow } from './record-file.ts'
import type {
  JobKind,
  FinishedFileAbout,
  FinishedKind,
  FinishedRow,
  FinishedIndexes,
} from './finished-index.ts'
import {
  hashKey,
  hashText,
  NONE,
  rebuildIndexes,
  sizeOfIndexes,
  indexesOver,
} from './finished-index.ts'

export class FinishedFile {
  readonly about: FinishedFileAbout
  /** Its tables in the file do not check: those in memory were made from its records. */
  readonly isRebuilt: boolean
  readonly #file: DiskFile
  readonly #window: RecordWindow
  readonly #tables: FinishedIndexes
  readonly #gone: Uint8Array
  /** Of each kind: where its rows begin in the order of ends. */
  readonly #starts: readonly number[]
  /** The number of each row's kind. */
  readonly #kindOf: Uint32Array
  readonly #leftOf: number[]
  /** Of each kind: before this place, in the order of ends, none counts any more. */
  readonly #firstLeft: number[]
  #left: number

  private constructor(
    about: FinishedFileAbout,
    path: string,
    file: DiskFile,
    tables: FinishedIndexes,
    isRebuilt: boolean,
  ) {
    const { kinds } = about
    this.about = about
    this.isRebuilt = isRebuilt
    this.#file = file
    this.#window = new RecordWindow(file, path)
    this.#tables = tables
    this.#gone = new Uint8Array(about.records)
    this.#left = about.records
    this.#leftOf = kinds.map(({ rows }) => rows)
    this.#starts = startsOf(kinds)
    this.#firstLeft = kinds.map(() => 0)
    this.#kindOf = new Uint32Array(about.records)
    // Most shelves have one kind, and its number stands there already.
    for (let kind = 1; kind < kinds.length; kind++) {
      const { rows } = kinds[kind] as FinishedKind
      for (let n = 0; n < rows; n++) this.#kindOf[this.nthEnded(kind, n)] = kind
    }
    for (const row of about.gone) this.leave(row)
  }

  /**
   * Checkpoints share their shelves, so one bit that flipped in a table could cost them all:
   * tables that do not check are made again, in memory, if every record does.
   */
  static async open(disk: Disk, folder: string, about: FinishedFileAbout): Promise<FinishedFile> {
    const path = `${folder}/${about.name}`
    const file = await disk.open(path, 'read')
    try {
      const { records } = about
      const read = await readChecked(file, about.end, sizeOfIndexes(records))
      const isWhole = read !== null && read.checksum === about.tables
      const bytes = isWhole ? read.bytes : await rebuildIndexes(disk, folder, about)
      return new FinishedFile(about, path, file, indexesOver(bytes, records), !isWhole)
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
    const kind = this.#kindOf[row] as number
    this.#leftOf[kind] = this.leftOf(kind) - 1
  }

  /** Rows of a kind that still count. */
  leftOf(kind: number): number {
    return this.#leftOf[kind] as number
  }

  /** The row of a job that still counts; -1: it is not here. */
  find(id: string): number {
    return this.#probe(this.#tables.ids, this.#tables.idHashes, hashText(id), (row) => {
      return peekJobId(this.record(row)) === id
    })
  }

  /** The same without a look at the file: no two jobs begin at the same place of the log. */
  rowOf(id: string, firstPosition: number): number {
    return this.#probe(this.#tables.ids, this.#tables.idHashes, hashText(id), (row) => {
      return this.firstPosition(row) === firstPosition
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

  row(row: number): FinishedRow {
    return {
      offset: this.#tables.offsets[row] as number,
      idHash: this.idHash(row),
      keyHash: this.keyHash(row),
      firstPosition: this.firstPosition(row),
      endedAt: this.endedAt(row),
      kind: this.kinds[this.#kindOf[row] as number] as JobKind,
    }
  }

  idHash(row: number): number {
    return this.#tables.idHashes[row] as number
  }

  /** 0: it has no key that outlives it. */
  keyHash(row: number): number {
    return this.#tables.keyHashes[row] as number
  }

  endedAt(row: number): number {
    return this.#tables.ends[row] as number
  }

  firstPosition(row: number): number {
    return this.#tables.firsts[row] as number
  }

  /** The n-th row of a kind in order of the jobs' ends. */
  nthEnded(kind: number, n: number): number {
    return this.#tables.byEnd[(this.#starts[kind] as number) + n] as number
  }

  /** The first place of a kind, in the order of ends, whose row may still count. */
  firstLeft(kind: number): number {
    const { rows } = this.kinds[kind] as FinishedKind
    let at = this.#firstLeft[kind] as number
    while (at < rows && this.isGone(this.nthEnded(kind, at))) at += 1
    this.#firstLeft[kind] = at
    return at
  }

  /** The n-th row in order of submission. */
  nthSubmitted(n: number): number {
    return this.#tables.byFirst[n] as number
  }

  /** How many were submitted at or before a position. */
  submittedUpTo(position: number): number {
    return countUpTo(position, this.about.records, (n) => this.firstPosition(this.nthSubmitted(n)))
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

function startsOf(kinds: readonly FinishedKind[]): number[] {
  let start = 0
  return kinds.map(({ rows }) => {
    start += rows
    return start - rows
  })
}
