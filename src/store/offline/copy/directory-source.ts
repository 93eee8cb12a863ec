/**
 * A directory that no store has open, to be copied.
 *
 * Its history may begin in the middle: old segments are gone, and what they led to is in a
 * checkpoint. A job that began before has its present state as its baseline, and what is kept of its
 * entries is history. What it was submitted by follows from the job.
 */
import type { Entry, Job, StageOpened, Task } from '../../../kernel/index.ts'
import type { JobRecord, LoggedEntry } from '../../../log/index.ts'
import { LogReader } from '../../../log/index.ts'
import type { LoadedDirectory } from '../../directory/load-directory.ts'
import { loadDirectory } from '../../directory/load-directory.ts'
import type { OfflineOptions } from '../owned-folder.ts'
import { withOwnedFolder } from '../owned-folder.ts'
import type { Baseline, BaselineKind, EventRow } from '../../sql/rows/event-rows.ts'
import { Records } from '../../sql/rows/records.ts'
import { JOB_ROW, rowKey } from '../../sql/rows/work-rows.ts'
import { submissionOf } from '../../sql/verify/job-fold.ts'
import type { Buckets, CopySource } from './copy-source.ts'

export function withDirectorySource<T>(
  path: string,
  options: OfflineOptions,
  work: (source: CopySource) => Promise<T>,
): Promise<T> {
  return withOwnedFolder(path, options, async (folder, { disk }) => {
    const loaded = await loadDirectory(disk, folder, () => undefined)
    const reader = new LogReader(disk, () => loaded.log?.segments ?? [])
    try {
      return await work(new DirectorySource(loaded, reader))
    } finally {
      await reader.close()
      await loaded.state.close()
    }
  })
}

/** The position of the newest entry of each row of a job. */
type NewestByRow = Map<string, number>

class DirectorySource implements CopySource {
  readonly end: number
  readonly buckets: Buckets
  readonly removed = null
  readonly #loaded: LoadedDirectory
  readonly #reader: LogReader
  readonly #records = new Records()
  /** Where the history begins. */
  readonly #begin: number
  /** Pipelines that began in what is kept: each of their segments has a row. */
  readonly #pipelines = new Map<string, NewestByRow>()
  /** The newest event that is copied: a baseline holds up to there. */
  #through = 0
  /** Jobs that began before; null: they are gone, and none of their entries is copied. */
  readonly #old = new Map<string, NewestByRow | null>()

  constructor(loaded: LoadedDirectory, reader: LogReader) {
    this.#loaded = loaded
    this.#reader = reader
    this.#begin = loaded.log?.segments[0]?.head.base ?? 0
    this.end = loaded.log?.end ?? 0
    const { ledger } = loaded.state
    const { queues, limits } = ledger.ready.buckets(ledger.now)
    this.buckets = {
      queues: new Map(queues.map(({ name, fullAt }) => [name, fullAt])),
      limits: new Map(limits.map(({ name, fullAt }) => [name, fullAt])),
    }
  }

  get total(): number {
    return this.end - this.#begin
  }

  async *events(): AsyncIterable<{ events: readonly EventRow[]; done: number }> {
    for (const { job } of this.#oldJobs()) {
      yield { events: [this.#row(submissionOf(job), job.firstPosition, null)], done: 0 }
    }
    for (let place = this.#reader.begin; place < this.end;) {
      const { entries, next } = await this.#reader.from(place, this.end)
      const events = entries.flatMap((logged) => this.#copiedEvents(logged))
      place = next
      yield { events, done: next - this.#begin }
    }
  }

  async *baselines(): AsyncIterable<readonly Baseline[]> {
    if (this.#begin === 0) return
    const { queues, schedules } = this.#loaded.state.ledger.world
    const row = (kind: BaselineKind, name: string, record: Uint8Array): Baseline => {
      return { kind, name, stage: 0, segment: 0, through: this.#through, lastPosition: 0, record }
    }
    yield [...queues].map(([name, queue]) => row('queue', name, this.#records.ofQueue(queue)))
    yield [...schedules].map(([name, one]) => row('schedule', name, this.#records.ofSchedule(one)))
    for (const record of this.#oldJobs()) yield await Promise.resolve(this.#baselineOf(record))
  }

  #baselineOf({ job, stages }: JobRecord): Baseline[] {
    const rows = this.#old.get(job.id)
    const last = (stage: number, segment: number): number => {
      const known = rows?.get(rowKey(job.id, stage, segment))
      if (known !== undefined || rows != null || stage !== JOB_ROW) return known ?? 0
      // Of a job without kept entries, at least the position of its last change is known.
      return Math.min(job.lastPosition, this.#through)
    }
    const row = (stage: number, segment: number, record: Uint8Array): Baseline => {
      const lastPosition = last(stage, segment)
      const through = this.#through
      return { kind: 'job', name: job.id, stage, segment, through, lastPosition, record }
    }
    const tasks: readonly Task[] = (stages ?? []).flatMap((one) => one ?? [])
    return [
      row(JOB_ROW, 0, this.#records.ofWholeJob(job)),
      ...tasks.map((task) => row(task.stage, task.segment, this.#records.ofWholeTask(task, job))),
    ]
  }

  /** Jobs that are there, and began before the history that is kept. */
  *#oldJobs(): Iterable<JobRecord> {
    if (this.#begin === 0) return
    const { live, finished, ledger } = this.#loaded.state
    for (const job of live.after(0)) {
      if (job.firstPosition >= this.#begin) break
      yield { job, stages: ledger.world.tasks.get(job.id) ?? null }
    }
    for (const { job } of finished.after(0)) {
      if (job.firstPosition >= this.#begin) break
      const record = finished.find(job.id)
      if (record !== null) yield record
    }
  }

  /** None: the job of the entry is gone, and so is its beginning. */
  #copiedEvents({ entry, position, before }: LoggedEntry): EventRow[] {
    if (!('job' in entry)) return [this.#row(entry, position, null)]
    const { job: id } = entry
    if (entry.type === 'JobSubmitted') {
      if (entry.spec.stages !== null) this.#pipelines.set(id, new Map())
      this.#old.delete(id)
      return [this.#row(entry, position, this.#noteEntry(this.#pipelines.get(id), entry, position))]
    }
    if (before < this.#begin && !this.#old.has(id)) this.#old.set(id, this.#rowsOfOld(id))
    const old = this.#old.get(id)
    if (old === null) return []
    const rows = old ?? this.#pipelines.get(id)
    const link = this.#noteEntry(rows, entry, position)
    if (entry.type === 'JobForgotten') this.#pipelines.delete(id)
    // A plain job has one row, so the entry before is that of the job.
    return [this.#row(entry, position, rows === undefined ? before : link)]
  }

  #rowsOfOld(id: string): NewestByRow | null {
    const { ledger, finished } = this.#loaded.state
    const job: Job | undefined = ledger.inMemory(id) ?? finished.find(id)?.job
    return job !== undefined && job.firstPosition < this.#begin ? new Map() : null
  }

  /** Notes the position of an entry, and returns that of the one before of the same row. */
  #noteEntry(
    rows: NewestByRow | undefined,
    entry: Entry & { job: string },
    position: number,
  ): number | null {
    if (rows === undefined) return null
    const isSegment = 'segment' in entry && !this.#isPlain(entry.job)
    const key = isSegment
      ? rowKey(entry.job, entry.stage, entry.segment)
      : rowKey(entry.job, JOB_ROW, 0)
    const before = rows.get(key) ?? null
    rows.set(key, position)
    if (entry.type === 'StageOpened') noteSegments(rows, entry, position)
    return before
  }

  /** Of a job that began before: of the others, only pipelines are noted. */
  #isPlain(id: string): boolean {
    if (this.#pipelines.has(id)) return false
    const { ledger, finished } = this.#loaded.state
    const job = ledger.inMemory(id) ?? finished.find(id)?.job
    return job !== undefined && job.task !== null
  }

  #row(entry: Entry, position: number, before: number | null): EventRow {
    const job = 'job' in entry ? entry.job : null
    const { type, at } = entry
    this.#through = Math.max(this.#through, position)
    const shown = this.#loaded.state.erased.shown(entry, position)
    return { position, job, before, type, at, record: this.#records.ofEntry(shown) }
  }
}

function noteSegments(
  rows: NewestByRow,
  { job, stage, segments }: StageOpened,
  position: number,
): void {
  for (let segment = 0; segment < segments; segment++) {
    rows.set(rowKey(job, stage, segment), position)
  }
}
