/**
 * The segment files of a folder: which there are, whether their heads fit together, and how a
 * new one is made from the spare.
 */
import type { SegmentHead } from '../format/format.ts'
import {
  decodeSegmentHead,
  encodeSegmentHead,
  FORMAT,
  SEGMENT_HEAD,
  segmentBase,
  segmentName,
} from '../format/format.ts'
import { CorruptLog, isFull, NewerFormat } from '../errors.ts'
import type { Disk } from '../disk/disk.ts'
import { readUpTo, withFile, writeAll, writeZeros } from '../disk/disk.ts'

export interface Segment {
  readonly path: string
  readonly head: SegmentHead
}

const SPARE_FILE = 'spare'

/** In order. Throws when one is no segment, has a newer format, or belongs to another store. */
export async function listSegments(disk: Disk, folder: string): Promise<Segment[]> {
  const segments: Segment[] = []
  for (const name of await disk.list(folder)) {
    const base = segmentBase(name)
    if (base === null) continue
    const path = `${folder}/${name}`
    const head = await readHead(disk, path)
    const place = { file: path, offset: 0, position: base }
    if (head === null) throw new CorruptLog(place, 'it has no whole head.')
    if (head.format > FORMAT) throw new NewerFormat(path, head.format, FORMAT)
    const storeId = segments[0]?.head.storeId ?? head.storeId
    if (head.base !== base || head.storeId !== storeId) {
      throw new CorruptLog(place, 'its head belongs to another file.')
    }
    segments.push({ path, head })
  }
  return segments
}

/** Null: the file has no whole head. */
export async function readHead(disk: Disk, path: string): Promise<SegmentHead | null> {
  const bytes = await withFile(disk, path, 'read', (file) => readUpTo(file, 0, SEGMENT_HEAD))
  return decodeSegmentHead(bytes)
}

/** The whole file. */
export async function readSegment(disk: Disk, segment: Segment): Promise<Buffer> {
  return withFile(disk, segment.path, 'read', async (file) => readUpTo(file, 0, await file.size()))
}

/** A file full of zeros, so that later writes need no room and no change of size. */
export async function makeSpare(disk: Disk, folder: string, size: number): Promise<void> {
  const fresh = `${folder}/${SPARE_FILE}.new`
  await disk.remove(fresh)
  try {
    await withFile(disk, fresh, 'create', async (file) => {
      await writeZeros(file, 0, size)
      await file.sync()
    })
    await disk.rename(fresh, `${folder}/${SPARE_FILE}`)
  } catch (error) {
    // The one before stays, if there is one: it may be all the room that is left.
    await disk.remove(fresh).catch(() => undefined)
    throw error
  }
}

export async function removeSpare(disk: Disk, folder: string): Promise<void> {
  await disk.remove(`${folder}/${SPARE_FILE}.new`)
  await disk.remove(`${folder}/${SPARE_FILE}`)
}

/**
 * A segment without a group gets its name AGAIN: when it got it first, the sync of the folder
 * may have failed, and another one would not make up for that.
 */
export async function restartSegment(disk: Disk, folder: string, segment: Segment): Promise<void> {
  await disk.rename(segment.path, `${folder}/${SPARE_FILE}`)
  await startSegment(disk, folder, segment.head)
}

/** The spare file becomes the next segment of the log. */
export async function startSegment(
  disk: Disk,
  folder: string,
  head: SegmentHead,
): Promise<Segment> {
  const spare = `${folder}/${SPARE_FILE}`
  const path = `${folder}/${segmentName(head.base)}`
  await withFile(disk, spare, 'write', async (file) => {
    await writeAll(file, encodeSegmentHead(head), 0)
    // BEFORE it gets its name: a segment has a whole head, always.
    await file.sync()
  })
  await disk.rename(spare, path)
  // BEFORE anything is written to it: what is in a file without a name is lost.
  await disk.syncFolder(folder)
  return { path, head }
}

/**
 * The spare segment: a file of zeros that stands ready to become the next segment, so that the writer
 * finds out that the disk is full BEFORE an entry is decided, and not while it is written.
 *
 * None, being made, or ready. One thing happens to it at a time.
 */
export class Spare {
  readonly #disk: Disk
  readonly #folder: string
  readonly #usual: number
  /** Of the file that is ready; 0: there is none. */
  #size = 0
  #last: Promise<unknown> = Promise.resolve()

  constructor(disk: Disk, folder: string, usual: number) {
    this.#disk = disk
    this.#folder = folder
    this.#usual = usual
  }

  /** Bytes that a new segment would have for groups. */
  get room(): number {
    return this.#size === 0 ? 0 : this.#size - SEGMENT_HEAD
  }

  /** One that has this much room, of the usual size or larger; smaller only where that must do. */
  async make(room: number, smallIsFine: boolean): Promise<void> {
    await this.#afterLast(() => this.#make(room, smallIsFine))
  }

  /** The spare becomes the next segment, with room for so many bytes. */
  async become(head: Omit<SegmentHead, 'size'>, room: number): Promise<Segment> {
    return this.#afterLast(async () => {
      if (this.#size === 0 || this.room < room) await this.#make(room, true)
      const segment = await startSegment(this.#disk, this.#folder, { ...head, size: this.#size })
      this.#size = 0
      return segment
    })
  }

  /** Resolved when nothing is happening to it. */
  async idle(): Promise<void> {
    await this.#last
  }

  async #make(room: number, smallIsFine: boolean): Promise<void> {
    if (this.#size > 0 && this.room >= room) return
    const least = SEGMENT_HEAD + room
    const size = Math.max(this.#usual, least)
    try {
      await makeSpare(this.#disk, this.#folder, size)
      this.#size = size
    } catch (error) {
      if (!smallIsFine || !isFull(error)) throw error
      await makeSpare(this.#disk, this.#folder, least)
      this.#size = least
    }
  }

  #afterLast<T>(task: () => Promise<T>): Promise<T> {
    const done = this.#last.then(task)
    this.#last = done.catch(() => undefined)
    return done
  }
}
