/**
 * The archive: a folder that old segments are copied to, each under its own name, which stands for the
 * whole of it or for nothing.
 *
 * Nothing that is there is ever lost. A whole segment that is another one stays where it is: the archive
 * is used by another store, or by another copy of this one, which went on by itself. What is no whole
 * segment, as a copy that was broken off leaves it, makes room, and is kept under another name.
 */
import { ArchiveInUse } from '../errors.ts'
import { FORMAT } from '../format/format.ts'
import type { Disk, DiskFile } from '../disk/disk.ts'
import { copyFile, readUpTo, withFile } from '../disk/disk.ts'
import { scanSegment } from './segment-scan.ts'
import type { Segment } from './segments.ts'
import { readHead, readSegment } from './segments.ts'

const CHUNK_BYTES = 1_024 * 1_024

/**
 * Copies a segment to a folder, durably. `copier` tells processes apart that copy to one folder at
 * the same time. Returns where a file that had its name is kept now; null: there was none.
 */
export async function archiveSegment(
  disk: Disk,
  segment: Segment,
  folder: string,
  copier: string,
): Promise<string | null> {
  await disk.makeFolder(folder)
  const name = segment.path.slice(segment.path.lastIndexOf('/') + 1)
  let keptIn: string | null = null
  if (!(await isArchived(disk, segment, folder, name))) {
    const fresh = `${folder}/${name}.${copier}.new`
    await copyFile(disk, segment.path, fresh, null)
    // AFTER the copy, which takes a while: another process may have been quicker.
    if (!(await isArchived(disk, segment, folder, name))) {
      keptIn = await putAside(disk, folder, name, copier)
      await disk.rename(fresh, `${folder}/${name}`)
    }
  }
  for (const left of await disk.list(folder)) {
    // Of a copy that was broken off. A process that is copying just now finds the whole one next time.
    if (left.startsWith(`${name}.`) && left.endsWith('.new')) await disk.remove(`${folder}/${left}`)
  }
  await disk.syncFolder(folder)
  return keptIn
}

/** Whether the folder has this very segment. Throws if another whole one has its name there. */
async function isArchived(
  disk: Disk,
  segment: Segment,
  folder: string,
  name: string,
): Promise<boolean> {
  if (!(await disk.list(folder)).includes(name)) return false
  const there = `${folder}/${name}`
  if (await isSameFile(disk, segment.path, there)) {
    // The process that wrote it may have come no further than that.
    await withFile(disk, there, 'write', (file) => file.sync())
    return true
  }
  const other = await readWhole(disk, there)
  if (other === null) return false
  throw new ArchiveInUse(there, folder, segment.head.storeId, other.head.storeId)
}

/** What is put aside has a name that no other copier gives, and that no segment has. */
async function putAside(
  disk: Disk,
  folder: string,
  name: string,
  copier: string,
): Promise<string | null> {
  const names = new Set(await disk.list(folder))
  if (!names.has(name)) return null
  let number = 1
  while (names.has(`${name}.${copier}-${number}.aside`)) number += 1
  const aside = `${folder}/${name}.${copier}-${number}.aside`
  await disk.rename(`${folder}/${name}`, aside)
  return aside
}

/** The segment in a file; null: there is none, or not all of it. */
async function readWhole(disk: Disk, path: string): Promise<Segment | null> {
  const head = await readHead(disk, path)
  if (head === null) return null
  const segment = { path, head }
  // Only a version that knows that format can say whether all of it is there.
  if (head.format > FORMAT) return segment
  const bytes = await readSegment(disk, segment)
  if (bytes.length < head.size) return null
  const { stop } = scanSegment(bytes, head.base, head.link, Infinity, () => undefined)
  return stop.restIsBlank ? segment : null
}

async function isSameFile(disk: Disk, one: string, other: string): Promise<boolean> {
  return withFile(disk, one, 'read', (a) =>
    withFile(disk, other, 'read', (b) => hasSameBytes(a, b)),
  )
}

async function hasSameBytes(a: DiskFile, b: DiskFile): Promise<boolean> {
  const size = await a.size()
  if (size !== (await b.size())) return false
  for (let at = 0; at < size; at += CHUNK_BYTES) {
    const piece = await readUpTo(a, at, CHUNK_BYTES)
    if (!piece.equals(await readUpTo(b, at, CHUNK_BYTES))) return false
  }
  return true
}
