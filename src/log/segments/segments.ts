/**
 * The segment files of a folder: which there are, whether their heads fit together, and how a
 * new one is made.
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
import { CorruptLog, NewerFormat } from '../errors.ts'
import type { Disk, DiskFile } from '../disk/disk.ts'
import { readUpTo, writeAll } from '../disk/disk.ts'

export interface Segment {
  readonly path: string
  readonly head: SegmentHead
}

const SPARE_FILE = 'spare'
const ZEROS = Buffer.alloc(1_024 * 1_024)

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
  const file = await disk.open(path, 'read')
  try {
    return decodeSegmentHead(await readUpTo(file, 0, SEGMENT_HEAD))
  } finally {
    await file.close()
  }
}

/** The whole file. */
export async function readSegment(disk: Disk, segment: Segment): Promise<Buffer> {
  const file = await disk.open(segment.path, 'read')
  try {
    return await readUpTo(file, 0, await file.size())
  } finally {
    await file.close()
  }
}

export async function writeZeros(file: DiskFile, from: number, to: number): Promise<void> {
  for (let at = from; at < to; at += ZEROS.length) {
    await writeAll(file, ZEROS.subarray(0, Math.min(ZEROS.length, to - at)), at)
  }
}

/** A file full of zeros, so that later writes need no room and no change of size. */
export async function makeSpare(disk: Disk, folder: string, size: number): Promise<void> {
  const fresh = `${folder}/${SPARE_FILE}.new`
  await disk.remove(fresh)
  try {
    const file = await disk.open(fresh, 'create')
    try {
      await writeZeros(file, 0, size)
      await file.sync()
    } finally {
      await file.close()
    }
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
  const file = await disk.open(spare, 'write')
  try {
    await writeAll(file, encodeSegmentHead(head), 0)
    // BEFORE it gets its name: a segment has a whole head, always.
    await file.sync()
  } finally {
    await file.close()
  }
  await disk.rename(spare, path)
  // BEFORE anything is written to it: what is in a file without a name is lost.
  await disk.syncFolder(folder)
  return { path, head }
}
