/**
 * Backs a store up: copies its log and its checkpoints to another folder while the store goes on.
 */
import { FolderNotEmpty } from '../errors.ts'
import { offsetOf } from '../format/format.ts'
import { MARK_FILE, replaceMark } from '../segments/durable-mark.ts'
import type { Manifest } from './manifest.ts'
import { filesOf } from './manifest.ts'
import type { Disk } from '../disk/disk.ts'
import { copyFile, replaceFile } from '../disk/disk.ts'
import type { Segment } from '../segments/segments.ts'

/** Of a mark with nothing in it. */
const MARK_BYTES = 64

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
