/**
 * Makes a checkpoint: the one before, and the log since, folded into a new one.
 *
 * It is made from the log and never from the state in memory, so each one that is made proves
 * that the log can be replayed. Jobs are folded one by one: records that nothing happened to
 * are copied, and memory holds those that began in the new stretch of the log and go on.
 *
 * Jobs that are over go to shelves. A new shelf takes in the smaller ones before it, so there
 * are few of them, each at least twice as large as the next, and a job is copied a few times
 * only, however long the history.
 */
import type { World } from '../../kernel/index.ts'
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
import { Interning } from '../format/interning.ts'
import { addLiveTable, LiveFile } from './live-file.ts'
import type { Manifest } from './manifest.ts'
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
import { damaged, readRecords, RecordFileWriter } from './record-file.ts'
import { RecordWindow } from './record-file.ts'
import type { Segment } from '../segments/segments.ts'
import { FinishedFile } from './finished-file.ts'
import type { FinishedFileAbout } from './finished-index.ts'
import { addIndexes, rowOf, FinishedRows } from './finished-index.ts'
import type { OnFinished, LogRange } from './log-range.ts'
import { readLogRange } from './log-range.ts'

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
  /** Of the waypoint. */
  readonly position: number
}

/** A checkpoint that was made. */
export interface CheckpointMade {
  readonly manifest: Manifest
  /** Shelves of the one before whose tables did not check, and were made again. */
  readonly rebuilt: readonly string[]
}

export async function makeCheckpoint(
  disk: Disk,
  task: CheckpointTask,
  breathe: () => Promise<void> | null = () => null,
): Promise<CheckpointMade> {
  const making = new Making(disk, task, breathe)
  try {
    return await making.run()
  } catch (error) {
    await making.abandon()
    throw error
  }
}

class Making {
  readonly #disk: Disk
  readonly #task: CheckpointTask
  readonly #breathe: () => Promise<void> | null
  readonly #interning = new Interning()
  readonly #rows = new FinishedRows()
  /** Rows that count no more: something happened to the job after it was over. */
  readonly #gone: number[] = []
  /** Of each live job: where it begins in the log, and where its record stands. */
  readonly #firsts: number[] = []
  readonly #offsets: number[] = []
  #live: RecordFileWriter | null = null
  #ended: RecordFileWriter | null = null
  #finishedFiles: FinishedFile[] = []

  constructor(disk: Disk, task: CheckpointTask, breathe: () => Promise<void> | null) {
    this.#disk = disk
    this.#task = task
    this.#breathe = breathe
  }

  async run(): Promise<CheckpointMade> {
    const { folder, segments, previous, position } = this.#task
    const suffix = position.toString(16).padStart(16, '0')
    const live = (this.#live = await RecordFileWriter.create(this.#disk, folder, `live-${suffix}`))
    const ended = (this.#ended = await RecordFileWriter.create(
      this.#disk,
      folder,
      `shelf-${suffix}`,
    ))
    for (const about of previous?.finishedFiles ?? []) {
      this.#finishedFiles.push(await FinishedFile.open(this.#disk, folder, about))
    }
    const rebuilt = this.#finishedFiles.filter(({ isRebuilt }) => isRebuilt)
    const range = await this.#readStretch()
    const { marker } = range
    if (marker === null) throw new Error(`There is no waypoint at position ${position}.`)
    await this.#foldLive(range, marker.now)
    await this.#foldShelved(range, marker.now)
    for (const job of range.fresh.jobs.values()) {
      const stages = range.fresh.tasks.get(job.id) ?? null
      this.#addOf(range.fresh, { job, stages }, marker.now)
      await this.#flush()
    }
    await this.#takeInFinishedFiles(ended)
    const sealed = live.seal()
    const liveFile = { ...sealed, table: addLiveTable(live, this.#firsts, this.#offsets) }
    await live.finish()
    const finishedFile = {
      ...ended.seal(),
      tables: addIndexes(ended, this.#rows),
      gone: ascending(this.#gone),
      kinds: this.#rows.kinds.list,
    }
    await ended.finish()
    await this.#disk.syncFolder(folder)
    const finishedFiles = await this.#keptFinishedFiles(finishedFile)
    const manifest: Manifest = {
      storeId: segments[0]?.head.storeId ?? '',
      position,
      marker,
      live: liveFile,
      finishedFiles,
      ...this.#foldSmall(range),
    }
    await verifyFiles(this.#disk, folder, liveFile, finishedFile)
    // LAST: from here on there is a checkpoint.
    await writeManifest(this.#disk, folder, manifest)
    return { manifest, rebuilt: rebuilt.map(({ about }) => `${folder}/${about.name}`) }
  }

  /** Nothing of it stays. */
  async abandon(): Promise<void> {
    await this.#live?.abandon()
    await this.#ended?.abandon()
    for (const finishedFile of this.#finishedFiles) await finishedFile.close()
    const { folder, position } = this.#task
    const manifest = `${folder}/${manifestName(position)}`
    try {
      await this.#disk.remove(`${manifest}.new`)
      await this.#disk.remove(manifest)
      // The manifest FIRST, and durably: one must never name a file that is gone.
      await this.#disk.syncFolder(folder)
      for (const file of [this.#live, this.#ended]) {
        if (file !== null) await this.#disk.remove(`${folder}/${file.name}`)
      }
    } catch {
      // What is left is removed after the next one, or when the store is opened again.
    }
  }

  /** Jobs that began in it and are over go to the shelf as it is read. */
  #readStretch(): Promise<LogRange> {
    const { segments, previous, position } = this.#task
    const onOver: OnFinished = (job, at, world) => this.#addOf(world, { job, stages: null }, at)
    return readLogRange(
      this.#disk,
      segments,
      previous?.position ?? 0,
      position,
      this.#interning,
      onOver,
      () => this.#flush(),
    )
  }

  /** The live jobs of the checkpoint before: copied, or folded on. */
  async #foldLive(range: LogRange, now: number): Promise<void> {
    const { folder, previous } = this.#task
    if (previous === null) return
    const live = this.#live as RecordFileWriter
    const reader = new ByteReader(Buffer.alloc(0))
    const onRecord: OnFileRecord = (bytes, body, length) => {
      reader.reset(bytes, body, body + length)
      const id = peekJobId(reader)
      const entries = range.pending.get(id)
      if (entries === undefined) {
        const first = peekFirstPosition(reader, this.#interning)
        const offset = live.add((writer) => writer.raw(bytes.subarray(body, body + length)))
        return this.#noteLive(first, offset)
      }
      range.pending.delete(id)
      const record = range.continued(readJob(reader, this.#interning), entries)
      if (record !== null) this.#add(record, now)
    }
    await readRecords(this.#disk, folder, previous.live, onRecord, async () => {
      await this.#flush()
      await this.#breathe()
    })
  }

  /** Jobs that were over, and that something happened to all the same. */
  async #foldShelved(range: LogRange, now: number): Promise<void> {
    const ended = this.#ended as RecordFileWriter
    // What is looked for can only be read once it is written.
    await ended.flush()
    const window = new RecordWindow(ended.file, ended.name)
    for (const [id, entries] of range.pending) {
      const before = this.#takeOff(id, window)
      if (before === null) throw new BrokenState(id, ['its entries have no beginning'])
      // Most are forgotten, and what they were is of no interest any more.
      if (entries.at(-1)?.entry.type === 'JobForgotten') continue
      const record = range.continued(readJob(before, this.#interning), entries)
      if (record !== null) this.#add(record, now)
      if (ended.isFull) await this.#flush()
    }
  }

  /** The record of a job that is over, which then counts no more where it stands. */
  #takeOff(id: string, window: RecordWindow): ByteReader | null {
    const fresh = this.#rows.find(id, (row) => {
      return peekJobId(window.read(this.#rows.offset(row))) === id
    })
    if (fresh !== -1) {
      this.#gone.push(fresh)
      return window.read(this.#rows.offset(fresh))
    }
    for (const finishedFile of this.#finishedFiles) {
      const row = finishedFile.find(id)
      if (row === -1) continue
      finishedFile.leave(row)
      return finishedFile.record(row)
    }
    return null
  }

  /** A job by itself: it is checked without the others. */
  #add({ job, stages }: JobRecord, now: number): void {
    const world = createWorld()
    world.jobs.set(job.id, job)
    if (stages !== null) world.tasks.set(job.id, stages)
    this.#addOf(world, { job, stages }, now)
  }

  /** A job of a world. */
  #addOf(world: World, { job, stages }: JobRecord, now: number): void {
    const tallies = recordTallies({ job, stages })
    const wrong = jobViolations(world, job, tallies, now)
    if (wrong.length > 0) {
      const what = wrong.map((violation) => violation.what)
      throw new BrokenState(job.id, what)
    }
    const isOver = isFinal(jobState(job, tallies, now))
    const file = (isOver ? this.#ended : this.#live) as RecordFileWriter
    const offset = file.add((writer) => writeJob(writer, job, stages))
    if (isOver) this.#rows.push(rowOf(job, offset, jobEndedAt(job, tallies)))
    else this.#noteLive(job.firstPosition, offset)
  }

  #noteLive(firstPosition: number, offset: number): void {
    this.#firsts.push(firstPosition)
    this.#offsets.push(offset)
  }

  async #flush(): Promise<void> {
    if (this.#live?.isFull === true) await this.#live.flush()
    if (this.#ended?.isFull === true) await this.#ended.flush()
  }

  /**
   * From the newest on: while one is not much larger than what there is to write anyway, or one
   * is left whose tables in the file are damaged. What it holds gets a whole file again.
   */
  async #takeInFinishedFiles(ended: RecordFileWriter): Promise<void> {
    for (;;) {
      const finishedFile = this.#finishedFiles.at(-1)
      if (finishedFile === undefined) return
      const size =
        (finishedFile.about.end * finishedFile.left) / Math.max(1, finishedFile.about.records)
      const isWhole = this.#finishedFiles.every(({ isRebuilt }) => !isRebuilt)
      if (isWhole && size > 2 * ended.offset && finishedFile.left * 2 > finishedFile.about.records)
        return
      for (let row = 0; row < finishedFile.about.records; row++) {
        if (finishedFile.isGone(row)) continue
        const offset = ended.add((writer) => writer.raw(finishedFile.record(row).rest()))
        this.#rows.push({ ...finishedFile.row(row), offset })
        await this.#flush()
        if (row % 256 === 0) await this.#breathe()
      }
      this.#finishedFiles.pop()
      await finishedFile.close()
    }
  }

  async #keptFinishedFiles(newest: FinishedFileAbout): Promise<FinishedFileAbout[]> {
    const kept: FinishedFileAbout[] = []
    for (const finishedFile of this.#finishedFiles) {
      if (finishedFile.left > 0) kept.push({ ...finishedFile.about, gone: finishedFile.gone })
      await finishedFile.close()
    }
    this.#finishedFiles = []
    if (newest.records > 0) kept.push(newest)
    return kept
  }

  #foldSmall(range: LogRange): Pick<Manifest, 'queues' | 'schedules'> {
    const world = createWorld()
    for (const queue of this.#task.previous?.queues ?? [])
      world.queues.set(queue.name, { ...queue })
    for (const one of this.#task.previous?.schedules ?? []) world.schedules.set(one.id, { ...one })
    for (const entry of range.small) fold(world, entry)
    return { queues: [...world.queues.values()], schedules: [...world.schedules.values()] }
  }
}

function ascending(rows: readonly number[]): number[] {
  return rows.toSorted((a, b) => a - b)
}

/** Reads back what was written: a checkpoint that cannot be read is none. */
async function verifyFiles(
  disk: Disk,
  folder: string,
  live: Manifest['live'],
  finishedFile: FinishedFileAbout,
): Promise<void> {
  await readRecords(disk, folder, live, () => undefined)
  await readRecords(disk, folder, finishedFile, () => undefined)
  const opened = await FinishedFile.open(disk, folder, finishedFile)
  await opened.close()
  if (opened.isRebuilt) {
    throw damaged(`${folder}/${finishedFile.name}`, finishedFile.end, 'its tables do not check.')
  }
  const table = await LiveFile.open(disk, folder, live)
  await table.close()
}
