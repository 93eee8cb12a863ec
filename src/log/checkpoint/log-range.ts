/**
 * A range of the log, folded: what happened between two checkpoints.
 *
 * Jobs that were submitted in it are folded as they are read, and handed over the moment they
 * are over: most jobs are short, so that memory holds the few that are not. Of all others that
 * something happens to, the entries are kept until the record is found that they apply to.
 * Entries of different aggregates commute, so the order in which jobs are folded does not
 * matter.
 */
import type {
  Entry,
  Job,
  JobEntry,
  JobSpec,
  JobSubmitted,
  TaskEntry,
  World,
} from '../../kernel/index.ts'
import {
  applyToTask,
  createWorld,
  fold,
  isFinal,
  jobState,
  NO_TALLIES,
  taskIn,
} from '../../kernel/index.ts'
import { ByteReader } from '../format/bytes.ts'
import { CorruptLog } from '../errors.ts'
import { positionOf, MARKER_CODE } from '../format/format.ts'
import type { Interning } from '../format/interning.ts'
import type { Disk, DiskFile } from '../disk/disk.ts'
import { readUpTo } from '../disk/disk.ts'
import type { LoggedEntry } from '../segments/log-reader.ts'
import { decodeEntry, readEntryNow } from '../segments/log-reader.ts'
import type { JobRecord } from '../format/record-codec.ts'
import type { ErasedJob } from './manifest.ts'
import { scanSegment } from '../segments/segment-scan.ts'
import type { Segment } from '../segments/segments.ts'
import type { CheckpointMarker } from '../format/checkpoint-marker.ts'
import { NewerEntry } from '../format/versions.ts'
import { readMarker, MARKER_VERSION } from '../format/checkpoint-marker.ts'

/** Takes over a plain job that came to its end at this time; the world still has it. */
export type OnFinished = (job: Job, at: number, world: World) => void

export class LogRange {
  /** Jobs that were submitted in it, and neither handed over nor forgotten. */
  readonly fresh: World = createWorld()
  /** Entries of jobs that are not among them, oldest first. */
  readonly pending = new Map<string, LoggedEntry[]>()
  /** Entries of queues and schedules. */
  readonly small: Entry[] = []
  /** Jobs that were erased in it; of those that were there before, once `noteErased` was told. */
  readonly erased: ErasedJob[] = []
  marker: CheckpointMarker | null = null
  readonly #onFinished: OnFinished

  constructor(onFinished: OnFinished) {
    this.#onFinished = onFinished
  }

  add(logged: LoggedEntry): void {
    const { entry } = logged
    if (!('job' in entry)) {
      this.small.push(entry)
      return
    }
    const job = this.fresh.jobs.get(entry.job)
    if (job !== undefined || entry.type === 'JobSubmitted') {
      return this.#foldFresh(entry, logged.position, job)
    }
    const before = this.pending.get(entry.job)
    if (before === undefined) this.pending.set(entry.job, [logged])
    else before.push(logged)
  }

  /** The spec of a job that was submitted in it, and is not over yet, leaves memory. */
  unload(id: string, submitted: () => JobSubmitted): void {
    const job = this.fresh.jobs.get(id)
    if (job === undefined) return
    Object.defineProperty(job, 'spec', {
      configurable: true,
      enumerable: true,
      get: () => submitted().spec,
      // It was erased.
      set: (value: JobSpec) => {
        Object.defineProperty(job, 'spec', { enumerable: true, writable: true, value })
      },
    })
  }

  /** Notes whether the entries of one job erase it. */
  noteErased(
    entries: readonly Pick<LoggedEntry, 'entry' | 'position'>[],
    firstPosition: number,
  ): void {
    for (const { entry, position } of entries) {
      if (entry.type !== 'JobErased') continue
      this.erased.push({ job: entry.job, from: firstPosition, through: position })
    }
  }

  #foldFresh(entry: JobEntry | TaskEntry, position: number, known: Job | undefined): void {
    const { fresh } = this
    this.#apply(entry, known)
    const job = known ?? fresh.jobs.get(entry.job)
    if (job === undefined) return
    notePosition(job, entry, position)
    this.noteErased([{ entry, position }], job.firstPosition)
    // A pipeline has its tasks beside it: it waits for the end. And where an id is used again,
    // entries that are kept may be those of the job before, and must not meet this one.
    if (job.task === null || this.pending.has(entry.job)) return
    if (entry.type === 'JobForgotten' || !isFinal(jobState(job, NO_TALLIES, entry.at))) return
    this.#onFinished(job, entry.at, fresh)
    fresh.jobs.delete(entry.job)
  }

  /** What is at hand need not be looked up again. */
  #apply(entry: JobEntry | TaskEntry, known: Job | undefined): void {
    const { fresh } = this
    if (known === undefined || !('segment' in entry)) return fold(fresh, entry)
    const task = taskIn(fresh, known, entry.stage, entry.segment)
    // If there is none, `fold` says what is wrong.
    if (task === undefined) fold(fresh, entry)
    else applyToTask(task, entry)
  }
}

/** The job, with a spec that is read once, and not each time that it is asked for. */
export function withSpec(job: Job): Job {
  return Object.getOwnPropertyDescriptor(job, 'spec')?.get === undefined ? job : { ...job }
}

/** What became of a job that was there before; null: it was forgotten. */
export function continueJob(
  { job, stages }: JobRecord,
  entries: readonly LoggedEntry[],
): JobRecord | null {
  const world = createWorld()
  world.jobs.set(job.id, job)
  if (stages !== null) world.tasks.set(job.id, stages)
  for (const { entry, position } of entries) {
    fold(world, entry)
    notePosition(job, entry, position)
  }
  return world.jobs.has(job.id) ? { job, stages } : null
}

function notePosition(job: Job, entry: Entry, position: number): void {
  if (entry.type === 'JobSubmitted') job.firstPosition = position
  job.lastPosition = position
}

/** Specs with a larger input are read from the log again when they are written. */
const LARGE_CHARS = 64 * 1_024

/** The segments that a range was read from, open until its jobs are written. */
export class RangeFiles {
  readonly #disk: Disk
  readonly #files: DiskFile[] = []

  constructor(disk: Disk) {
    this.#disk = disk
  }

  async open(segment: Segment): Promise<DiskFile> {
    const file = await this.#disk.open(segment.path, 'read')
    this.#files.push(file)
    return file
  }

  /** Nothing was written through them, so nothing is lost if this fails. */
  async close(): Promise<void> {
    for (const file of this.#files.splice(0)) await file.close().catch(() => undefined)
  }
}

/** Everything from a position up to the marker at `to`, checked as it is read. */
export async function readLogRange(
  files: RangeFiles,
  segments: readonly Segment[],
  from: number,
  to: number,
  interning: Interning,
  onFinished: OnFinished,
  between: () => Promise<void>,
): Promise<LogRange> {
  const range = new LogRange(onFinished)
  const start = segments.findLastIndex(({ head }) => head.base <= from)
  const [first] = segments
  if (start === -1 && first !== undefined) {
    const place = { file: first.path, offset: 0, position: from }
    throw new CorruptLog(place, 'the log before it is gone.')
  }
  for (let i = Math.max(0, start); i < segments.length; i++) {
    const segment = segments[i] as Segment
    const { base, link } = segment.head
    if (base >= to) break
    const until = Math.min(to, segments[i + 1]?.head.base ?? to)
    const file = await files.open(segment)
    const bytes = await readUpTo(file, 0, await file.size())
    const { stop } = scanSegment(bytes, base, link, until, (record, position, lent, body) => {
      const { length, code, version } = record
      if (code === MARKER_CODE) {
        if (position !== to) return
        if (version > MARKER_VERSION) throw new NewerEntry('a marker', version, MARKER_VERSION)
        range.marker = readMarker(new ByteReader(lent, body, body + length))
      } else if (position >= from && position < to) {
        const logged = decodeEntry(lent, body, length, code, version, position, interning)
        range.add(logged)
        if (logged.entry.type !== 'JobSubmitted') return
        if (logged.entry.spec.input.length < LARGE_CHARS) return
        range.unload(logged.entry.job, () => {
          return readEntryNow(segment, file, position, interning).entry as JobSubmitted
        })
      }
    })
    const position = positionOf(base, stop.offset)
    if (position < until) {
      const place = { file: segment.path, offset: stop.offset, position }
      throw new CorruptLog(place, 'it does not check.')
    }
    await between()
  }
  return range
}
