/**
 * Jobs that are over: the newest in buffers in memory, the others in files of the newest
 * checkpoint.
 *
 * A job leaves the ledger the moment it is over (`moveOutOfMemory`), and is a record in a buffer
 * from then on, outside of the heap. The buffers go, each as a whole, when a checkpoint has what is
 * in them (`useCheckpoint`). If a command names such a job, the ledger admits a copy of it, which may
 * be evicted BETWEEN commands. To be read or listed, a job is not admitted.
 */
import type { Command, Job, Tally } from '../../kernel/index.ts'
import { addToTally, emptyTally, jobEndedAt, jobState, NO_TALLIES } from '../../kernel/index.ts'
import type { Disk, JobRecord, KeepsTask, Manifest, FinishedTable } from '../../log/index.ts'
import {
  CorruptLog,
  HashFilter,
  hashKey,
  hashText,
  Interning,
  recordTallies,
  FinishedFile,
  FinishedBuffer,
  eventLoopTurn,
} from '../../log/index.ts'
import type { FinishedJobSource } from '../state/finished-job-source.ts'
import type { Ledger } from '../state/ledger.ts'
import type { JobsFilter } from '../read-model.ts'
import type { Outcome, OutputsPage, Retention } from '../store.ts'
import { RetentionPlanner } from './retention.ts'
import type { FoundFinished } from './table-cursor.ts'
import { TableCursor } from './table-cursor.ts'
import { keepSpec } from '../state/job-with-stored-spec.ts'
import type { Listed } from '../views/job-pages.ts'
import { listing } from '../views/job-pages.ts'
import type { TaskOutput } from '../views/job-views.ts'
import { outcomeOf, outputsPage, tasksIn } from '../views/job-views.ts'

/** When so many copies are in memory again, they are evicted. */
const MOST_READMITTED = 1_000
/** Jobs whose outputs are read page by page at the same time: there may be many. */
const MOST_PAGED = 4
/** A job with so many takes a while to decode. */
const LARGE_TASKS = 200
/** Jobs that are looked up between two turns of the event loop: a few milliseconds. */
const STEP = 500
/** Rows whose hashes are noted between two turns: a fraction of a millisecond. */
const HASHES_STEP = 8_192
/** So many jobs are expected at least. */
const FEW_JOBS = 65_536
/** Rows that a list passes over between two looks at what it costs. */
const PASSED_STEP = 32_768

/** A buffer, and the marker of a checkpoint behind which its jobs ended. */
interface DatedBuffer {
  readonly buffer: FinishedBuffer
  readonly since: number
}

export class FinishedJobs implements FinishedJobSource {
  readonly #disk: Disk
  readonly #folder: string
  readonly #interning = new Interning()
  #finishedFiles: FinishedFile[] = []
  /** Oldest first. */
  #buffers: DatedBuffer[] = []
  /** The hashes of all ids and keys that are here, and perhaps some more. */
  #hashes = new HashFilter(FEW_JOBS)
  /** The same with the checkpoint that is being taken into use. */
  #nextHashes: HashFilter | null = null
  /** Where the checkpoint ends that the files belong to. */
  #position = 0
  /** Where the newest checkpoint ends, or the one that is being made will end. */
  #marker = 0
  /** Over before that marker, and changed or forgotten since. */
  #outdated: string[] = []
  /** Copies of jobs that are here, and in memory again. */
  readonly #readmitted = new Set<Job>()
  readonly #retention = new RetentionPlanner()
  /** Outputs that are being read page by page, of a few jobs: each job is read from its file once. */
  readonly #paged = new Map<string, readonly (readonly TaskOutput[])[]>()
  /** The large job that a query asked for last. */
  #recent: { readonly id: string; readonly record: WeakRef<JobRecord> } | null = null
  /** Whose jobs these are; set once, before anything else happens. */
  ledger!: Ledger
  /** Called for each file whose tables had to be made again. */
  onRebuilt: (file: string) => void = () => undefined

  /** Called when a job that should be forgotten cannot be read. */
  set onUnreadable(listener: (error: Error) => void) {
    this.#retention.onUnreadable = listener
  }

  constructor(disk: Disk, folder: string) {
    this.#disk = disk
    this.#folder = folder
  }

  findKey(type: string, key: string): JobRecord | null {
    if (!this.#hashes.mayHave(hashKey(type, key))) return null
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
    return this.#hashes.mayHave(hashText(id))
  }

  /** `keeps`: see `readJob`. */
  find(id: string, keeps: KeepsTask | null = null): JobRecord | null {
    if (!this.mayHave(id)) return null
    for (const { buffer } of this.#buffers) {
      const row = buffer.find(id)
      if (row !== -1) return buffer.read(row, this.#interning, keeps)
    }
    try {
      for (const finishedFile of this.#finishedFiles) {
        const row = finishedFile.find(id)
        if (row !== -1) return finishedFile.read(row, this.#interning, keeps)
      }
    } catch (error) {
      throw naming(error, `job '${id}'`)
    }
    return null
  }

  /** The same, for a query. Several ask for one job at about the same time: a large one is decoded for all of them. */
  findForQuery(id: string): JobRecord | null {
    const recent = this.#recentOf(id)
    if (recent !== null) return recent
    const record = this.find(id)
    const tasks = record?.stages?.reduce((sum, stage) => sum + (stage?.length ?? 0), 0) ?? 0
    // Held weakly: it takes no memory that is needed.
    if (record !== null && tasks >= LARGE_TASKS) this.#recent = { id, record: new WeakRef(record) }
    return record
  }

  #recentOf(id: string): JobRecord | null {
    return this.#recent?.id === id ? (this.#recent.record.deref() ?? null) : null
  }

  /** What became of a job. Its tasks are counted one by one, and only those that went wrong are kept meanwhile. */
  outcome(id: string, now: number): Outcome | null {
    const recent = this.#recentOf(id)
    if (recent !== null) return outcomeOf(recent, recordTallies(recent), now)
    const tallies: Tally[] = []
    const record = this.find(id, (task) => {
      const { stage, state } = task
      addToTally((tallies[stage] ??= emptyTally()), task, 1)
      return state === 'FAILED' || state === 'DEAD'
    })
    if (record === null) return null
    const { stages } = record
    const counted = (stages ?? []).map((_, stage) => tallies[stage] ?? emptyTally())
    return outcomeOf(record, stages === null ? NO_TALLIES : counted, now)
  }

  /** A page of what the segments of a stage put out. What is behind it is kept until it was read, too. */
  outputs(id: string, stage: number, after: number, limit: number): OutputsPage | null {
    const recent = this.#recentOf(id)
    if (recent !== null) return outputsPage(tasksIn(recent, stage), after, limit)
    const outputs = this.#paged.get(id) ?? this.#outputsOf(id)
    if (outputs === null) return null
    // The latest last. A caller that stops half-way does not say so: the oldest makes room.
    this.#paged.delete(id)
    const page = outputsPage(outputs[stage] ?? [], after, limit)
    if (page.next === null) return page
    this.#paged.set(id, outputs)
    const [oldest] = this.#paged.keys()
    if (this.#paged.size > MOST_PAGED && oldest !== undefined) this.#paged.delete(oldest)
    return page
  }

  /** By stage, then by segment: very many tasks are never in memory together. */
  #outputsOf(id: string): TaskOutput[][] | null {
    const outputs: TaskOutput[][] = []
    const record = this.find(id, ({ stage, segment, output }) => {
      ;(outputs[stage] ??= []).push({ segment, output })
      return false
    })
    if (record === null) return null
    return record.job.task === null ? outputs : [[record.job.task]]
  }

  noteReadmitted(job: Job): void {
    this.#readmitted.add(job)
  }

  evictReadmitted(): void {
    if (this.#readmitted.size < MOST_READMITTED) return
    for (const job of this.#readmitted) this.ledger.evict(job)
    this.#readmitted.clear()
  }

  /** A job in memory is over: it becomes a record in a buffer, and leaves the ledger. */
  moveOutOfMemory(job: Job): void {
    const stages = this.ledger.world.tasks.get(job.id) ?? null
    // Once: it may be read from the disk.
    keepSpec(job)
    const tallies = this.ledger.tallies(job)
    const endedAt = jobEndedAt(job, tallies)
    const buffer = this.#buffer()
    const row = buffer.add(job, stages, endedAt, jobState(job, tallies, this.ledger.now))
    addHash(this.#hashes, buffer, row)
    if (this.#nextHashes !== null) addHash(this.#nextHashes, buffer, row)
    this.#retention.jobEnded(job.spec, endedAt)
    this.ledger.evict(job)
  }

  /** Something was noted about a job that is over: its record becomes what it is now. */
  replaceRecord(job: Job): void {
    this.#readmitted.delete(job)
    this.#dropRecord(job)
    this.moveOutOfMemory(job)
  }

  forget(job: Job): void {
    this.#readmitted.delete(job)
    this.#dropRecord(job)
  }

  /** Forgetting a job was refused: it is not named again for a while. */
  postpone(id: string, now: number): void {
    this.#retention.postpone(id, now)
  }

  /** A checkpoint will be made that has everything up to here. */
  checkpointBegun(position: number): void {
    this.#marker = position
    this.#outdated = []
  }

  /** From now on its files are read; the buffers that it holds are dropped. */
  async useCheckpoint(manifest: Manifest): Promise<void> {
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
    // Twice as many: more jobs end before the next checkpoint.
    const known = (this.#nextHashes = new HashFilter(2 * jobs))
    try {
      await addHashes(known, tables)
      // What has changed while the checkpoint was made is in its files as it was before.
      for (let i = 0; i < this.#outdated.length; i++) {
        if (i % STEP === STEP - 1) await eventLoopTurn()
        rows.push(...rowsOf(finishedFiles, this.#outdated[i] as string))
      }
    } catch (error) {
      this.#nextHashes = null
      for (const finishedFile of opened.values()) await finishedFile.close()
      throw error
    }
    this.#hashes = known
    this.#nextHashes = null
    for (const [i, { name, gone }] of manifest.finishedFiles.entries()) {
      // What has changed since the file was made is in another one now.
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

  /** Counts the jobs of a checkpoint that was just read, BEFORE any entry behind it is. */
  countAll(): void {
    for (const table of this.#finishedFiles) {
      const counts = table.cells.map(() => 0)
      for (let row = 0; row < table.records; row++) {
        if (!table.isGone(row))
          counts[table.cellOf(row)] = (counts[table.cellOf(row)] as number) + 1
      }
      table.cells.forEach((cell, i) => {
        this.ledger.counter.addFinished(cell, cell.state, counts[i] as number)
      })
    }
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
   * changes nothing: the same are named again until they are forgotten.
   */
  forgetCommands(retention: Retention, now: number, limit: number): Command[] {
    return this.#retention.dueCommands(this.#tables(), retention, now, limit)
  }

  /**
   * Jobs that were submitted behind a position, or with `newest` before it, in order, without those that the
   * filter leaves out by what the tables say. Null: so many were passed over. Good until something changes.
   */
  *inOrder(
    position: number,
    newest: boolean,
    filter: JobsFilter,
  ): IterableIterator<FoundFinished | null> {
    const cursors = this.#tables().flatMap((table) => {
      return TableCursor.open(table, position, newest, filter, this.#interning) ?? []
    })
    let passed = 0
    for (;;) {
      let best: TableCursor | null = null
      for (const cursor of cursors) {
        const skipped = cursor.advance()
        passed += skipped
        if (cursor.isDone) continue
        if (best === null || cursor.first < best.first === !newest) best = cursor
      }
      if (passed >= PASSED_STEP) {
        passed = 0
        yield null
      }
      if (best === null) return
      yield best.take()
    }
  }

  /** All that were submitted behind a position, in order. Good until something changes. */
  *after(position: number): IterableIterator<Listed> {
    for (const one of this.inOrder(position, false, {})) if (one !== null) yield one.read()
  }

  /** Of these, the ones that were submitted with a key; perhaps some others. Good until something changes. */
  *withKey(
    key: string,
    type: string | undefined,
    position: number,
    newest: boolean,
  ): IterableIterator<FoundFinished> {
    const rows = this.#tables().flatMap((table) =>
      table.rowsWithKey(key, type).map((row) => ({ table, row, first: table.firstPosition(row) })),
    )
    const sign = newest ? -1 : 1
    for (const { table, row, first } of rows.toSorted((a, b) => (a.first - b.first) * sign)) {
      if (newest ? first >= position : first <= position) continue
      const read = (): Listed => {
        const record = table.read(row, this.#interning)
        return listing(record.job, recordTallies(record), 0)
      }
      yield { first, read }
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
   * The record of a job counts no more. That was decided, and must not fail, so no file is read.
   */
  #dropRecord({ id, firstPosition }: Job): void {
    this.#paged.delete(id)
    if (this.#recent?.id === id) this.#recent = null
    for (const { buffer, since } of this.#buffers) {
      const row = buffer.find(id)
      if (row === -1) continue
      buffer.leave(row)
      if (since < this.#marker) this.#outdated.push(id)
      return
    }
    let isInFile = false
    for (const finishedFile of this.#finishedFiles) {
      const row = finishedFile.findSubmitted(id, firstPosition)
      if (row === -1) continue
      finishedFile.leave(row)
      isInFile = true
    }
    if (isInFile && this.#position < this.#marker) this.#outdated.push(id)
  }
}

function addHash(known: HashFilter, table: FinishedTable, row: number): void {
  known.add(table.idHash(row))
  if (table.keepsKey(row)) known.add(table.keyHash(row))
}

/** Adds all rows, in steps. `moveOutOfMemory` adds those that come meanwhile. */
async function addHashes(known: HashFilter, tables: readonly FinishedTable[]): Promise<void> {
  let noted = 0
  for (const table of tables) {
    for (let row = 0; row < table.records; row++) {
      addHash(known, table, row)
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
