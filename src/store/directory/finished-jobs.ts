/**
 * Jobs that are over: the newest on trays in memory, the others on the shelves of the newest
 * checkpoint.
 *
 * A job leaves the ledger the moment it is over, and stands on a tray from then on; what is on
 * a tray goes, all of it at once, when there is a checkpoint that has it. If a command names
 * such a job it is taken in again for a while, as a guest: a copy that may leave at any time.
 * To be looked at, or listed, it need not come in.
 */
import type { Command, Job } from '../../kernel/index.ts'
import { jobEndedAt } from '../../kernel/index.ts'
import type { Disk, JobRecord, Manifest, FinishedTable } from '../../log/index.ts'
import {
  CorruptLog,
  HashFilter,
  hashKey,
  hashText,
  Interning,
  NO_HASH,
  recordTallies,
  FinishedFile,
  FinishedBuffer,
  eventLoopTurn,
} from '../../log/index.ts'
import type { FinishedJobSource } from '../state/finished-job-source.ts'
import type { Ledger } from '../state/ledger.ts'
import type { Retention } from '../store.ts'
import { Forgetting } from '../state/retention.ts'
import { keepSpec } from '../state/job-with-stored-spec.ts'
import type { Listed } from '../views/job-views.ts'
import { listing } from '../views/job-views.ts'

/** When there are so many, guests leave. */
const MOST_GUESTS = 1_000
/** Jobs that are read page by page at the same time: each may be large. */
const MOST_READ = 4
/** Jobs that are looked up between two turns of the event loop: a few milliseconds. */
const STEP = 500
/** Rows whose hashes are noted between two turns: a fraction of a millisecond. */
const HASHES_STEP = 8_192
/** So many jobs are expected at least. */
const FEW_JOBS = 65_536

/** A tray, and the waypoint behind which its jobs came to their ends. */
interface Laid {
  readonly buffer: FinishedBuffer
  readonly since: number
}

export class FinishedJobs implements FinishedJobSource {
  readonly #disk: Disk
  readonly #folder: string
  readonly #interning = new Interning()
  #finishedFiles: FinishedFile[] = []
  /** In the order of time. */
  #buffers: Laid[] = []
  /** The hashes of all ids and keys that stand here, and perhaps some more. */
  #known = new HashFilter(FEW_JOBS)
  /** The same for the shelves that are being adopted. */
  #soonKnown: HashFilter | null = null
  /** Where the checkpoint ends that the shelves belong to. */
  #position = 0
  /** The newest waypoint: where a checkpoint ends, or will end that is being made. */
  #marker = 0
  /** Over before the newest waypoint, and changed or forgotten since. */
  #outdated: string[] = []
  /** Copies of jobs that stand here, and are in memory again. */
  readonly #guests = new Set<Job>()
  readonly #forgetting = new Forgetting()
  /** Jobs whose outputs are being read page by page: each is taken from its shelf once. */
  readonly #beingRead = new Map<string, JobRecord>()
  /** Whose jobs these are; set once, before anything else happens. */
  ledger!: Ledger
  /** Called for each shelf whose tables had to be made again. */
  onRebuilt: (file: string) => void = () => undefined

  /** Told, when jobs are to be forgotten, of one that cannot be read. */
  set onUnreadable(told: (error: Error) => void) {
    this.#forgetting.onUnreadable = told
  }

  constructor(disk: Disk, folder: string) {
    this.#disk = disk
    this.#folder = folder
  }

  findKey(type: string, key: string): JobRecord | null {
    if (!this.#known.mayHave(hashKey(type, key))) return null
    try {
      for (const table of this.#tables()) {
        const row = table.findKey(type, key, this.#interning)
        if (row !== -1) return table.read(row, this.#interning)
      }
    } catch (error) {
      throw naming(error, `the ${type} with the key '${key}'`)
    }
    return null
  }

  mayHave(id: string): boolean {
    return this.#known.mayHave(hashText(id))
  }

  find(id: string): JobRecord | null {
    if (!this.mayHave(id)) return null
    for (const { buffer } of this.#buffers) {
      const row = buffer.find(id)
      if (row !== -1) return buffer.read(row, this.#interning)
    }
    try {
      for (const finishedFile of this.#finishedFiles) {
        const row = finishedFile.find(id)
        if (row !== -1) return finishedFile.read(row, this.#interning)
      }
    } catch (error) {
      throw naming(error, `job '${id}'`)
    }
    return null
  }

  /** The same, to be asked for again and again until `wasRead`. */
  findToRead(id: string): JobRecord | null {
    const record = this.#beingRead.get(id) ?? this.find(id)
    if (record === null) return null
    // The latest last. Whoever stops half-way does not say so: others take the place.
    this.#beingRead.delete(id)
    this.#beingRead.set(id, record)
    const [oldest] = this.#beingRead.keys()
    if (this.#beingRead.size > MOST_READ && oldest !== undefined) this.#beingRead.delete(oldest)
    return record
  }

  wasRead(id: string): void {
    this.#beingRead.delete(id)
  }

  welcome(job: Job): void {
    this.#guests.add(job)
  }

  seeOut(): void {
    if (this.#guests.size < MOST_GUESTS) return
    for (const guest of this.#guests) this.ledger.evict(guest)
    this.#guests.clear()
  }

  /** A job in memory is over: it leaves. */
  ended(job: Job): void {
    const stages = this.ledger.world.tasks.get(job.id) ?? null
    // Once: it may have to be read.
    keepSpec(job)
    const endedAt = jobEndedAt(job, this.ledger.tallies(job))
    const buffer = this.#buffer()
    const row = buffer.add(job, stages, endedAt)
    note(this.#known, buffer, row)
    if (this.#soonKnown !== null) note(this.#soonKnown, buffer, row)
    this.#forgetting.added(job.spec, endedAt)
    this.ledger.evict(job)
  }

  /** Something was noted about a job that is over: from now on it stands here as it is now. */
  changed(job: Job): void {
    this.#guests.delete(job)
    this.#takeOff(job)
    this.ended(job)
  }

  forgot(job: Job): void {
    this.#guests.delete(job)
    this.#takeOff(job)
  }

  /** Forgetting a job was refused: it is not named again for a while. */
  postpone(id: string, now: number): void {
    this.#forgetting.postpone(id, now)
  }

  /** A checkpoint will be made that has everything up to here. */
  marker(position: number): void {
    this.#marker = position
    this.#outdated = []
  }

  /** Takes on the shelves of a checkpoint. What stands on them leaves memory. */
  async adopt(manifest: Manifest): Promise<void> {
    const before = new Map(
      this.#finishedFiles.map((finishedFile) => [finishedFile.about.name, finishedFile]),
    )
    const fresh = manifest.finishedFiles.filter(({ name }) => !before.has(name))
    const opened = await this.#open(fresh)
    const finishedFiles = manifest.finishedFiles.map(({ name }) => {
      return (before.get(name) ?? opened.get(name)) as FinishedFile
    })
    // Everything that can fail comes BEFORE the change, which is made at once.
    const rows: { finishedFile: FinishedFile; row: number }[] = []
    const tables = [...finishedFiles, ...this.#buffers.map(({ buffer }) => buffer)]
    const jobs = tables.reduce((sum, { records }) => sum + records, FEW_JOBS)
    // Twice as many: before the next ones are adopted, more come.
    const known = (this.#soonKnown = new HashFilter(2 * jobs))
    try {
      await learn(known, tables)
      // What has changed while the checkpoint was made stands on its shelves all the same.
      for (let i = 0; i < this.#outdated.length; i++) {
        if (i % STEP === STEP - 1) await eventLoopTurn()
        rows.push(...rowsOf(finishedFiles, this.#outdated[i] as string))
      }
    } catch (error) {
      this.#soonKnown = null
      for (const finishedFile of opened.values()) await finishedFile.close()
      throw error
    }
    this.#known = known
    this.#soonKnown = null
    for (const [i, { name, gone }] of manifest.finishedFiles.entries()) {
      // What has changed since the shelf was made stands on another one now.
      for (const row of gone) finishedFiles[i]?.leave(row)
      before.delete(name)
    }
    this.#finishedFiles = finishedFiles
    this.#position = manifest.position
    this.#marker = Math.max(this.#marker, manifest.position)
    for (const { finishedFile, row } of rows) finishedFile.leave(row)
    this.#buffers = this.#buffers.filter(({ since }) => since >= manifest.position)
    for (const finishedFile of before.values()) await finishedFile.close()
  }

  async #open(files: readonly FinishedFile['about'][]): Promise<Map<string, FinishedFile>> {
    const opened = new Map<string, FinishedFile>()
    try {
      for (const about of files) {
        const finishedFile = await FinishedFile.open(this.#disk, this.#folder, about)
        opened.set(about.name, finishedFile)
        if (finishedFile.isRebuilt) this.onRebuilt(`${this.#folder}/${about.name}`)
      }
    } catch (error) {
      for (const finishedFile of opened.values()) await finishedFile.close()
      throw error
    }
    return opened
  }

  /**
   * At most `limit` jobs that were kept long enough, or that are too many, oldest first. Asking
   * changes nothing: whoever asks again before they are forgotten is told the same.
   */
  toForget(retention: Retention, now: number, limit: number): Command[] {
    return this.#forgetting.due(this.#tables(), retention, now, limit)
  }

  /** Jobs that were submitted behind a position, in order. Good until something changes. */
  *after(position: number): IterableIterator<Listed> {
    const cursors = this.#tables().map((table) => ({ table, at: table.submittedUpTo(position) }))
    for (;;) {
      let best: (typeof cursors)[number] | null = null
      for (const cursor of cursors) {
        const { table } = cursor
        while (cursor.at < table.records && table.isGone(table.nthSubmitted(cursor.at))) {
          cursor.at += 1
        }
        if (cursor.at === table.records) continue
        if (best === null || firstOf(cursor) < firstOf(best)) best = cursor
      }
      if (best === null) return
      const record = best.table.read(best.table.nthSubmitted(best.at), this.#interning)
      best.at += 1
      yield listing(record.job, recordTallies(record), 0)
    }
  }

  async close(): Promise<void> {
    for (const finishedFile of this.#finishedFiles) await finishedFile.close()
  }

  #tables(): FinishedTable[] {
    return [...this.#finishedFiles, ...this.#buffers.map(({ buffer }) => buffer)]
  }

  /** Where the next job goes. */
  #buffer(): FinishedBuffer {
    const newest = this.#buffers.at(-1)
    if (newest?.since === this.#marker && !newest.buffer.isFull) return newest.buffer
    const buffer = new FinishedBuffer()
    this.#buffers.push({ buffer, since: this.#marker })
    return buffer
  }

  /**
   * What stands here of a job counts no more. That was decided, and must not fail, so no file is
   * looked at.
   */
  #takeOff({ id, firstPosition }: Job): void {
    this.#beingRead.delete(id)
    for (const { buffer, since } of this.#buffers) {
      const row = buffer.find(id)
      if (row === -1) continue
      buffer.leave(row)
      if (since < this.#marker) this.#outdated.push(id)
      return
    }
    let wasHere = false
    for (const finishedFile of this.#finishedFiles) {
      const row = finishedFile.rowOf(id, firstPosition)
      if (row === -1) continue
      finishedFile.leave(row)
      wasHere = true
    }
    if (wasHere && this.#position < this.#marker) this.#outdated.push(id)
  }
}

function note(known: HashFilter, table: FinishedTable, row: number): void {
  known.add(table.idHash(row))
  const keyHash = table.keyHash(row)
  if (keyHash !== NO_HASH) known.add(keyHash)
}

/** Notes all that stand there. Those that come meanwhile are noted by whoever brings them. */
async function learn(known: HashFilter, tables: readonly FinishedTable[]): Promise<void> {
  let noted = 0
  for (const table of tables) {
    for (let row = 0; row < table.records; row++) {
      note(known, table, row)
      noted += 1
      if (noted % HASHES_STEP === 0) await eventLoopTurn()
    }
  }
}

function naming(error: unknown, job: string): unknown {
  return error instanceof CorruptLog ? error.about(job) : error
}

function rowsOf(
  finishedFiles: readonly FinishedFile[],
  id: string,
): { finishedFile: FinishedFile; row: number }[] {
  return finishedFiles.flatMap((finishedFile) => {
    const row = finishedFile.find(id)
    return row === -1 ? [] : [{ finishedFile, row }]
  })
}

function firstOf({ table, at }: { table: FinishedTable; at: number }): number {
  return table.firstPosition(table.nthSubmitted(at))
}
