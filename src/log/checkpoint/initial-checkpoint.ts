/**
 * A checkpoint of jobs that no log leads to: the beginning of a store that was copied from elsewhere,
 * where its older entries are not known. It stands at a waypoint at the very beginning of the log.
 */
import type { Queue, Schedule } from '../../kernel/index.ts'
import { isFinal, jobEndedAt, jobState } from '../../kernel/index.ts'
import { addLiveTable } from './live-file.ts'
import type { Manifest } from './manifest.ts'
import { writeManifest } from './manifest.ts'
import type { Disk } from '../disk/disk.ts'
import type { JobRecord } from '../format/record-codec.ts'
import { recordTallies, writeJob } from '../format/record-codec.ts'
import { RecordFileWriter } from './record-file.ts'
import { addIndexes, rowOf, FinishedRows } from './finished-index.ts'
import type { CheckpointMarker } from '../format/checkpoint-marker.ts'

export interface InitialState {
  readonly storeId: string
  /** Of the waypoint. */
  readonly position: number
  readonly marker: CheckpointMarker
  readonly queues: readonly Queue[]
  readonly schedules: readonly Schedule[]
  /** In the order of their first positions, all of which are before the log. */
  readonly jobs: Iterable<JobRecord>
}

export async function writeInitialCheckpoint(
  disk: Disk,
  folder: string,
  given: InitialState,
): Promise<Manifest> {
  const { position, marker, storeId, queues, schedules } = given
  const suffix = position.toString(16).padStart(16, '0')
  const live = await RecordFileWriter.create(disk, folder, `live-${suffix}`)
  const ended = await RecordFileWriter.create(disk, folder, `shelf-${suffix}`)
  const rows = new FinishedRows()
  const firsts: number[] = []
  const offsets: number[] = []
  for (const { job, stages } of given.jobs) {
    const tallies = recordTallies({ job, stages })
    const isOver = isFinal(jobState(job, tallies, marker.now))
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
  const finishedFile = {
    ...ended.seal(),
    tables: addIndexes(ended, rows),
    gone: [],
    kinds: rows.kinds.list,
  }
  await ended.finish()
  if (finishedFile.records === 0) await disk.remove(`${folder}/${finishedFile.name}`)
  await disk.syncFolder(folder)
  // LAST: from here on there is a checkpoint.
  const finishedFiles = finishedFile.records === 0 ? [] : [finishedFile]
  const manifest: Manifest = {
    storeId,
    position,
    marker,
    live: liveFile,
    finishedFiles,
    queues,
    schedules,
  }
  await writeManifest(disk, folder, manifest)
  return manifest
}
