/**
 * Makes a checkpoint: the one before, and the log since, folded into a new one.
 *
 * It is made from the log and never from the state in memory, so each one that is made proves
 * that the log can be replayed. Jobs are folded one by one: records that nothing happened to
 * are copied, and memory holds the new stretch of the log and one job at a time.
 *
 * Jobs that are over go to shelves. A new shelf takes in the smaller ones before it, so there
 * are few of them, each at least twice as large as the next, and a job is copied a few times
 * only, however long the history.
 */
import type { Job, World } from '../kernel/index.ts'
import {
  countTallies,
  createWorld,
  fold,
  isFinal,
  jobEndedAt,
  jobState,
  jobViolations,
  PawlError,
} from '../kernel/index.ts'
import { ByteReader } from './bytes.ts'
import type { Chains } from './chains.ts'
import { readChains } from './chains.ts'
import { Interning } from './interning.ts'
import type { Manifest } from './manifest.ts'
import { writeManifest } from './manifest.ts'
import type { Disk } from './port.ts'
import type { LoggedEntry } from './reader.ts'
import type { JobRecord } from './record-codec.ts'
import { peekJobId, readJob, writeJob } from './record-codec.ts'
import { readRecords, RecordFileWriter } from './record-file.ts'
import type { Segment } from './segments.ts'
import type { ShelfFile, ShelfRow } from './shelf.ts'
import { addTables, hashKey, hashText, Shelf } from './shelf.ts'

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

export async function makeCheckpoint(
  disk: Disk,
  task: CheckpointTask,
  breathe: () => Promise<void> | null = () => null,
): Promise<Manifest> {
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
  readonly #world: World = createWorld()
  readonly #rows: ShelfRow[] = []
  #now = 0
  #live: RecordFileWriter | null = null
  #ended: RecordFileWriter | null = null
  #shelves: Shelf[] = []

  constructor(disk: Disk, task: CheckpointTask, breathe: () => Promise<void> | null) {
    this.#disk = disk
    this.#task = task
    this.#breathe = breathe
  }

  async run(): Promise<Manifest> {
    const { folder, segments, previous, position } = this.#task
    const suffix = position.toString(16).padStart(16, '0')
    const from = previous?.position ?? 0
    const chains = await readChains(this.#disk, segments, from, position, this.#interning)
    const { waypoint } = chains
    if (waypoint === null) throw new Error(`There is no waypoint at position ${position}.`)
    this.#now = waypoint.now
    const live = (this.#live = await RecordFileWriter.create(this.#disk, folder, `live-${suffix}`))
    const ended = (this.#ended = await RecordFileWriter.create(
      this.#disk,
      folder,
      `shelf-${suffix}`,
    ))
    for (const about of previous?.shelves ?? []) {
      this.#shelves.push(await Shelf.open(this.#disk, folder, about))
    }
    const fresh = await this.#foldOld(chains)
    await this.#foldShelved(chains)
    for (const record of fresh) await this.#put(record)
    await this.#foldNew(chains)
    await this.#takeInShelves(ended)
    const liveFile = live.seal()
    await live.finish()
    const shelf = { ...ended.seal(), tables: addTables(ended, this.#rows), gone: [] }
    await ended.finish()
    await this.#disk.syncFolder(folder)
    const shelves = await this.#keptShelves(shelf)
    const manifest: Manifest = {
      storeId: segments[0]?.head.storeId ?? '',
      position,
      waypoint,
      live: liveFile,
      shelves,
      ...this.#foldSmall(chains),
    }
    await verifyFiles(this.#disk, folder, liveFile, shelf)
    // LAST: from here on there is a checkpoint.
    await writeManifest(this.#disk, folder, manifest)
    return manifest
  }

  async abandon(): Promise<void> {
    await this.#live?.abandon()
    await this.#ended?.abandon()
    for (const shelf of this.#shelves) await shelf.close().catch(() => undefined)
  }

  /** The live jobs of the checkpoint before. Those whose id was used anew meanwhile come back later. */
  async #foldOld(chains: Chains): Promise<JobRecord[]> {
    const { folder, previous } = this.#task
    const fresh: JobRecord[] = []
    if (previous === null) return fresh
    const live = this.#live as RecordFileWriter
    const flush = async (): Promise<void> => {
      await this.#flush()
      await this.#breathe()
    }
    await readRecords(
      this.#disk,
      folder,
      previous.live,
      (bytes, body, length) => {
        const id = peekJobId(new ByteReader(bytes, body, body + length))
        const newest = chains.jobs.get(id)
        if (newest === undefined) {
          live.add((writer) => writer.raw(bytes.subarray(body, body + length)))
          return
        }
        chains.jobs.delete(id)
        const old = readJob(new ByteReader(bytes, body, body + length), this.#interning)
        const record = this.#foldJob(id, old, chains.entriesOf(newest))
        if (record === null) return
        if (record.job.firstPosition >= previous.position) fresh.push(record)
        else this.#add(record)
      },
      flush,
    )
    return fresh
  }

  /** Jobs that were over, and that something happened to all the same. */
  async #foldShelved(chains: Chains): Promise<void> {
    for (const [id, newest] of chains.jobs) {
      const entries = chains.entriesOf(newest)
      if (entries[0]?.entry.type === 'JobSubmitted') continue
      for (const shelf of this.#shelves) {
        const row = shelf.find(id)
        if (row === -1) continue
        const record = this.#foldJob(id, shelf.read(row, this.#interning), entries)
        shelf.leave(row)
        chains.jobs.delete(id)
        if (record !== null) await this.#put(record)
        break
      }
    }
  }

  async #foldNew(chains: Chains): Promise<void> {
    for (const [id, newest] of chains.jobs) {
      const record = this.#foldJob(id, null, chains.entriesOf(newest))
      if (record !== null) await this.#put(record)
    }
  }

  #foldJob(id: string, old: JobRecord | null, entries: readonly LoggedEntry[]): JobRecord | null {
    const world = this.#world
    world.jobs.clear()
    world.tasks.clear()
    if (old !== null) {
      world.jobs.set(id, old.job)
      if (old.stages !== null) world.tasks.set(id, old.stages)
    }
    for (const { entry, position } of entries) {
      fold(world, entry)
      const job = world.jobs.get(id)
      if (job === undefined) continue
      if (entry.type === 'JobSubmitted') job.firstPosition = position
      job.lastPosition = position
    }
    const job = world.jobs.get(id)
    if (job === undefined) return null
    const tallies = countTallies(world, job)
    const wrong = jobViolations(world, job, tallies, this.#now)
    if (wrong.length > 0)
      throw new BrokenState(
        id,
        wrong.map(({ what }) => what),
      )
    return { job, stages: world.tasks.get(id) ?? null }
  }

  async #put(record: JobRecord): Promise<void> {
    this.#add(record)
    await this.#flush()
  }

  #add({ job, stages }: JobRecord): void {
    const endedAt = this.#endOf(job, stages)
    const file = (endedAt === null ? this.#live : this.#ended) as RecordFileWriter
    const offset = file.add((writer) => writeJob(writer, job, stages))
    if (endedAt !== null) this.#rows.push(rowOf(job, offset, endedAt))
  }

  /** When the job came to its end; null: it did not. */
  #endOf(job: Job, stages: JobRecord['stages']): number | null {
    if (stages !== null) this.#world.tasks.set(job.id, stages)
    const tallies = countTallies(this.#world, job)
    if (!isFinal(jobState(job, tallies, this.#now))) return null
    return jobEndedAt(job, tallies)
  }

  async #flush(): Promise<void> {
    if (this.#live?.isFull === true) await this.#live.flush()
    if (this.#ended?.isFull === true) await this.#ended.flush()
  }

  /** From the newest on: while one is not much larger than what there is to write anyway. */
  async #takeInShelves(ended: RecordFileWriter): Promise<void> {
    for (;;) {
      const shelf = this.#shelves.at(-1)
      if (shelf === undefined) return
      const size = (shelf.about.end * shelf.left) / Math.max(1, shelf.about.records)
      if (size > 2 * ended.offset && shelf.left * 2 > shelf.about.records) return
      for (let row = 0; row < shelf.about.records; row++) {
        if (shelf.isGone(row)) continue
        const { job, stages } = shelf.read(row, this.#interning)
        const offset = ended.add((writer) => writeJob(writer, job, stages))
        this.#rows.push(rowOf(job, offset, shelf.endedAt(row)))
        await this.#flush()
        if (row % 256 === 0) await this.#breathe()
      }
      this.#shelves.pop()
      await shelf.close()
    }
  }

  async #keptShelves(newest: ShelfFile): Promise<ShelfFile[]> {
    const kept: ShelfFile[] = []
    for (const shelf of this.#shelves) {
      if (shelf.left > 0) kept.push({ ...shelf.about, gone: shelf.gone })
      await shelf.close()
    }
    this.#shelves = []
    if (newest.records > 0) kept.push(newest)
    return kept
  }

  #foldSmall(chains: Chains): Pick<Manifest, 'queues' | 'schedules'> {
    const world = createWorld()
    for (const queue of this.#task.previous?.queues ?? []) world.queues.set(queue.name, queue)
    for (const one of this.#task.previous?.schedules ?? []) world.schedules.set(one.id, one)
    for (const newest of [...chains.queues.values(), ...chains.schedules.values()]) {
      for (const { entry } of chains.entriesOf(newest)) fold(world, entry)
    }
    return { queues: [...world.queues.values()], schedules: [...world.schedules.values()] }
  }
}

function rowOf(job: Job, offset: number, endedAt: number): ShelfRow {
  const { type, key, unique } = job.spec
  return {
    offset,
    idHash: hashText(job.id),
    // A unique key is free again when its job is over.
    keyHash: key === null || unique ? 0 : hashKey(type, key),
    firstPosition: job.firstPosition,
    endedAt,
  }
}

/** Reads back what was written: a checkpoint that cannot be read is none. */
async function verifyFiles(
  disk: Disk,
  folder: string,
  live: Manifest['live'],
  shelf: ShelfFile,
): Promise<void> {
  await readRecords(disk, folder, live, () => undefined)
  await readRecords(disk, folder, shelf, () => undefined)
  const opened = await Shelf.open(disk, folder, shelf)
  await opened.close()
}
