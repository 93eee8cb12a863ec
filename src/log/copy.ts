/**
 * Copies files of a log: to archive a segment, or to back up a whole store.
 */
import { ArchiveInUse, FolderNotEmpty } from './errors.ts'
import { offsetOf } from './format.ts'
import { MARK_FILE, replaceMark } from './mark.ts'
import type { Manifest } from './manifest.ts'
import { filesOf } from './checkpoint-files.ts'
import type { Disk } from './port.ts'
import { readUpTo, replaceFile, writeAll } from './port.ts'
import type { Segment } from './segments.ts'
import { readHead, writeZeros } from './segments.ts'

const CHUNK_BYTES = 1_024 * 1_024
/** Of a mark with nothing in it. */
const MARK_BYTES = 64

/**
 * Copies a segment to a folder, durably, under its own name, which stands for the whole of it or for
 * nothing. What is there already is never replaced: either it is this segment, or the archive is used
 * by another store, or by another copy of this one, which went on by itself. `copier` tells those
 * who copy to one folder at once apart.
 */
export async function archiveSegment(
  disk: Disk,
  segment: Segment,
  folder: string,
  copier: string,
): Promise<void> {
  await disk.makeFolder(folder)
  const name = segment.path.slice(segment.path.lastIndexOf('/') + 1)
  if (!(await isArchived(disk, segment, folder, name))) {
    const fresh = `${folder}/${name}.${copier}.new`
    await copyFile(disk, segment.path, fresh, null)
    // AFTER the copy, which takes a while: somebody else may have been quicker.
    if (!(await isArchived(disk, segment, folder, name))) {
      await disk.rename(fresh, `${folder}/${name}`)
    }
  }
  for (const left of await disk.list(folder)) {
    // Of a try that came to no end. Whoever is at it just now finds the whole one next time.
    if (left.startsWith(`${name}.`) && left.endsWith('.new')) await disk.remove(`${folder}/${left}`)
  }
  await disk.syncFolder(folder)
}

/** Whether the folder has this very segment. Throws if something else has its name there. */
async function isArchived(
  disk: Disk,
  segment: Segment,
  folder: string,
  name: string,
): Promise<boolean> {
  if (!(await disk.list(folder)).includes(name)) return false
  const there = `${folder}/${name}`
  if (await isSameFile(disk, segment.path, there)) return true
  const head = await readHead(disk, there)
  throw new ArchiveInUse(there, folder, segment.head.storeId, head?.storeId ?? null)
}

async function isSameFile(disk: Disk, one: string, other: string): Promise<boolean> {
  const [a, b] = [await disk.open(one, 'read'), await disk.open(other, 'read')]
  try {
    const size = await a.size()
    if (size !== (await b.size())) return false
    for (let at = 0; at < size; at += CHUNK_BYTES) {
      const piece = await readUpTo(a, at, CHUNK_BYTES)
      if (!piece.equals(await readUpTo(b, at, CHUNK_BYTES))) return false
    }
    return true
  } finally {
    await a.close()
    await b.close()
  }
}

/** `upTo`: bytes behind it are left out; null: all of it is copied. */
async function copyFile(
  disk: Disk,
  from: string,
  to: string,
  upTo: { readonly bytes: number; readonly size: number } | null,
): Promise<void> {
  const source = await disk.open(from, 'read')
  try {
    const end = upTo?.bytes ?? (await source.size())
    await disk.remove(to)
    const target = await disk.open(to, 'create')
    try {
      for (let at = 0; at < end; at += CHUNK_BYTES) {
        await writeAll(target, await readUpTo(source, at, Math.min(CHUNK_BYTES, end - at)), at)
      }
      // Written, not left as a hole: later writes into it must need no room.
      if (upTo !== null) await writeZeros(target, end, upTo.size)
      await target.sync()
    } finally {
      await target.close()
    }
  } finally {
    await source.close()
  }
}

export interface BackupTask {
  readonly disk: Disk
  readonly from: string
  readonly to: string
  readonly segments: readonly Segment[]
  readonly manifests: readonly Manifest[]
  /** Everything before this position is durable, and copied. */
  readonly position: number
  /** Copies what else belongs to it: AFTER the position is fixed, and BEFORE the copy opens. */
  readonly also: () => Promise<void>
}

/**
 * A copy of a store as it is at this moment, while it goes on. Its mark is whole only in the
 * end: a backup that was cut short does not open.
 */
export async function backUp(task: BackupTask): Promise<{ files: number; position: number }> {
  const { disk, from, to, segments, manifests, position, also } = task
  const last = segments.at(-1)
  if (last === undefined) throw new Error('There is no log to back up.')
  await disk.makeFolder(to)
  if ((await disk.list(to)).length > 0) {
    throw new FolderNotEmpty(to)
  }
  // FIRST a mark that says nothing: a folder without one could pass for one that is new.
  await replaceFile(disk, `${to}/${MARK_FILE}`, Buffer.alloc(MARK_BYTES))
  const names = new Set(manifests.flatMap(filesOf))
  for (const name of names) await copyFile(disk, `${from}/${name}`, `${to}/${name}`, null)
  for (const segment of segments) {
    const name = segment.path.slice(segment.path.lastIndexOf('/') + 1)
    const bytes = offsetOf(segment.head.base, position)
    const cut = segment === last ? { bytes, size: segment.head.size } : null
    await copyFile(disk, segment.path, `${to}/${name}`, cut)
  }
  await also()
  await disk.syncFolder(to)
  await replaceMark(disk, to, last.head.storeId, position)
  return { files: names.size + segments.length + 1, position }
}
