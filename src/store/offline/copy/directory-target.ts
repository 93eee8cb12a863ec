/**
 * A directory that a store on a database is copied into: its entries are written to a new log, in the
 * order of their positions. Positions in a log are places, so they are other ones. While it lasts the
 * folder says so, and is not opened.
 *
 * What does not follow from events, but from a baseline, is the checkpoint that the rest is folded
 * into.
 */
import { resolve } from 'node:path'
import type { Entry } from '../../../kernel/index.ts'
import {
  createMark,
  LogWriter,
  makeCheckpoint,
  realDisk,
  removeOtherCheckpoints,
  replaceFile,
  writeInitialCheckpoint,
} from '../../../log/index.ts'
import type { StoredBucket, Disk, Manifest, CheckpointMarker } from '../../../log/index.ts'
import type { OfflineOptions } from '../owned-folder.ts'
import { withOwnedFolder } from '../owned-folder.ts'
import { newStoreId } from '../../random.ts'
import { Records } from '../../sql/rows/records.ts'
import { BaselineState } from './baseline-state.ts'
import { COPYING_FILE, CopyUnfinished, NotEmpty } from '../../copy-errors.ts'
import type { CopySource } from './copy-source.ts'
import type { Copied } from './sql-target.ts'

const SEGMENT_BYTES = 32 * 1_024 * 1_024
/** Of a record in the log, beside the entry. */
const RECORD_BYTES = 128
/** Of a bucket in a waypoint: a name and a number. */
const BUCKET_BYTES = 1_024
/** A log begins at a multiple of this. */
const ALIGN = 4_096

export interface DirectoryTargetOptions extends OfflineOptions {
  /** Bytes of a segment file. Default 32 MiB. */
  readonly segmentBytes?: number
}

export async function copyIntoDirectory(
  source: CopySource,
  path: string,
  options: DirectoryTargetOptions,
  onProgress: (done: number, total: number) => void,
): Promise<Copied> {
  const { disk = realDisk, segmentBytes = SEGMENT_BYTES } = options
  const folder = resolve(path)
  await disk.makeFolder(folder)
  const names = await disk.list(folder)
  if (names.includes(COPYING_FILE)) throw new CopyUnfinished(folder)
  if (names.length > 0) throw new NotEmpty(folder)
  // BEFORE anything else: a folder without it may be taken for a store.
  await replaceFile(disk, `${folder}/${COPYING_FILE}`, Buffer.from('begun'))
  return withOwnedFolder(folder, options, async () => {
    const copied = await new DirectoryTarget(disk, folder, segmentBytes, onProgress).take(source)
    await disk.remove(`${folder}/${COPYING_FILE}`)
    await disk.syncFolder(folder)
    return copied
  })
}

class DirectoryTarget {
  readonly #disk: Disk
  readonly #folder: string
  readonly #segmentBytes: number
  readonly #onProgress: (done: number, total: number) => void
  readonly #storeId = newStoreId()
  readonly #records = new Records()
  /** Where the newest entry stands of each job that is there. */
  readonly #last = new Map<string, number>()
  #now = 0

  constructor(
    disk: Disk,
    folder: string,
    segmentBytes: number,
    onProgress: (done: number, total: number) => void,
  ) {
    this.#disk = disk
    this.#folder = folder
    this.#segmentBytes = segmentBytes
    this.#onProgress = onProgress
  }

  async take(source: CopySource): Promise<Copied> {
    const beginning = await BaselineState.of(source, this.#records)
    const old = beginning.jobs
    for (const [i, { job }] of old.entries()) {
      // Before the log, in the same order: nothing of their history is kept.
      job.firstPosition = i + 1
      job.lastPosition = i + 1
      this.#last.set(job.id, i + 1)
    }
    this.#now = beginning.now
    const base = beginning.isEmpty ? 0 : Math.ceil((old.length + 1) / ALIGN) * ALIGN
    await createMark(this.#disk, this.#folder, this.#storeId)
    const writer = await LogWriter.open(
      this.#disk,
      this.#folder,
      { segmentBytes: this.#segmentBytes, reserveBytes: 0, now: () => this.#now },
      { segments: [], storeId: this.#storeId, end: base, link: 0 },
    )
    try {
      const begun = beginning.isEmpty ? null : await this.#begin(writer, beginning)
      const events = await this.#append(writer, source, beginning)
      if (begun !== null) await this.#conclude(writer, source, begun)
      return { events, jobs: this.#last.size }
    } finally {
      await writer.close()
    }
  }

  /** The checkpoint that everything else goes on from. */
  async #begin(writer: LogWriter, beginning: BaselineState): Promise<Manifest> {
    const { jobs, queues, schedules, now } = beginning
    const marker = { now, queues: [], limits: [] }
    const position = await this.#marker(writer, marker)
    const given = { storeId: this.#storeId, position, marker, queues, schedules, jobs }
    return writeInitialCheckpoint(this.#disk, this.#folder, given)
  }

  /**
   * The checkpoint that the store opens with. What rates have used up was not known in the
   * beginning, so it does not follow from the log: the first checkpoint goes.
   */
  async #conclude(writer: LogWriter, { buckets }: CopySource, previous: Manifest): Promise<void> {
    const used = { queues: named(buckets.queues), limits: named(buckets.limits) }
    const position = await this.#marker(writer, { now: this.#now, ...used })
    const task = { folder: this.#folder, segments: [...writer.segments], previous, position }
    const { manifest } = await makeCheckpoint(this.#disk, task)
    await removeOtherCheckpoints(this.#disk, this.#folder, [manifest])
  }

  async #marker(writer: LogWriter, marker: CheckpointMarker): Promise<number> {
    const buckets = marker.queues.length + marker.limits.length
    await this.#room(writer, BUCKET_BYTES * (1 + buckets))
    const position = writer.appendMarker(marker)
    await writer.durable()
    return position
  }

  async #append(writer: LogWriter, source: CopySource, beginning: BaselineState): Promise<number> {
    let count = 0
    for await (const { events, done } of source.events()) {
      for (const event of events) {
        // What was given up may well be damaged.
        if (beginning.holdsOf(event)) continue
        const entry = this.#records.entry(event.record, event.position)
        if (beginning.holds(entry, event.position)) continue
        await this.#appendOne(writer, entry, event.record.length)
        count += 1
      }
      await writer.durable()
      this.#onProgress(done, source.total)
    }
    return count
  }

  async #appendOne(writer: LogWriter, entry: Entry, bytes: number): Promise<void> {
    this.#now = Math.max(this.#now, entry.at)
    await this.#room(writer, bytes + RECORD_BYTES)
    if (!('job' in entry)) {
      writer.append(entry, 0)
      return
    }
    const { job } = entry
    const isFirst = entry.type === 'JobSubmitted'
    const at = writer.append(entry, isFirst ? 0 : (this.#last.get(job) ?? 0))
    if (entry.type === 'JobForgotten') this.#last.delete(job)
    else this.#last.set(job, at)
  }

  async #room(writer: LogWriter, bytes: number): Promise<void> {
    for (let wait = writer.ensureRoom(bytes, false); wait !== null;) {
      await wait
      wait = writer.ensureRoom(bytes, false)
    }
  }
}

function named(buckets: ReadonlyMap<string, number>): StoredBucket[] {
  return [...buckets].flatMap(([name, fullAt]) => (fullAt > 0 ? [{ name, fullAt }] : []))
}
