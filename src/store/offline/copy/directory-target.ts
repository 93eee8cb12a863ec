/**
 * A directory that a store on a database is copied into: its entries are written to a new log, in the
 * order of their positions. Positions in a log are offsets, so the entries get new ones. Until the copy is
 * whole, a file keeps the folder from being opened.
 *
 * State that does not follow from events, but from baselines, becomes the checkpoint that the log goes on
 * from.
 */
import { resolve } from 'node:path'
import type { Entry, Queue, Schedule } from '../../../kernel/index.ts'
import {
  createMark,
  LogWriter,
  makeCheckpoint,
  realDisk,
  removeOtherCheckpoints,
  replaceFile,
  writeInitialCheckpoint,
} from '../../../log/index.ts'
import type {
  StoredBucket,
  Disk,
  JobRecord,
  Manifest,
  CheckpointMarker,
} from '../../../log/index.ts'
import type { OfflineOptions } from '../owned-folder.ts'
import { withOwnedFolder } from '../owned-folder.ts'
import { newStoreId } from '../../random.ts'
import type { Baseline, EventRow } from '../../sql/rows/event-rows.ts'
import { Records } from '../../sql/rows/records.ts'
import { JobFold, NO_LISTENER } from '../../sql/verify/job-fold.ts'
import { QueueScheduleFold } from '../../sql/verify/queue-and-schedule-check.ts'
import { COPYING_FILE, CopyUnfinished } from '../../errors.ts'
import type { Copied, CopyProgress, CopySource } from './copy-source.ts'
import { NotEmpty, SourceDamaged } from './copy-source.ts'

const SEGMENT_BYTES = 32 * 1_024 * 1_024
/** Of a record in the log, beside the entry. */
const RECORD_BYTES = 128
/** Of a bucket in a checkpoint marker: a name and a number. */
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
  onProgress: CopyProgress,
): Promise<Copied> {
  const { disk = realDisk, segmentBytes = SEGMENT_BYTES } = options
  const folder = resolve(path)
  await disk.makeFolder(folder)
  const names = await disk.list(folder)
  if (names.includes(COPYING_FILE)) throw new CopyUnfinished(folder)
  if (names.length > 0) throw new NotEmpty(folder)
  // BEFORE anything else: a folder without this file could be opened as a store.
  await replaceFile(disk, `${folder}/${COPYING_FILE}`, Buffer.from('begun'))
  return withOwnedFolder(folder, options, async () => {
    const copied = await new DirectoryTarget(disk, folder, segmentBytes, onProgress).copyFrom(
      source,
    )
    await disk.remove(`${folder}/${COPYING_FILE}`)
    await disk.syncFolder(folder)
    return copied
  })
}

class DirectoryTarget {
  readonly #disk: Disk
  readonly #folder: string
  readonly #segmentBytes: number
  readonly #onProgress: CopyProgress
  readonly #storeId = newStoreId()
  readonly #records = new Records()
  /** Where the newest entry stands of each job that is there. */
  readonly #last = new Map<string, number>()
  #now = 0

  constructor(disk: Disk, folder: string, segmentBytes: number, onProgress: CopyProgress) {
    this.#disk = disk
    this.#folder = folder
    this.#segmentBytes = segmentBytes
    this.#onProgress = onProgress
  }

  async copyFrom(source: CopySource): Promise<Copied> {
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
      const begun = beginning.isEmpty ? null : await this.#writeFirstCheckpoint(writer, beginning)
      const events = await this.#appendEvents(writer, source, beginning)
      if (begun !== null) await this.#writeLastCheckpoint(writer, source, begun)
      return { events, jobs: this.#last.size }
    } finally {
      await writer.close()
    }
  }

  /** The checkpoint that everything else goes on from. */
  async #writeFirstCheckpoint(writer: LogWriter, beginning: BaselineState): Promise<Manifest> {
    const { jobs, queues, schedules, now } = beginning
    const marker = { now, queues: [], limits: [] }
    const position = await this.#appendMarker(writer, marker)
    const given = { storeId: this.#storeId, position, marker, queues, schedules, jobs }
    return writeInitialCheckpoint(this.#disk, this.#folder, given)
  }

  /**
   * The checkpoint that the store opens with. What rates have used up was not known in the
   * beginning, so it does not follow from the log: the first checkpoint goes.
   */
  async #writeLastCheckpoint(
    writer: LogWriter,
    { buckets }: CopySource,
    previous: Manifest,
  ): Promise<void> {
    const used = { queues: named(buckets.queues), limits: named(buckets.limits) }
    const position = await this.#appendMarker(writer, { now: this.#now, ...used })
    const task = { folder: this.#folder, segments: [...writer.segments], previous, position }
    const { manifest } = await makeCheckpoint(this.#disk, task)
    await removeOtherCheckpoints(this.#disk, this.#folder, [manifest])
  }

  async #appendMarker(writer: LogWriter, marker: CheckpointMarker): Promise<number> {
    const buckets = marker.queues.length + marker.limits.length
    await this.#waitForRoom(writer, BUCKET_BYTES * (1 + buckets))
    const position = writer.appendMarker(marker)
    await writer.durable()
    return position
  }

  async #appendEvents(
    writer: LogWriter,
    source: CopySource,
    beginning: BaselineState,
  ): Promise<number> {
    let count = 0
    for await (const { events, done } of source.events()) {
      for (const event of events) {
        // Events that were given up may well be damaged.
        if (beginning.holdsOf(event)) continue
        const entry = this.#records.entry(event.record, event.position)
        if (beginning.holds(entry, event.position)) continue
        await this.#appendEntry(writer, entry, event.record.length)
        count += 1
      }
      await writer.durable()
      this.#onProgress(done, source.total)
    }
    return count
  }

  async #appendEntry(writer: LogWriter, entry: Entry, bytes: number): Promise<void> {
    this.#now = Math.max(this.#now, entry.at)
    await this.#waitForRoom(writer, bytes + RECORD_BYTES)
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

  async #waitForRoom(writer: LogWriter, bytes: number): Promise<void> {
    for (let wait = writer.ensureRoom(bytes, false); wait !== null;) {
      await wait
      wait = writer.ensureRoom(bytes, false)
    }
  }
}

function named(buckets: ReadonlyMap<string, number>): StoredBucket[] {
  return [...buckets].flatMap(([name, fullAt]) => (fullAt > 0 ? [{ name, fullAt }] : []))
}

/** The state that the baselines of a database hold, which no event leads to. It is as large as they are. */
class BaselineState {
  /** In the order in which they were submitted. */
  readonly jobs: readonly JobRecord[]
  readonly queues: readonly Queue[]
  readonly schedules: readonly Schedule[]
  /** The newest time in it. */
  readonly now: number
  readonly isEmpty: boolean
  /** Up to which position it holds, by kind and name. */
  readonly #through: ReadonlyMap<string, number>

  private constructor(
    jobs: readonly JobRecord[],
    folded: QueueScheduleFold,
    through: ReadonlyMap<string, number>,
  ) {
    this.jobs = jobs
    this.queues = [...folded.queues.values()]
    this.schedules = [...folded.schedules.values()]
    this.#through = through
    this.isEmpty = through.size === 0
    const times = [...this.queues, ...this.schedules].map(({ time }) => time)
    this.now = [...times, ...jobs.map(latestTime)].reduce((a, b) => Math.max(a, b), 0)
  }

  static async of(source: CopySource, records: Records): Promise<BaselineState> {
    const ofQueuesAndSchedules: Baseline[] = []
    const byJob = new Map<string, Baseline[]>()
    const through = new Map<string, number>()
    for await (const page of source.baselines()) {
      for (const one of page) {
        const isOfJob = one.kind !== 'queue' && one.kind !== 'schedule'
        const name = isOfJob ? `job/${one.name}` : `${one.kind}/${one.name}`
        through.set(name, Math.max(one.through, through.get(name) ?? 0))
        if (!isOfJob) ofQueuesAndSchedules.push(one)
        else byJob.set(one.name, [...(byJob.get(one.name) ?? []), one])
      }
    }
    const carried = await jobsToCarry(source)
    for (const id of carried) {
      const known = through.get(`job/${id}`) ?? 0
      through.set(`job/${id}`, Math.max(known, source.removed?.through ?? 0))
      if (!byJob.has(id)) byJob.set(id, [])
    }
    const folded = new QueueScheduleFold(ofQueuesAndSchedules, records, NO_LISTENER)
    const [wrong] = folded.wrong
    if (wrong !== undefined) throw new SourceDamaged(wrong.what)
    const jobs =
      byJob.size === 0 ? [] : await foldJobs(source, { byJob, through, carried }, records)
    return new BaselineState(jobs, folded, through)
  }

  /** Whether the event of a job is counted in it. The record need not be readable. */
  holdsOf({ job, position }: EventRow): boolean {
    return job !== null && position <= (this.#through.get(`job/${job}`) ?? -1)
  }

  /** Whether the event of a queue or a schedule is counted in it. */
  holds(entry: Entry, position: number): boolean {
    if ('job' in entry) return false
    const name = 'queue' in entry ? `queue/${entry.queue}` : `schedule/${entry.schedule}`
    return position <= (this.#through.get(name) ?? -1)
  }
}

/**
 * Jobs that recorded effects before the history that is whole: a child that one of these was for may be
 * removed, and a directory must have it. So such a job begins as it was then.
 */
async function jobsToCarry(source: CopySource): Promise<ReadonlySet<string>> {
  const carried = new Set<string>()
  const through = source.removed?.through ?? 0
  if (through === 0) return carried
  for await (const { events } of source.events()) {
    for (const { job, type, position } of events) {
      if (type === 'EffectFinished' && position <= through && job !== null) carried.add(job)
    }
  }
  return carried
}

interface JobsToFold {
  readonly byJob: ReadonlyMap<string, readonly Baseline[]>
  /** Up to where, by kind and name. */
  readonly through: ReadonlyMap<string, number>
  /** These are folded from their events. */
  readonly carried: ReadonlySet<string>
}

/** Jobs as their baselines say, with what they were submitted by, or as their events say. */
async function foldJobs(
  source: CopySource,
  { byJob, through, carried }: JobsToFold,
  records: Records,
): Promise<JobRecord[]> {
  const folds = new Map<string, JobFold>()
  for (const [id, own] of byJob) folds.set(id, new JobFold(id, own, records, NO_LISTENER))
  for await (const { events } of source.events()) {
    for (const event of events) {
      if (event.job === null) continue
      if (event.type !== 'JobSubmitted' && !carried.has(event.job)) continue
      if (event.position <= (through.get(`job/${event.job}`) ?? -1)) {
        folds.get(event.job)?.apply(event)
      }
    }
  }
  const jobs: JobRecord[] = []
  for (const fold of folds.values()) {
    fold.finish()
    const [wrong] = fold.wrong
    if (wrong !== undefined) throw new SourceDamaged(`job ${fold.id}: ${wrong.what}`)
    if (fold.record !== null) jobs.push(fold.record)
  }
  return jobs.toSorted((a, b) => a.job.firstPosition - b.job.firstPosition)
}

function latestTime({ job, stages }: JobRecord): number {
  const tasks = job.task === null ? (stages ?? []).flatMap((one) => one ?? []) : [job.task]
  return tasks.reduce((latest, { time }) => Math.max(latest, time), job.time)
}
