/**
 * The manifest of a checkpoint: which files it consists of, what they must hold, and the few
 * things that are small enough to stand in the manifest itself.
 *
 * It is written last, whole, and under its name only when everything it names is durable and
 * was read back: a checkpoint is there when its manifest is.
 */
import { crc32 } from '../disk/crc32.ts'
import type { Queue, Schedule } from '../../kernel/index.ts'
import { ByteReader, ByteWriter, MalformedBytes } from '../format/bytes.ts'
import { NewerFormat } from '../errors.ts'
import { checksumOf } from '../format/checksum.ts'
import { Interning } from '../format/interning.ts'
import type { Disk } from '../disk/disk.ts'
import { readUpTo, replaceFile, withFile } from '../disk/disk.ts'
import { readQueue, readSchedule, writeQueue, writeSchedule } from '../format/queue-codec.ts'
import type { LiveFileInfo } from './live-file.ts'
import type { RecordFile } from './record-file.ts'
import type { FinishedFileInfo, FinishedKind } from './finished-index.ts'
import type { CheckpointMarker } from '../format/checkpoint-marker.ts'
import { readMarker, writeMarker } from '../format/checkpoint-marker.ts'

const MAGIC = 'PAWL-CHK'
/** Of the manifest and of the files that it names. A newer one is refused. */
export const CHECKPOINT_FORMAT = 1
const HEAD = 16

export interface Manifest {
  readonly storeId: string
  /** Of the marker: everything before it is in here, nothing behind it. */
  readonly position: number
  readonly marker: CheckpointMarker
  /** Jobs that are not over, in order of submission. */
  readonly live: LiveFileInfo
  /** Jobs that are over, oldest file first. */
  readonly finishedFiles: readonly FinishedFileInfo[]
  readonly queues: readonly Queue[]
  readonly schedules: readonly Schedule[]
  /** Jobs that the log has as they were before they were erased, in the order in which they were. */
  readonly erased: readonly ErasedJob[]
}

/** A job that was erased, forgotten since or not. */
export interface ErasedJob {
  readonly job: string
  /** Of its first entry: another job may have had the id before. */
  readonly from: number
  /** Of its `JobErased`: another job may have the id later. */
  readonly through: number
}

const PART = /^(?:live|finished)-[0-9a-f]{16}$|^checkpoint-[0-9a-f]{16}\.new$/

export function manifestName(position: number): string {
  return `checkpoint-${position.toString(16).padStart(16, '0')}`
}

export function manifestPosition(name: string): number | null {
  const digits = /^checkpoint-([0-9a-f]{16})$/.exec(name)?.[1]
  return digits === undefined ? null : Number.parseInt(digits, 16)
}

export async function writeManifest(disk: Disk, folder: string, manifest: Manifest): Promise<void> {
  const writer = new ByteWriter(4_096)
  writer.at = HEAD
  writer.text(manifest.storeId)
  writer.count(manifest.position)
  writeMarker(writer, manifest.marker)
  writeFile(writer, manifest.live)
  writer.u32(manifest.live.index)
  writer.count(manifest.finishedFiles.length)
  for (const finishedFile of manifest.finishedFiles) {
    writeFile(writer, finishedFile)
    writer.u32(finishedFile.index)
    writer.count(finishedFile.cellBytes)
    writer.count(finishedFile.gone.length)
    for (const row of finishedFile.gone) writer.count(row)
    writeKinds(writer, finishedFile.kinds)
  }
  writer.count(manifest.queues.length)
  for (const queue of manifest.queues) writeQueue(writer, queue)
  writer.count(manifest.schedules.length)
  for (const schedule of manifest.schedules) writeSchedule(writer, schedule)
  writer.count(manifest.erased.length)
  for (const { job, from, through } of manifest.erased) {
    writer.text(job)
    writer.count(from)
    writer.count(through)
  }
  const bytes = writer.buffer.subarray(0, writer.at)
  bytes.write(MAGIC, 0, 'latin1')
  bytes.writeUInt32LE(CHECKPOINT_FORMAT, 8)
  bytes.writeUInt32LE(checksum(bytes), 12)
  await replaceFile(disk, `${folder}/${manifestName(manifest.position)}`, bytes)
}

/** Null: it does not check. */
export async function readManifest(
  disk: Disk,
  folder: string,
  position: number,
): Promise<Manifest | null> {
  const path = `${folder}/${manifestName(position)}`
  const bytes = await withFile(disk, path, 'read', async (file) =>
    readUpTo(file, 0, await file.size()),
  )
  if (bytes.length < HEAD || bytes.toString('latin1', 0, 8) !== MAGIC) return null
  if (bytes.readUInt32LE(12) !== checksum(bytes)) return null
  const format = bytes.readUInt32LE(8)
  if (format > CHECKPOINT_FORMAT) throw new NewerFormat(path, format, CHECKPOINT_FORMAT)
  try {
    const manifest = decode(new ByteReader(bytes, HEAD, bytes.length))
    return manifest.position === position ? manifest : null
  } catch (error) {
    if (error instanceof MalformedBytes) return null
    throw error
  }
}

/** Of everything but the place where it stands itself. */
function checksum(bytes: Buffer): number {
  return crc32(bytes.subarray(HEAD), checksumOf(bytes, 0, 12))
}

function decode(reader: ByteReader): Manifest {
  const interning = new Interning()
  return {
    storeId: reader.text(),
    position: reader.count(),
    marker: readMarker(reader),
    live: { ...readFile(reader), index: reader.u32() },
    finishedFiles: reader.list(() => ({
      ...readFile(reader),
      index: reader.u32(),
      cellBytes: reader.count(),
      gone: reader.list(() => reader.count()),
      kinds: reader.list(() => readKind(reader)),
    })),
    queues: reader.list(() => readQueue(reader, interning)),
    schedules: reader.list(() => readSchedule(reader, interning)),
    erased: reader.list(() => ({
      job: reader.text(),
      from: reader.count(),
      through: reader.count(),
    })),
  }
}

function writeKinds(writer: ByteWriter, kinds: readonly FinishedKind[]): void {
  writer.count(kinds.length)
  for (const { type, retainMs, rows } of kinds) {
    writer.text(type)
    writer.flag(retainMs !== null)
    if (retainMs !== null) writer.count(retainMs)
    writer.count(rows)
  }
}

function readKind(reader: ByteReader): FinishedKind {
  const type = reader.text()
  const retainMs = reader.flag() ? reader.count() : null
  return { type, retainMs, rows: reader.count() }
}

function writeFile(writer: ByteWriter, file: RecordFile): void {
  writer.text(file.name)
  writer.count(file.records)
  writer.count(file.end)
  writer.u32(file.link)
}

function readFile(reader: ByteReader): RecordFile {
  return {
    name: reader.text(),
    records: reader.count(),
    end: reader.count(),
    link: reader.u32(),
  }
}

/** Newest first; those that do not check are left out, and counted. */
export async function listCheckpoints(
  disk: Disk,
  folder: string,
): Promise<{ manifests: Manifest[]; bad: number[] }> {
  const manifests: Manifest[] = []
  const bad: number[] = []
  for (const name of (await disk.list(folder)).toReversed()) {
    const position = manifestPosition(name)
    if (position === null) continue
    const manifest = await readManifest(disk, folder, position)
    if (manifest === null) bad.push(position)
    else manifests.push(manifest)
  }
  return { manifests, bad }
}

export function filesOf(manifest: Manifest): string[] {
  return [
    manifestName(manifest.position),
    manifest.live.name,
    ...manifest.finishedFiles.map(({ name }) => name),
  ]
}

/** Removes every checkpoint, and every part of one, that is not among those to keep. */
export async function removeOtherCheckpoints(
  disk: Disk,
  folder: string,
  keep: readonly Manifest[],
): Promise<void> {
  const kept = new Set(keep.flatMap(filesOf))
  const others = (await disk.list(folder)).filter(
    (name) => !kept.has(name) && (PART.test(name) || manifestPosition(name) !== null),
  )
  // Manifests first: one must never name a file that is gone.
  const manifests = others.filter((name) => manifestPosition(name) !== null)
  for (const name of manifests) await disk.remove(`${folder}/${name}`)
  if (manifests.length > 0) await disk.syncFolder(folder)
  for (const name of others) if (PART.test(name)) await disk.remove(`${folder}/${name}`)
}
