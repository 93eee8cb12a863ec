/**
 * Copies files of a log: one of them, or a whole store to back it up.
 */
import { FolderNotEmpty } from '../errors.ts'
import { offsetOf } from '../format/format.ts'
import { MARK_FILE, replaceMark } from '../segments/durable-mark.ts'
import type { Manifest } from './manifest.ts'
import { filesOf } from './checkpoint-files.ts'
import type { Disk } from '../disk/disk.ts'
import { readUpTo, replaceFile, writeAll } from '../disk/disk.ts'
import type { Segment } from '../segments/segments.ts'
import { writeZeros } from '../segments/segments.ts'

const CHUNK_BYTES = 1_024 * 1_024
/** Of a mark with nothing in it. */
const MARK_BYTES = 64

/** `upTo`: bytes behind it are left out; null: all of it is copied. */
export async function copyFile(
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
