/**
 * A tray: jobs that are over and that no shelf has yet, in memory, as bytes.
 *
 * To whoever asks it is like a shelf. A job on it takes as many bytes as on a disk and is no
 * object to the virtual machine: however many there are, its collector has nothing to look at.
 */
import type { Job, StageTasks } from '../../kernel/index.ts'
import { ByteReader, ByteWriter } from '../format/bytes.ts'
import { countUpTo } from './count-up-to.ts'
import type { Interning } from '../format/interning.ts'
import type { JobRecord } from '../format/record-codec.ts'
import { peekJobId, readJob, writeJob } from '../format/record-codec.ts'
import type { FinishedFile } from './finished-file.ts'
import type { FinishedKind } from './finished-index.ts'
import { rowOf, FinishedRows } from './finished-index.ts'
import { SortedRows } from './sorted-rows.ts'

/** Where jobs that are over stand. */
export type FinishedTable = FinishedFile | FinishedBuffer

/** So many on one tray: putting them in order must not take long. */
const MOST_ROWS = 65_536
const CHUNK_BYTES = 262_144
/** An offset is the number of a chunk and a place in it. */
const CHUNK = 0x1_0000_0000

export class FinishedBuffer {
  readonly #rows = new FinishedRows()
  readonly #chunks: ByteWriter[] = []
  readonly #gone = new Uint8Array(MOST_ROWS)
  /** Of each kind, in the order of their ends. */
  readonly #rowsOf: number[][] = []
  readonly #leftOf: number[] = []
  /** Of each kind: before this place none counts any more. */
  readonly #firstLeft: number[] = []
  readonly #byFirst = new SortedRows((row) => this.firstPosition(row))
  readonly #reader = new ByteReader(Buffer.alloc(0))
  #left = 0

  get records(): number {
    return this.#rows.length
  }

  get kinds(): readonly FinishedKind[] {
    return this.#rows.kinds.list
  }

  get isFull(): boolean {
    return this.#rows.length === MOST_ROWS
  }

  /** Rows that still count. */
  get left(): number {
    return this.#left
  }

  /** Nearly all jobs come in the order of their ends. Its row. */
  add(job: Job, stages: StageTasks | null, endedAt: number): number {
    let chunk = this.#chunks.at(-1)
    if (chunk === undefined || chunk.at > CHUNK_BYTES / 2) {
      this.#chunks.push((chunk = new ByteWriter(CHUNK_BYTES)))
    }
    const offset = (this.#chunks.length - 1) * CHUNK + chunk.at
    writeJob(chunk, job, stages)
    const row = this.#rows.length
    this.#rows.push(rowOf(job, offset, endedAt))
    const kind = this.#rows.kind(row)
    if (kind === this.#rowsOf.length) {
      this.#rowsOf.push([])
      this.#leftOf.push(0)
      this.#firstLeft.push(0)
    }
    this.#line(kind, row, endedAt)
    this.#leftOf[kind] = this.leftOf(kind) + 1
    this.#left += 1
    return row
  }

  isGone(row: number): boolean {
    return this.#gone[row] === 1
  }

  leave(row: number): void {
    if (this.#gone[row] === 1) return
    this.#gone[row] = 1
    this.#left -= 1
    const kind = this.#rows.kind(row)
    this.#leftOf[kind] = this.leftOf(kind) - 1
  }

  /** Rows of a kind that still count. */
  leftOf(kind: number): number {
    return this.#leftOf[kind] as number
  }

  /** The row of a job that still counts; -1: it is not here. */
  find(id: string): number {
    return this.#rows.find(id, (row) => this.#gone[row] === 0 && this.idOf(row) === id)
  }

  /** The row of the job that holds a key; -1: none does. */
  findKey(type: string, key: string, interning: Interning): number {
    return this.#rows.findKey(type, key, (row) => {
      if (this.#gone[row] === 1) return false
      const { spec } = this.read(row, interning).job
      return spec.type === type && spec.key === key
    })
  }

  idOf(row: number): string {
    return peekJobId(this.#record(row))
  }

  read(row: number, interning: Interning): JobRecord {
    return readJob(this.#record(row), interning)
  }

  idHash(row: number): number {
    return this.#rows.idHash(row)
  }

  /** 0: it has no key that outlives it. */
  keyHash(row: number): number {
    return this.#rows.keyHash(row)
  }

  endedAt(row: number): number {
    return this.#rows.endedAt(row)
  }

  firstPosition(row: number): number {
    return this.#rows.firstPosition(row)
  }

  /** The n-th row of a kind in order of the jobs' ends. */
  nthEnded(kind: number, n: number): number {
    return this.#rowsOf[kind]?.[n] as number
  }

  /** The first place of a kind, in the order of ends, whose row may still count. */
  firstLeft(kind: number): number {
    const rows = this.#rowsOf[kind] as number[]
    let at = this.#firstLeft[kind] as number
    while (at < rows.length && this.isGone(rows[at] as number)) at += 1
    this.#firstLeft[kind] = at
    return at
  }

  /** The n-th row in order of submission. */
  nthSubmitted(n: number): number {
    return this.#byFirst.upTo(this.records)[n] as number
  }

  /** How many were submitted at or before a position. */
  submittedUpTo(position: number): number {
    const rows = this.#byFirst.upTo(this.records)
    return countUpTo(position, rows.length, (n) => this.firstPosition(rows[n] as number))
  }

  /** Puts a row in the order of ends: one that ended long ago may come again, because it changed. */
  #line(kind: number, row: number, endedAt: number): void {
    const rows = this.#rowsOf[kind] as number[]
    let at = rows.length
    while (at > 0 && this.endedAt(rows[at - 1] as number) > endedAt) at -= 1
    if (at === rows.length) rows.push(row)
    else rows.splice(at, 0, row)
    this.#firstLeft[kind] = Math.min(this.#firstLeft[kind] as number, at)
  }

  #record(row: number): ByteReader {
    const offset = this.#rows.offset(row)
    const { buffer, at } = this.#chunks[Math.floor(offset / CHUNK)] as ByteWriter
    this.#reader.reset(buffer, offset % CHUNK, at)
    return this.#reader
  }
}
