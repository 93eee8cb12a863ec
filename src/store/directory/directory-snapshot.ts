/**
 * Time travel in a directory that is open: from the newest checkpoint that is not later than the moment, or
 * from the beginning of the log, with the entries behind it. It reads files beside the writer, only what is
 * durable, and in small pieces; while a list is read, no file goes away.
 *
 * Memory holds one window of jobs: so many, in order of submission, are folded while the log is read up to
 * the moment, and shown; then the log is read again for the next ones. A job that is over by then is kept as
 * what a list shows of it, so a window holds many of those.
 */
import type { Entry, Job, JobEntry, StageTasks, Task, TaskEntry } from '../../kernel/index.ts'
import { createJob, createWorld, findTask, fold, isFinal, jobState } from '../../kernel/index.ts'
import type {
  Disk,
  JobRecord,
  LoggedEntry,
  LogReader,
  LogWriter,
  Manifest,
} from '../../log/index.ts'
import { ENTRY_CODES, eventLoopTurn, findJob, jobsInOrder, recordTallies } from '../../log/index.ts'
import type { Moment } from '../moment.ts'
import { BeforeHistory } from '../moment.ts'
import type { JobSummary } from '../read-model.ts'
import type { PastJob, PositionedEntry, SnapshotFilter, StoreSnapshot } from '../store.ts'
import { matchesSubmit } from '../views/job-pages.ts'
import { foldJob, pastSummary } from '../views/past-job.ts'
import type { CheckpointSchedule } from './checkpoint-schedule.ts'
import type { ErasedJobs } from './erased-jobs.ts'

export interface DirectorySnapshotParts {
  readonly disk: Disk
  readonly folder: string
  readonly writer: LogWriter
  readonly reader: LogReader
  readonly checkpoints: CheckpointSchedule
  /** The job that has the id now. */
  readonly findNow: (id: string) => Job | null
  /** What the log has of them is not shown. */
  readonly erased: ErasedJobs
  /** How many jobs that are not over are held at once. */
  readonly snapshotJobs: number
}

/** Jobs between two turns of the event loop. */
const TURN_EVERY = 200
/** A job that is over takes so much less memory. */
const OVER_PER_OPEN = 4

/** `now`: the authority's time. */
export async function openDirectorySnapshot(
  parts: DirectorySnapshotParts,
  moment: Moment,
  now: number,
): Promise<StoreSnapshot> {
  const { writer, checkpoints } = parts
  // What was answered before this call is in it.
  await writer.durable()
  return checkpoints.pinned(async () => {
    const found =
      'time' in moment
        ? await endAt(parts, Math.min(moment.time, now))
        : await timeOf(parts, moment.position)
    const snapshot = new DirectorySnapshot(parts, moment, found.end, found.time)
    snapshot.base()
    return snapshot
  })
}

/** Behind the last entry that was written up to a time: times only grow along the log. */
async function endAt(
  { reader, writer }: DirectorySnapshotParts,
  time: number,
): Promise<{ end: number; time: number }> {
  const { durablePosition: durable, segments } = writer
  const first = segments.findLast(({ head }) => head.begunAt <= time)
  const place = first?.head.base ?? reader.begin
  const { entries } = await reader.from(place, durable, (_code, at) => at > time)
  return { end: entries[0]?.position ?? durable, time }
}

/** When the newest entry up to a position was written. */
async function timeOf(
  { reader, writer }: DirectorySnapshotParts,
  position: number,
): Promise<{ end: number; time: number }> {
  const { durablePosition: durable, segments } = writer
  const end = Math.min(position + 1, durable)
  const segment = segments.findLast(({ head }) => head.base < end)
  let time = segment?.head.begunAt ?? 0
  if (segment !== undefined) {
    await reader.from(segment.head.base, end, (_code, at) => {
      time = at
      return false
    })
  }
  return { end, time }
}

class DirectorySnapshot implements StoreSnapshot {
  readonly time: number
  readonly #parts: DirectorySnapshotParts
  readonly #moment: Moment
  /** Entries before this position count. */
  readonly #end: number

  constructor(parts: DirectorySnapshotParts, moment: Moment, end: number, time: number) {
    this.#parts = parts
    this.#moment = moment
    this.#end = end
    this.time = time
  }

  async position(): Promise<number> {
    return Math.max(0, this.#end - 1)
  }

  /** The checkpoint to begin with; null: the log, which begins at 0. It may be another one later. */
  base(): Manifest | null {
    const { reader, checkpoints } = this.#parts
    const { manifests } = checkpoints
    const { begin } = reader
    const base = manifests.find(({ position }) => position <= this.#end && position >= begin)
    if (base !== undefined || begin === 0) return base ?? null
    const oldest = manifests.findLast(({ position }) => position >= begin)
    throw new BeforeHistory(this.#moment, {
      position: oldest?.position ?? begin,
      time: oldest?.marker.now ?? 0,
    })
  }

  async job(id: string): Promise<PastJob | null> {
    const { disk, folder, checkpoints, erased } = this.#parts
    return checkpoints.pinned(async () => {
      const linked = await this.#linkedEntries(id)
      if (linked !== null) {
        const record = foldJob(null, linked)
        return record === null ? null : { record, entries: linked }
      }
      const base = this.base()
      const start = base === null ? null : await findJob(disk, folder, base, id)
      if (start !== null) erased.redact(start)
      const entries: PositionedEntry[] = []
      for await (const batch of this.#batches(this.#place(base), (_code, subject) => {
        return subject === id
      })) {
        for (const { position, entry } of batch) {
          if ('job' in entry) entries.push({ position, entry })
        }
      }
      const record = foldJob(start, entries)
      return record === null ? null : { record, entries: sinceSubmit(entries) }
    })
  }

  /**
   * Along the links, if the job that has the id now is the one that had it then, and its log is whole; null:
   * it is not.
   */
  async #linkedEntries(id: string): Promise<PositionedEntry[] | null> {
    const { findNow, reader, writer, erased } = this.#parts
    const job = findNow(id)
    if (job === null || job.firstPosition >= this.#end || job.firstPosition < reader.begin)
      return null
    const { firstPosition, lastPosition } = job
    // What is in memory may be newer than what is on the disk.
    await writer.durable()
    const newestFirst: PositionedEntry[] = []
    for (let position = lastPosition; position >= firstPosition;) {
      const found = await reader.at(position)
      if (found === null) return null
      if (position < this.#end)
        newestFirst.push({
          position,
          entry: erased.shown(found.entry as JobEntry | TaskEntry, position),
        })
      if (found.before === 0) break
      position = found.before
    }
    return newestFirst.toReversed()
  }

  async *jobs(filter: SnapshotFilter): AsyncGenerator<JobSummary, void> {
    const { disk, folder, checkpoints, snapshotJobs, erased } = this.#parts
    const unpin = checkpoints.pin()
    try {
      const base = this.base()
      const newWindow = (): JobWindow => new JobWindow(snapshotJobs, this.time, filter)
      if (base !== null) {
        let window = newWindow()
        for await (const record of inTurns(jobsInOrder(disk, folder, base))) {
          if (!window.hasRoom) {
            yield* inTurns(await this.#folded(window, base))
            window = newWindow()
          }
          erased.redact(record)
          window.addRecord(record)
        }
        yield* inTurns(await this.#folded(window, base))
      }
      for (let place: number | null = this.#place(base); place !== null;) {
        const window = newWindow()
        place = await this.#collect(window, place)
        yield* inTurns(window.summaries())
      }
    } finally {
      unpin()
    }
  }

  /** What became, up to the moment, of jobs that were in the checkpoint. */
  async #folded(window: JobWindow, base: Manifest): Promise<Iterable<JobSummary>> {
    for await (const entries of this.#batches(base.position, (_code, subject) => {
      return window.has(subject)
    })) {
      for (const logged of entries) window.apply(logged)
    }
    return window.summaries()
  }

  /** Takes jobs that were submitted from a place on, and what became of them. Where the next ones begin. */
  async #collect(window: JobWindow, place: number): Promise<number | null> {
    let next: number | null = null
    /** Ids of this batch, of which the window does not know yet. */
    const fresh = new Set<string>()
    for await (const entries of this.#batches(place, (code, subject) => {
      if (next === null && code === ENTRY_CODES.JobSubmitted) fresh.add(subject)
      return window.has(subject) || fresh.has(subject)
    })) {
      for (const logged of entries) {
        if (logged.entry.type !== 'JobSubmitted') window.apply(logged)
        else if (next === null && window.hasRoom) window.addSubmitted(logged)
        // The first one that does not fit; later ones are not looked at.
        else next ??= logged.position
      }
      fresh.clear()
    }
    return next
  }

  /**
   * Entries up to the moment, a few at a time, without what was erased since: those that are wanted by their
   * type and by what they are about.
   */
  async *#batches(
    place: number,
    isWanted: (code: number, subject: string) => boolean,
  ): AsyncGenerator<readonly LoggedEntry[], void> {
    const { reader, erased } = this.#parts
    for (let at = place; at < this.#end;) {
      const { entries, next } = await reader.from(at, this.#end, (code, _at, subject) => {
        return isWanted(code, subject)
      })
      yield erased.shownAll(entries)
      at = next
    }
  }

  #place(base: Manifest | null): number {
    return base?.position ?? this.#parts.reader.begin
  }
}

/** What is at hand would be given out without a turn of the event loop, however much it is. */
async function* inTurns<T>(all: Iterable<T> | AsyncIterable<T>): AsyncGenerator<T, void> {
  let given = 0
  for await (const one of all) {
    yield one
    given += 1
    if (given % TURN_EVERY === 0) await eventLoopTurn()
  }
}

/** Entries of the last life of an id. */
function sinceSubmit(entries: readonly PositionedEntry[]): readonly PositionedEntry[] {
  const first = entries.findLastIndex(({ entry }) => entry.type === 'JobSubmitted')
  return first === -1 ? entries : entries.slice(first)
}

/** Some jobs, in order of submission, folded as their entries are read. */
class JobWindow {
  readonly #most: number
  readonly #time: number
  readonly #filter: SnapshotFilter
  /** Null: it is in the world, and goes on. */
  readonly #jobs = new Map<string, JobSummary | null>()
  readonly #world = createWorld()
  /** Of each pipeline: how many of its tasks are neither COMPLETED nor FAILED. */
  readonly #openTasks = new Map<string, number>()
  /** Tasks in the world, those that are through included. */
  #tasks = 0

  /** `most`: how many jobs, or tasks, that are not over. */
  constructor(most: number, time: number, filter: SnapshotFilter) {
    this.#most = most
    this.#time = time
    this.#filter = filter
  }

  get hasRoom(): boolean {
    return this.#jobs.size < OVER_PER_OPEN * this.#most && this.#tasks < this.#most
  }

  has(id: string): boolean {
    return this.#jobs.has(id)
  }

  /** Of a checkpoint. */
  addRecord({ job, stages }: JobRecord): void {
    if (!matchesSubmit(job.spec, this.#filter)) return
    const bare = { ...job, spec: withoutPayloads(job.spec) }
    this.#add(bare, stages)
    for (const tasks of stages ?? []) for (const task of tasks ?? []) this.#addTask(task)
    this.#noteEnd(bare, this.#time)
  }

  addSubmitted({ entry, position }: LoggedEntry): void {
    if (entry.type !== 'JobSubmitted' || !matchesSubmit(entry.spec, this.#filter)) return
    const job = createJob({ ...entry, spec: withoutPayloads(entry.spec) })
    job.firstPosition = position
    this.#add(job, job.opened?.map(() => null) ?? null)
  }

  #add(job: Job, stages: StageTasks | null): void {
    this.#jobs.set(job.id, null)
    this.#world.jobs.set(job.id, job)
    this.#tasks += 1
    if (stages === null) return
    this.#world.tasks.set(job.id, stages)
    this.#openTasks.set(job.id, 0)
  }

  #addTask(task: Task): void {
    this.#tasks += 1
    if (isOpen(task)) this.#changeOpen(task.job, 1)
  }

  #changeOpen(job: string, by: number): void {
    this.#openTasks.set(job, (this.#openTasks.get(job) ?? 0) + by)
  }

  /** An entry that is not a submit, of any job. */
  apply({ entry }: LoggedEntry): void {
    if (!('job' in entry) || entry.type === 'JobSubmitted') return
    const known = this.#jobs.get(entry.job)
    if (known === undefined) return
    if (entry.type === 'JobForgotten') {
      if (known === null) this.#leave(entry.job)
      this.#jobs.delete(entry.job)
    } else if (known === null) this.#fold(entry, this.#world.jobs.get(entry.job) as Job)
    else if (entry.type === 'JobErased') {
      this.#jobs.set(entry.job, { ...known, erasedAt: entry.at })
    }
  }

  #fold(entry: JobEntry | TaskEntry, job: Job): void {
    const task =
      'segment' in entry ? findTask(this.#world, job.id, entry.stage, entry.segment) : null
    const wasOpen = task != null && isOpen(task)
    fold(this.#world, withoutValue(entry))
    if (entry.type === 'StageOpened') {
      for (const one of this.#world.tasks.get(job.id)?.[entry.stage] ?? []) this.#addTask(one)
    } else if (job.task === null && wasOpen && !isOpen(task)) this.#changeOpen(job.id, -1)
    this.#noteEnd(job, entry.at)
  }

  /** A job that is over is only erased, or forgotten: what a list shows of it is enough. */
  #noteEnd(job: Job, at: number): void {
    if (job.task === null && this.#openTasks.get(job.id) !== 0) return
    const stages = this.#world.tasks.get(job.id) ?? null
    if (!isFinal(jobState(job, recordTallies({ job, stages }), at))) return
    this.#leave(job.id)
    const summary = pastSummary({ job, stages }, this.#time, this.#filter)
    if (summary === null) this.#jobs.delete(job.id)
    else this.#jobs.set(job.id, summary)
  }

  #leave(id: string): void {
    this.#tasks -= 1
    for (const tasks of this.#world.tasks.get(id) ?? []) this.#tasks -= tasks?.length ?? 0
    this.#world.jobs.delete(id)
    this.#world.tasks.delete(id)
    this.#openTasks.delete(id)
  }

  *summaries(): Iterable<JobSummary> {
    for (const [id, known] of this.#jobs) {
      const summary = known ?? this.#summaryOf(id)
      if (summary !== null) yield summary
    }
  }

  #summaryOf(id: string): JobSummary | null {
    const job = this.#world.jobs.get(id) as Job
    const stages = this.#world.tasks.get(id) ?? null
    return pastSummary({ job, stages }, this.#time, this.#filter)
  }
}

/** Not DEAD either: a person may retry it. */
function isOpen({ state }: Task): boolean {
  return state !== 'COMPLETED' && state !== 'FAILED'
}

/** A list shows neither, and they may be large. */
function withoutPayloads(spec: Job['spec']): Job['spec'] {
  return { ...spec, input: 'null', steps: [], metadata: null }
}

function withoutValue(entry: Entry): Entry {
  if (entry.type === 'JobReplaced') return { ...entry, input: 'null' }
  return entry.type === 'StepRecorded' ? { ...entry, value: 'null' } : entry
}
