/**
 * The jobs of a checkpoint in order of submission, or one of them by its id. The files are read a little at
 * a time, their indexes, too, so that memory does not grow with the number of jobs.
 *
 * It only reads. What does not check is reported, and never skipped.
 */
import { crc32 } from '../disk/crc32.ts'
import { ByteReader } from '../format/bytes.ts'
import { Interning } from '../format/interning.ts'
import type { Disk, DiskFile } from '../disk/disk.ts'
import { readUpTo } from '../disk/disk.ts'
import type { JobRecord } from '../format/record-codec.ts'
import { peekJobId, readJob } from '../format/record-codec.ts'
import type { FinishedFileInfo } from './finished-index.ts'
import { indexBytes, orderStart } from './finished-index.ts'
import { FinishedFile } from './finished-table.ts'
import type { LiveFileInfo } from './live-file.ts'
import type { Manifest } from './manifest.ts'
import type { RecordFile } from './record-file.ts'
import { damaged, readRecords, RecordWindow } from './record-file.ts'

/** Rows of an index that are read at once. */
const ROWS = 4_096
/** Rows that stand further apart are read one by one. */
const MOST_APART = 16 * ROWS
const PIECE_BYTES = 256 * 1_024

/** A job, and where its record stands. */
interface RecordPlace {
  readonly first: number
  readonly offset: number
}

export async function* jobsInOrder(
  disk: Disk,
  folder: string,
  { live, finishedFiles }: Manifest,
): AsyncGenerator<JobRecord, void> {
  const interning = new Interning()
  const files: OrderedFile[] = []
  try {
    files.push(await LiveOrder.open(disk, folder, live))
    for (const about of finishedFiles) files.push(await FinishedOrder.open(disk, folder, about))
    for (const file of files) await file.advance()
    for (;;) {
      let best: OrderedFile | null = null
      for (const file of files) {
        if (file.next === null) continue
        if (best === null || file.next.first < (best.next as RecordPlace).first) best = file
      }
      if (best === null) return
      yield readJob(best.read(), interning)
      await best.advance()
    }
  } finally {
    for (const file of files) await file.close()
  }
}

/** Null: it has no such job. */
export async function findJob(
  disk: Disk,
  folder: string,
  { live, finishedFiles }: Manifest,
  id: string,
): Promise<JobRecord | null> {
  for (const about of finishedFiles) {
    const file = await FinishedFile.open(disk, folder, about)
    try {
      const row = file.find(id)
      if (row !== -1) return file.read(row, new Interning())
    } finally {
      await file.close()
    }
  }
  let found: JobRecord | null = null
  await readRecords(disk, folder, live, (bytes, body, length) => {
    const reader = new ByteReader(bytes, body, body + length)
    if (peekJobId(reader) === id) found = readJob(reader, new Interning())
  })
  return found
}

/** One file: where it stands in the order of submission. */
abstract class OrderedFile {
  /** Null: it is through. */
  next: RecordPlace | null = null
  protected readonly file: DiskFile
  readonly #window: RecordWindow
  readonly #records: number
  /** Places that were read, and how many of them were taken. */
  #places: readonly RecordPlace[] = []
  #taken = 0
  /** Rows that were read. */
  #done = 0

  protected constructor(file: DiskFile, path: string, { records }: RecordFile) {
    this.file = file
    this.#window = new RecordWindow(file, path)
    this.#records = records
  }

  /** Rows of the order from a place on. */
  protected abstract placesFrom(start: number, count: number): Promise<readonly RecordPlace[]>

  async advance(): Promise<void> {
    while (this.#taken === this.#places.length && this.#done < this.#records) {
      const count = Math.min(ROWS, this.#records - this.#done)
      this.#places = await this.placesFrom(this.#done, count)
      this.#done += count
      this.#taken = 0
    }
    this.next = this.#places[this.#taken] ?? null
    this.#taken += 1
  }

  /** The record of the next one; good until another is read. */
  read(): ByteReader {
    return this.#window.read((this.next as RecordPlace).offset)
  }

  /** Nothing was written through it, so nothing is lost if this fails. */
  async close(): Promise<void> {
    await this.file.close().catch(() => undefined)
  }
}

class LiveOrder extends OrderedFile {
  readonly #about: LiveFileInfo

  private constructor(file: DiskFile, path: string, about: LiveFileInfo) {
    super(file, path, about)
    this.#about = about
  }

  static open(disk: Disk, folder: string, about: LiveFileInfo): Promise<LiveOrder> {
    const bytes = about.records * 16
    return opened(disk, folder, about, bytes, (file, path) => new LiveOrder(file, path, about))
  }

  /** Its index is in this order. */
  protected async placesFrom(start: number, count: number): Promise<readonly RecordPlace[]> {
    const { end, records } = this.#about
    const firsts = await reals(this.file, end, start, count)
    const offsets = await reals(this.file, end + 8 * records, start, count)
    return Array.from(firsts, (first, i) => ({ first, offset: offsets[i] as number }))
  }
}

class FinishedOrder extends OrderedFile {
  readonly #about: FinishedFileInfo
  readonly #gone: ReadonlySet<number>

  private constructor(file: DiskFile, path: string, about: FinishedFileInfo) {
    super(file, path, about)
    this.#about = about
    this.#gone = new Set(about.gone)
  }

  static open(disk: Disk, folder: string, about: FinishedFileInfo): Promise<FinishedOrder> {
    const bytes = indexBytes(about.records) + about.cellBytes
    return opened(disk, folder, about, bytes, (file, path) => new FinishedOrder(file, path, about))
  }

  protected async placesFrom(start: number, count: number): Promise<readonly RecordPlace[]> {
    const { end, records } = this.#about
    const bytes = await readUpTo(this.file, end + orderStart(records) + 4 * start, 4 * count)
    const rows = Array.from({ length: count }, (_, i) => bytes.readUInt32LE(4 * i))
    const [lowest, highest] = [Math.min(...rows), Math.max(...rows)]
    const isNear = highest - lowest < MOST_APART
    const [from, most] = isNear ? [lowest, highest - lowest + 1] : [0, 0]
    const offsets = await reals(this.file, end, from, most)
    const firsts = await reals(this.file, end + 8 * records, from, most)
    const places: RecordPlace[] = []
    for (const row of rows) {
      if (this.#gone.has(row)) continue
      const [offset] = isNear ? [offsets[row - from]] : await reals(this.file, end, row, 1)
      const [first] = isNear
        ? [firsts[row - from]]
        : await reals(this.file, end + 8 * records, row, 1)
      places.push({ first: first as number, offset: offset as number })
    }
    return places
  }
}

/** BEFORE anything is believed of it, the whole index is checked. */
async function opened<T>(
  disk: Disk,
  folder: string,
  about: LiveFileInfo | FinishedFileInfo,
  bytes: number,
  make: (file: DiskFile, path: string) => T,
): Promise<T> {
  const path = `${folder}/${about.name}`
  const file = await disk.open(path, 'read')
  try {
    let checksum = 0
    for (let done = 0; done < bytes; done += PIECE_BYTES) {
      const piece = Math.min(PIECE_BYTES, bytes - done)
      checksum = crc32(await readUpTo(file, about.end + done, piece), checksum)
    }
    if (checksum !== about.index) throw damaged(path, about.end, 'its index does not check.')
    return make(file, path)
  } catch (error) {
    await file.close()
    throw error
  }
}

/** Numbers of a column that begins at an offset. */
async function reals(
  file: DiskFile,
  column: number,
  start: number,
  count: number,
): Promise<number[]> {
  if (count === 0) return []
  const bytes = await readUpTo(file, column + 8 * start, 8 * count)
  return Array.from({ length: count }, (_, i) => bytes.readDoubleLE(8 * i))
}
