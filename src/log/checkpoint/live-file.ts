/**
 * The live jobs of a checkpoint, on disk: where a job's spec, and so its payload, is read from
 * when it is needed, so that a million waiting jobs do not keep theirs in memory.
 *
 * Behind the records stands an index: where each job begins in the log, ascending, and where
 * its record stands in the file. 16 bytes a job are kept in memory. Jobs are needed in about
 * the order in which they stand, so reading goes in windows.
 */
import type { JobSpec, Payload } from '../../kernel/index.ts'
import type { ByteReader } from '../format/bytes.ts'
import { checksumOf } from '../format/checksum.ts'
import { countUpTo } from './sorted-rows.ts'
import { Interning } from '../format/interning.ts'
import type { Disk, DiskFile } from '../disk/disk.ts'
import { readChecked } from '../disk/disk.ts'
import { readJob, readJobSpec } from '../format/record-codec.ts'
import type { RecordFile, RecordFileWriter } from './record-file.ts'
import { damaged } from './record-file.ts'
import { RecordWindow } from './record-file.ts'

/** The file as the manifest names it. */
export interface LiveFileInfo extends RecordFile {
  /** Checksum of the index. */
  readonly index: number
}

/** Behind the records of a file that was sealed. The checksum of the index. */
export function addLiveIndex(
  writer: RecordFileWriter,
  firsts: readonly number[],
  offsets: readonly number[],
): number {
  const count = firsts.length
  const bytes = Buffer.alloc(count * 16)
  const { firsts: sorted, offsets: places } = indexIn(bytes, count)
  sorted.set(firsts)
  places.set(offsets)
  if (!isAscending(sorted)) {
    const order = firsts.map((_, i) => i).toSorted((a, b) => (firsts[a] ?? 0) - (firsts[b] ?? 0))
    order.forEach((from, to) => {
      sorted[to] = firsts[from] as number
      places[to] = offsets[from] as number
    })
  }
  writer.addBytes(bytes)
  return checksumOf(bytes, 0, bytes.length)
}

function isAscending(list: Float64Array): boolean {
  for (let i = 1; i < list.length; i++)
    if ((list[i - 1] as number) > (list[i] as number)) return false
  return true
}

function indexIn(bytes: Buffer, count: number): { firsts: Float64Array; offsets: Float64Array } {
  const { buffer, byteOffset } = bytes
  return {
    firsts: new Float64Array(buffer, byteOffset, count),
    offsets: new Float64Array(buffer, byteOffset + count * 8, count),
  }
}

export class LiveFile {
  readonly #path: string
  readonly #file: DiskFile
  readonly #firsts: Float64Array
  readonly #offsets: Float64Array
  readonly #interning: Interning
  readonly #window: RecordWindow

  private constructor(path: string, file: DiskFile, bytes: Buffer, interning: Interning) {
    this.#path = path
    this.#file = file
    this.#window = new RecordWindow(file, path)
    this.#interning = interning
    const { firsts, offsets } = indexIn(bytes, bytes.length / 16)
    this.#firsts = firsts
    this.#offsets = offsets
  }

  static async open(
    disk: Disk,
    folder: string,
    about: LiveFileInfo,
    interning = new Interning(),
  ): Promise<LiveFile> {
    const path = `${folder}/${about.name}`
    const file = await disk.open(path, 'read')
    try {
      const read = await readChecked(file, about.end, about.records * 16)
      if (read === null || read.checksum !== about.index) {
        throw damaged(path, about.end, 'its index does not check.')
      }
      return new LiveFile(path, file, read.bytes, interning)
    } catch (error) {
      await file.close()
      throw error
    }
  }

  has(firstPosition: number): boolean {
    return this.#firsts[this.#find(firstPosition)] === firstPosition
  }

  /** What was submitted at a position, at once. */
  spec(firstPosition: number): JobSpec {
    return readJobSpec(this.#record(firstPosition), this.#interning)
  }

  /** What the job was replaced with that was submitted at a position, at once; null: it was not. */
  replacedInput(firstPosition: number): Payload | null {
    const { job } = readJob(this.#record(firstPosition), this.#interning)
    return job.replaced?.input ?? null
  }

  #record(firstPosition: number): ByteReader {
    const row = this.#find(firstPosition)
    if (this.#firsts[row] !== firstPosition) {
      throw damaged(this.#path, 0, `it lacks the job that was submitted at ${firstPosition}.`)
    }
    return this.#window.read(this.#offsets[row] as number)
  }

  /** Nothing was written through it, so nothing is lost if this fails. */
  async close(): Promise<void> {
    await this.#file.close().catch(() => undefined)
  }

  /** The first row whose position is not smaller. */
  #find(position: number): number {
    return countUpTo(position - 1, this.#firsts.length, (n) => this.#firsts[n] as number)
  }
}
