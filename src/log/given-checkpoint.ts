/**
 * A checkpoint of jobs that no log leads to: the beginning of a store that was copied from elsewhere,
 * where its older entries are not known. It stands at a waypoint at the very beginning of the log.
 */
import type { Queue, Schedule } from '../kernel/index.ts'
import { isFinal, jobEndedAt, jobState } from '../kernel/index.ts'
import { addLiveTable } from './live-file.ts'
import type { Manifest } from './manifest.ts'
import { writeManifest } from './manifest.ts'
import type { Disk } from './port.ts'
import type { JobRecord } from './record-codec.ts'
import { recordTallies, writeJob } from './record-codec.ts'
import { RecordFileWriter } from './record-file.ts'
import { addTables, rowOf, ShelfRows } from './shelf-tables.ts'
import type { Waypoint } from './waypoint.ts'

export interface GivenState {
  readonly storeId: string
  /** Of the waypoint. */
  readonly position: number
  readonly waypoint: Waypoint
  readonly queues: readonly Queue[]
  readonly schedules: readonly Schedule[]
  /** In the order of their first positions, all of which are before the log. */
  readonly jobs: Iterable<JobRecord>
}

export async function writeGivenCheckpoint(
  disk: Disk,
  folder: string,
  given: GivenState,
): Promise<Manifest> {
  const { position, waypoint, storeId, queues, schedules } = given
  const suffix = position.toString(16).padStart(16, '0')
  const live = await RecordFileWriter.create(disk, folder, `live-${suffix}`)
  const ended = await RecordFileWriter.create(disk, folder, `shelf-${suffix}`)
  const rows = new ShelfRows()
  const firsts: number[] = []
  const offsets: number[] = []
  for (const { job, stages } of given.jobs) {
    const tallies = recordTallies({ job, stages })
    const isOver = isFinal(jobState(job, tallies, waypoint.now))
    const file = isOver ? ended : live
    const offset = file.add((writer) => writeJob(writer, job, stages))
    if (isOver) {
      rows.push(rowOf(job, offset, jobEndedAt(job, tallies)))
    } else {
      firsts.push(job.firstPosition)
      offsets.push(offset)
    }
    if (file.isFull) await file.flush()
  }
  const sealed = live.seal()
  const liveFile = { ...sealed, table: addLiveTable(live, firsts, offsets) }
  await live.finish()
  const shelf = {
    ...ended.seal(),
    tables: addTables(ended, rows),
    gone: [],
    kinds: rows.kinds.list,
  }
  await ended.finish()
  if (shelf.records === 0) await disk.remove(`${folder}/${shelf.name}`)
  await disk.syncFolder(folder)
  // LAST: from here on there is a checkpoint.
  const shelves = shelf.records === 0 ? [] : [shelf]
  const manifest: Manifest = {
    storeId,
    position,
    waypoint,
    live: liveFile,
    shelves,
    queues,
    schedules,
  }
  await writeManifest(disk, folder, manifest)
  return manifest
}
