/**
 * Makes a checkpoint: the one before, and the log since, folded into a new one.
 *
 * It is made from the log and never from the state in memory, so each one that is made proves
 * that the log can be replayed. Jobs are folded one by one: records that nothing happened to
 * are copied, and memory holds those that were submitted since the checkpoint before and go on.
 *
 * Jobs that are over go to a file of finished jobs. A new file takes in the smaller ones before it, so
 * there are few of them, each at least twice as large as the next, and a job is copied a few times
 * only, however long the history.
 */
import type { Queue, Schedule, Tallies, World } from '../../kernel/index.ts'
import {
  createWorld,
  fold,
  isFinal,
  jobEndedAt,
  jobState,
  jobViolations,
  PawlError,
} from '../../kernel/index.ts'
import { ByteReader } from '../format/bytes.ts'
import type { CheckpointMarker } from '../format/checkpoint-marker.ts'
import { Interning } from '../format/interning.ts'
import { addLiveIndex, LiveFile } from './live-file.ts'
import type { ErasedJob, Manifest } from './manifest.ts'
import { manifestName, writeManifest } from './manifest.ts'
import type { Disk } from '../disk/disk.ts'
import type { JobRecord } from '../format/record-codec.ts'
import {
  peekFirstPosition,
  peekJobId,
  readJob,
  recordTallies,
  writeJob,
} from '../format/record-codec.ts'
import type { OnFileRecord } from './record-file.ts'
import { damaged, readRecords, RecordFileWriter, RecordWindow } from './record-file.ts'
import type { Segment } from '../segments/segments.ts'
import { FinishedFile } from './finished-table.ts'
import type { FinishedFileInfo } from './finished-index.ts'
import { addFinishedIndex, FinishedRows, rowOf } from './finished-index.ts'
import { hashText } from './hash-index.ts'
import type { LogRange, OnFinished } from './log-range.ts'
import { continueJob, RangeFiles, readLogRange, withSpec } from './log-range.ts'

/** Folding the log gave a state that breaks an invariant: the checkpoint is not used. */
export class BrokenState extends PawlError {
  constructor(job: string, what: readonly string[]) {
    super(
      'BrokenState',
      'bug',
      `Job ${job} breaks an invariant when the log is folded: ${what.join('; ')}. No checkpoint was made; please report this with the log.`,
      { job, what },
    )
  }
}

export interface CheckpointTask {
  readonly folder: string
  readonly segments: readonly Segment[]
  readonly previous: Manifest | null
  /** Of the marker. */
  readonly position: number
  /** No file of finished jobs is kept in which a record counts no more. Left out: some may be. */
  readonly compacts?: boolean
}

/** A checkpoint that was made. */
export interface CheckpointMade {
  readonly manifest: Manifest
  /** Files of finished jobs of the one before whose index did not check, and was made again. */
  readonly rebuilt: readonly string[]
}

export async function makeCheckpoint(
  disk: Disk,
  task: CheckpointTask,
  breathe: () => Promise<void> | null = () => null,
): Promise<CheckpointMade> {
  const { folder, position } = task
  const files = await JobFiles.create(disk, folder, position)
  const maker = new CheckpointMaker(disk, task, files, breathe)
  try {
    return await maker.make()
  } catch (error) {
    await maker.close()
    await files.abandon(position)
    throw error
  }
}

export interface InitialState {
  readonly storeId: string
  /** Of the marker. */
  readonly position: number
  readonly marker: CheckpointMarker
  readonly queues: readonly Queue[]
  readonly schedules: readonly Schedule[]
  /** In the order of their first positions, all of which are before the log. */
  readonly jobs: Iterable<JobRecord>
}

/**
 * A checkpoint of jobs that no log leads to: the beginning of a store that is a copy of another one,
 * without its older entries. It stands at a marker at the very beginning of the log.
 */
export async function writeInitialCheckpoint(
  disk: Disk,
  folder: string,
  { jobs, ...given }: InitialState,
): Promise<Manifest> {
  const files = await JobFiles.create(disk, folder, given.position)
  for (const record of jobs) {
    files.add(record, recordTallies(record), given.marker.now)
    await files.flush()
  }
  const { live, finished } = await files.finish()
  if (finished.records === 0) await disk.remove(`${folder}/${finished.name}`)
  await disk.syncFolder(folder)
  const finishedFiles = finished.records === 0 ? [] : [finished]
  const manifest: Manifest = { ...given, live, finishedFiles, erased: [] }
  // LAST: from here on there is a checkpoint.
  await writeManifest(disk, folder, manifest)
  return manifest
}

/** The two files that a checkpoint writes: jobs that are not over, and jobs that are. */
class JobFiles {
  readonly live: RecordFileWriter
  readonly finished: RecordFileWriter
  readonly #disk: Disk
  readonly #folder: string
  /** Of each live job: where it begins in the log, and where its record stands. */
  readonly #firsts: number[] = []
  readonly #offsets: number[] = []
  /** Of each finished job. */
  readonly rows = new FinishedRows()
  /** Rows that count no more: something happened to the job after it was over. */
  readonly gone: number[] = []

  private constructor(
    disk: Disk,
    folder: string,
    live: RecordFileWriter,
    finished: RecordFileWriter,
  ) {
    this.#disk = disk
    this.#folder = folder
    this.live = live
    this.finished = finished
  }

  static async create(disk: Disk, folder: string, position: number): Promise<JobFiles> {
    const suffix = position.toString(16).padStart(16, '0')
    const live = await RecordFileWriter.create(disk, folder, `live-${suffix}`)
    try {
      const finished = await RecordFileWriter.create(disk, folder, `finished-${suffix}`)
      return new JobFiles(disk, folder, live, finished)
    } catch (error) {
      await live.abandon()
      await disk.remove(`${folder}/${live.name}`).catch(() => undefined)
      throw error
    }
  }

  add({ job, stages }: JobRecord, tallies: Tallies, now: number): void {
    const state = jobState(job, tallies, now)
    const isOver = isFinal(state)
    const file = isOver ? this.finished : this.live
    const offset = file.add((writer) => writeJob(writer, job, stages))
    if (isOver) this.rows.push(rowOf(job, offset, jobEndedAt(job, tallies), state))
    else this.#noteLive(job.firstPosition, offset)
  }

  /** The record of a live job as it stood before. */
  copyLive(firstPosition: number, bytes: Uint8Array): void {
    const offset = this.live.add((writer) => writer.raw(bytes))
    this.#noteLive(firstPosition, offset)
  }

  /** The record of a finished job as it stands in another file. */
  copyFinished(from: FinishedFile, row: number): void {
    const offset = this.finished.add((writer) => writer.raw(from.record(row).rest()))
    this.rows.push({ ...from.row(row), offset })
  }

  #noteLive(firstPosition: number, offset: number): void {
    this.#firsts.push(firstPosition)
    this.#offsets.push(offset)
  }

  /** To be called after each job, so that neither grows without bound. */
  async flush(): Promise<void> {
    if (this.live.isFull) await this.live.flush()
    if (this.finished.isFull) await this.finished.flush()
  }

  async finish(): Promise<{ live: Manifest['live']; finished: FinishedFileInfo }> {
    const live = this.live.seal()
    const liveIndex = addLiveIndex(this.live, this.#firsts, this.#offsets)
    await this.live.finish()
    const finished = this.finished.seal()
    const finishedIndex = addFinishedIndex(this.finished, this.rows)
    await this.finished.finish()
    const gone = this.gone.toSorted((a, b) => a - b)
    return {
      live: { ...live, index: liveIndex },
      finished: { ...finished, ...finishedIndex, gone, kinds: this.rows.kinds.list },
    }
  }

  /** Nothing stays of them, nor of the manifest that would name them. */
  async abandon(position: number): Promise<void> {
    await this.live.abandon()
    await this.finished.abandon()
    const manifest = `${this.#folder}/${manifestName(position)}`
    try {
      await this.#disk.remove(`${manifest}.new`)
      await this.#disk.remove(manifest)
      // The manifest FIRST, and durably: one must never name a file that is gone.
      await this.#disk.syncFolder(this.#folder)
      for (const { name } of [this.live, this.finished]) {
        await this.#disk.remove(`${this.#folder}/${name}`)
      }
    } catch {
      // What is left is removed after the next checkpoint, or when the store is opened again.
    }
  }
}

class CheckpointMaker {
  readonly #disk: Disk
  readonly #task: CheckpointTask
  readonly #files: JobFiles
  readonly #breathe: () => Promise<void> | null
  readonly #interning = new Interning()
  readonly #rangeFiles: RangeFiles
  /** Of the checkpoint before, oldest first. */
  #finishedFiles: FinishedFile[] = []

  constructor(
    disk: Disk,
    task: CheckpointTask,
    files: JobFiles,
    breathe: () => Promise<void> | null,
  ) {
    this.#disk = disk
    this.#task = task
    this.#files = files
    this.#breathe = breathe
    this.#rangeFiles = new RangeFiles(disk)
  }

  async make(): Promise<CheckpointMade> {
    const { folder, segments, previous, position } = this.#task
    for (const about of previous?.finishedFiles ?? []) {
      this.#finishedFiles.push(await FinishedFile.open(this.#disk, folder, about))
    }
    const rebuilt = this.#finishedFiles.filter(({ isRebuilt }) => isRebuilt)
    const range = await this.#readRange()
    const { marker, fresh } = range
    if (marker === null) throw new Error(`There is no marker at position ${position}.`)
    await this.#foldLive(range, marker.now)
    await this.#foldFinished(range, marker.now)
    for (const job of fresh.jobs.values()) {
      this.#addJob(fresh, { job, stages: fresh.tasks.get(job.id) ?? null }, marker.now)
      await this.#files.flush()
    }
    await this.#mergeFinishedFiles()
    const { live, finished } = await this.#files.finish()
    await this.#disk.syncFolder(folder)
    const manifest: Manifest = {
      storeId: segments[0]?.head.storeId ?? '',
      position,
      marker,
      live,
      finishedFiles: this.#keptFinishedFiles(finished),
      ...this.#foldQueuesAndSchedules(range),
      erased: this.#erasedJobs(range),
    }
    await this.close()
    await verifyFiles(this.#disk, folder, live, finished)
    // LAST: from here on there is a checkpoint.
    await writeManifest(this.#disk, folder, manifest)
    return { manifest, rebuilt: rebuilt.map(({ about }) => `${folder}/${about.name}`) }
  }

  async close(): Promise<void> {
    for (const file of this.#finishedFiles) await file.close()
    this.#finishedFiles = []
    await this.#rangeFiles.close()
  }

  /** Jobs that were submitted in it and are over are written as it is read. */
  #readRange(): Promise<LogRange> {
    const { segments, previous, position } = this.#task
    const from = previous?.position ?? 0
    const onFinished: OnFinished = (job, at, world) => {
      this.#addJob(world, { job, stages: null }, at)
    }
    const flush = (): Promise<void> => this.#files.flush()
    const files = this.#rangeFiles
    return readLogRange(files, segments, from, position, this.#interning, onFinished, flush)
  }

  /** The live jobs of the checkpoint before: copied, or folded on. */
  async #foldLive(range: LogRange, now: number): Promise<void> {
    const { folder, previous } = this.#task
    if (previous === null) return
    const reader = new ByteReader(Buffer.alloc(0))
    const onRecord: OnFileRecord = (bytes, body, length) => {
      reader.reset(bytes, body, body + length)
      const id = peekJobId(reader)
      const entries = range.pending.get(id)
      if (entries === undefined) {
        const first = peekFirstPosition(reader, this.#interning)
        return this.#files.copyLive(first, bytes.subarray(body, body + length))
      }
      range.pending.delete(id)
      const before = readJob(reader, this.#interning)
      range.noteErased(entries, before.job.firstPosition)
      const record = continueJob(before, entries)
      if (record !== null) this.#addAlone(record, now)
    }
    await readRecords(this.#disk, folder, previous.live, onRecord, async () => {
      await this.#files.flush()
      await this.#breathe()
    })
  }

  /** Jobs that were over, and that something happened to all the same. */
  async #foldFinished(range: LogRange, now: number): Promise<void> {
    const { finished } = this.#files
    // What is looked for can only be read once it is written.
    await finished.flush()
    const window = new RecordWindow(finished.file, finished.name)
    for (const [id, entries] of range.pending) {
      const before = this.#removeFinished(id, window)
      if (before === null) throw new BrokenState(id, ['its entries have no beginning'])
      // Most are forgotten, and what they were is of no interest any more.
      const isForgotten = entries.at(-1)?.entry.type === 'JobForgotten'
      if (isForgotten && !entries.some(({ entry }) => entry.type === 'JobErased')) continue
      const found = readJob(before, this.#interning)
      range.noteErased(entries, found.job.firstPosition)
      if (isForgotten) continue
      const record = continueJob(found, entries)
      if (record !== null) this.#addAlone(record, now)
      if (finished.isFull) await this.#files.flush()
    }
  }

  /** The record of a job that is over, which then counts no more where it stands. */
  #removeFinished(id: string, window: RecordWindow): ByteReader | null {
    const { rows, gone } = this.#files
    const fresh = rows.findId(hashText(id), (row) => {
      return peekJobId(window.read(rows.offset(row))) === id
    })
    if (fresh !== -1) {
      gone.push(fresh)
      return window.read(rows.offset(fresh))
    }
    for (const file of this.#finishedFiles) {
      const row = file.find(id)
      if (row === -1) continue
      file.leave(row)
      return file.record(row)
    }
    return null
  }

  /** A job by itself: it is checked without the others. */
  #addAlone({ job, stages }: JobRecord, now: number): void {
    const world = createWorld()
    world.jobs.set(job.id, job)
    if (stages !== null) world.tasks.set(job.id, stages)
    this.#addJob(world, { job, stages }, now)
  }

  #addJob(world: World, given: JobRecord, now: number): void {
    const record = { ...given, job: withSpec(given.job) }
    const tallies = recordTallies(record)
    const violations = jobViolations(world, record.job, tallies, now)
    if (violations.length > 0) {
      const what = violations.map((violation) => violation.what)
      throw new BrokenState(record.job.id, what)
    }
    this.#files.add(record, tallies, now)
  }

  /**
   * From the newest on: while one is not much larger than what there is to write anyway, or one
   * is left whose index in the file is damaged, or which is to be compacted. What it holds gets a
   * whole file again.
   */
  async #mergeFinishedFiles(): Promise<void> {
    for (;;) {
      const file = this.#finishedFiles.at(-1)
      if (file === undefined) return
      const { records, end } = file.about
      const size = (end * file.left) / Math.max(1, records)
      const isWhole = this.#finishedFiles.every(({ isRebuilt }) => !isRebuilt)
      const isLarge = size > 2 * this.#files.finished.offset && file.left * 2 > records
      const hasGone = this.#finishedFiles.some(({ left, records: all }) => left < all)
      if (isWhole && isLarge && !(this.#task.compacts === true && hasGone)) return
      for (let row = 0; row < records; row++) {
        if (file.isGone(row)) continue
        this.#files.copyFinished(file, row)
        await this.#files.flush()
        if (row % 256 === 0) await this.#breathe()
      }
      this.#finishedFiles.pop()
      await file.close()
    }
  }

  #keptFinishedFiles(newest: FinishedFileInfo): FinishedFileInfo[] {
    const kept: FinishedFileInfo[] = []
    for (const { left, about, gone } of this.#finishedFiles) {
      if (left > 0) kept.push({ ...about, gone })
    }
    return newest.records > 0 ? [...kept, newest] : kept
  }

  #foldQueuesAndSchedules(range: LogRange): Pick<Manifest, 'queues' | 'schedules'> {
    const { previous } = this.#task
    const world = createWorld()
    for (const queue of previous?.queues ?? []) world.queues.set(queue.name, { ...queue })
    for (const one of previous?.schedules ?? []) world.schedules.set(one.id, { ...one })
    for (const entry of range.small) fold(world, entry)
    return { queues: [...world.queues.values()], schedules: [...world.schedules.values()] }
  }

  /** Those that the log still has, and those that were erased since the checkpoint before. */
  #erasedJobs({ erased }: LogRange): ErasedJob[] {
    const { previous, segments } = this.#task
    const begin = segments[0]?.head.base ?? 0
    const before = (previous?.erased ?? []).filter(({ through }) => through >= begin)
    return [...before, ...erased.toSorted((a, b) => a.through - b.through)]
  }
}

/** Reads back what was written: a checkpoint that cannot be read is none. */
async function verifyFiles(
  disk: Disk,
  folder: string,
  live: Manifest['live'],
  finished: FinishedFileInfo,
): Promise<void> {
  await readRecords(disk, folder, live, () => undefined)
  await readRecords(disk, folder, finished, () => undefined)
  const opened = await FinishedFile.open(disk, folder, finished)
  await opened.close()
  if (opened.isRebuilt) {
    throw damaged(`${folder}/${finished.name}`, finished.end, 'its index does not check.')
  }
  const index = await LiveFile.open(disk, folder, live)
  await index.close()
}
