/**
 * The writer: appends entries, and makes them durable in groups.
 *
 * One group is being written, the next one forms meanwhile; there is no timer. A group is written
 * only AFTER the one before it is durable, and the callers that wait for it are answered AFTER that.
 *
 * - open: `append` at once gives an entry its position; `durable` waits for the disk.
 * - ended: a write or a sync failed. No caller is told that anything happened, and the writer takes
 *   no more entries: what is on the disk shows when the log is opened again.
 * - closed.
 */
import type { Entry } from '../../kernel/index.ts'
import { DiskFull, isFull, StoreEnded, UnknownOutcome } from '../errors.ts'
import { FORMAT, GROUP_HEAD, offsetOf } from '../format/format.ts'
import { Group, GroupOutcome } from './group.ts'
import type { SubmittedAlike } from '../format/job-entries.ts'
import { Mark } from '../segments/durable-mark.ts'
import type { Disk, DiskFile } from '../disk/disk.ts'
import { writeAll } from '../disk/disk.ts'
import type { Segment } from '../segments/segments.ts'
import { makeSpare, removeSpare, restartSegment, startSegment } from '../segments/segments.ts'
import { Spare } from '../segments/segments.ts'
import { eventLoopTurn } from '../disk/event-loop-turn.ts'
import type { CheckpointMarker } from '../format/checkpoint-marker.ts'

/** Where a log goes on: its end as it was read, or the beginning of a new one. */
export interface WriterStart {
  readonly segments: readonly Segment[]
  readonly storeId: string
  readonly end: number
  readonly link: number
}

export interface WriterOptions {
  /** Bytes of a segment file. */
  readonly segmentBytes: number
  /** Bytes that new work leaves for reports when the disk is full. */
  readonly reserveBytes: number
  /** The authority's time. */
  readonly now: () => number
}

/** A group that is larger than this is closed, and the next one begins. */
const MOST_GROUP_BYTES = 1_024 * 1_024

/** Groups that are kept to be used again: one is written, and one forms. */
const MOST_IDLE = 2

/** What a group needs beside its records. */
const GROUP_COST = 2 * GROUP_HEAD

export class LogWriter {
  readonly #disk: Disk
  readonly #folder: string
  readonly #options: WriterOptions
  readonly #storeId: string
  readonly #mark: Mark
  readonly #segments: Segment[]
  #file: DiskFile
  /** Everything before it is on the disk, and the next group will be written there. */
  #durable: number
  /** Groups that are closed and not yet being written, oldest first. */
  #closed: Group[] = []
  #forming = new Group()
  #writing: Group | null = null
  #idle: Group[] = []
  /** Bytes of all groups that are not written yet, but for the one that forms. */
  #waitingBytes = 0
  #link: number
  #running: Promise<void> | null = null
  #failure: Error | null = null
  #isClosed = false
  readonly #spare: Spare
  #isNextMade = false
  /** The next group begins a segment, whether or not this one has room for it. */
  #isToRotate = false
  /** Called after each group, and when the writer ends. */
  onDurable: () => void = () => undefined

  private constructor(
    disk: Disk,
    folder: string,
    options: WriterOptions,
    start: WriterStart,
    mark: Mark,
    file: DiskFile,
  ) {
    this.#disk = disk
    this.#folder = folder
    this.#options = options
    this.#storeId = start.storeId
    this.#segments = [...start.segments]
    this.#durable = start.end
    this.#link = start.link
    this.#mark = mark
    this.#file = file
    this.#spare = new Spare(disk, folder, options.segmentBytes)
    this.#forming.begin(start.end, start.link)
  }

  static async open(
    disk: Disk,
    folder: string,
    options: WriterOptions,
    start: WriterStart,
  ): Promise<LogWriter> {
    const segments = [...start.segments]
    await removeSpare(disk, folder)
    const last = segments.at(-1)
    if (last?.head.base === start.end) await restartSegment(disk, folder, last)
    if (segments.length === 0) {
      const { storeId, end: base, link } = start
      await makeSpare(disk, folder, options.segmentBytes)
      const size = options.segmentBytes
      const head = { format: FORMAT, base, link, size, storeId, begunAt: options.now() }
      segments.push(await startSegment(disk, folder, head))
    }
    const mark = await Mark.open(disk, folder, start.storeId)
    try {
      mark.set(start.end)
      mark.set(start.end)
      await mark.sync()
      const file = await disk.open((segments.at(-1) as Segment).path, 'write-through')
      return new LogWriter(disk, folder, options, { ...start, segments }, mark, file)
    } catch (error) {
      await mark.close()
      throw error
    }
  }

  /** Everything before this position is durable. */
  get durablePosition(): number {
    return this.#durable
  }

  /** The position behind everything that was appended, durable or not. */
  get appendedPosition(): number {
    return this.#forming.isEmpty ? this.#forming.position : this.#forming.end
  }

  /** In order; the last one is being written to. */
  get segments(): readonly Segment[] {
    return this.#segments
  }

  /** Oldest first, while they are not needed any more. */
  dropSegment(): void {
    this.#segments.shift()
  }

  get failure(): Error | null {
    return this.#failure
  }

  /**
   * The entry's position. `before`: the position of the job's entry before this one, or 0. `alike`: how it is written, if
   * it is one of submits that are alike.
   */
  append(entry: Entry, before: number, alike: SubmittedAlike | null = null): number {
    const position = this.#forming.add(entry, before, alike)
    if (this.#forming.bytes > MOST_GROUP_BYTES) {
      this.#closeGroup()
      this.#running ??= this.#run()
    }
    return position
  }

  appendMarker(marker: CheckpointMarker): number {
    // A group of its own begins with it, so that everything before it is in groups before.
    if (!this.#forming.isEmpty) this.#closeGroup()
    return this.#forming.addMarker(marker)
  }

  /** Resolved when everything that was appended so far is durable; null: it is already. */
  durable(): Promise<void> | null {
    if (this.#failure !== null) {
      return Promise.reject(new UnknownOutcome(this.#folder, this.#failure))
    }
    const newest = this.#forming.isEmpty ? (this.#closed.at(-1) ?? this.#writing) : this.#forming
    if (newest === null) return null
    newest.outcome ??= new GroupOutcome()
    this.#running ??= this.#run()
    return newest.outcome.promise
  }

  /**
   * Makes sure that there is room for so many bytes of records; null: there is already. New
   * work leaves the reserve alone. Throws DiskFull, and then nothing has changed.
   */
  ensureRoom(bytes: number, isNewWork: boolean): Promise<void> | null {
    if (this.#failure !== null) throw new StoreEnded(this.#folder, this.#failure)
    return this.#hasRoom(bytes, isNewWork) ? null : this.#makeRoom(bytes, isNewWork)
  }

  /** What is appended from now on is in another segment. Throws DiskFull, and then nothing has changed. */
  async beginSegment(): Promise<void> {
    await this.durable()
    try {
      await this.#spare.make(this.#roomNeeded(0, false), false)
    } catch (error) {
      if (isFull(error)) throw new DiskFull(this.#folder, this.#options.segmentBytes, error)
      throw this.end(error)
    }
    this.#isToRotate = true
  }

  /** Waits for what was appended, then lets go of the files. */
  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    // One that has ended has told every caller that waited.
    const hasEnded = this.#failure !== null
    try {
      if (!hasEnded) await this.durable()
      await this.#running
      if (this.#failure === null) await this.#mark.sync()
    } catch (error) {
      throw error instanceof UnknownOutcome ? error : this.end(error)
    } finally {
      await this.#spare.idle()
      await this.#file.close().catch(() => undefined)
      await this.#mark.close().catch(() => undefined)
    }
  }

  /** The room that must be there, with all that is not written yet. */
  #roomNeeded(bytes: number, isNewWork: boolean): number {
    const reserve = isNewWork ? this.#options.reserveBytes : 0
    return this.#waitingBytes + this.#forming.bytes + bytes + GROUP_COST + reserve
  }

  #hasRoom(bytes: number, isNewWork: boolean): boolean {
    const need = this.#roomNeeded(bytes, isNewWork)
    const { base, size } = this.#segment.head
    return need <= size - offsetOf(base, this.#durable) || need <= this.#spare.room
  }

  async #makeRoom(bytes: number, isNewWork: boolean): Promise<void> {
    // What is waiting to be written may be all that is in the way.
    await this.durable()
    if (this.#hasRoom(bytes, isNewWork)) return
    try {
      await this.#spare.make(this.#roomNeeded(bytes, isNewWork), !isNewWork)
    } catch (error) {
      if (isFull(error)) throw new DiskFull(this.#folder, bytes, error)
      throw this.end(error)
    }
  }

  #closeGroup(): void {
    const group = this.#forming
    const { end, link } = group
    this.#closed.push(group)
    this.#waitingBytes += group.bytes
    this.#forming = this.#idle.pop() ?? new Group()
    this.#forming.begin(end, link)
  }

  async #run(): Promise<void> {
    try {
      // A turn of the event loop: callers of the same turn share a group.
      await eventLoopTurn()
      // What forms after the end may be half of something: it is never written.
      while (this.#failure === null && !this.#isAllWritten) {
        await this.#writeNext()
        // The callers that were just answered join the group that forms, unless one is full already.
        if (this.#closed.length === 0) await eventLoopTurn()
      }
    } catch (error) {
      this.end(error)
    } finally {
      this.#running = null
    }
  }

  /** Nothing is left to be written. */
  get #isAllWritten(): boolean {
    return this.#closed.length === 0 && this.#forming.isEmpty
  }

  async #writeNext(): Promise<void> {
    if (this.#closed.length === 0) this.#closeGroup()
    const group = this.#closed.shift() as Group
    this.#writing = group
    const { base, size } = this.#segment.head
    if (this.#isToRotate || offsetOf(base, this.#durable) + group.bytes > size) {
      await this.#rotate(group.bytes)
    }
    const offset = offsetOf(this.#segment.head.base, this.#durable)
    await writeAll(this.#file, group.seal(offset), offset)
    this.#endWrite(group)
  }

  #endWrite(group: Group): void {
    this.#durable = group.end
    this.#link = group.link
    this.#waitingBytes -= group.bytes
    // AFTER the group is durable: the mark never promises too much. If this fails, the group
    // still counts as being written, so that `end` tells the callers that wait for it.
    this.#mark.set(this.#durable)
    this.#writing = null
    group.outcome?.resolve()
    if (this.#idle.length < MOST_IDLE) this.#idle.push(group)
    this.#makeNextSegment()
    this.onDurable()
  }

  get #segment(): Segment {
    return this.#segments.at(-1) as Segment
  }

  async #rotate(bytes: number): Promise<void> {
    const head = {
      format: FORMAT,
      base: this.#durable,
      link: this.#link,
      storeId: this.#storeId,
      begunAt: this.#options.now(),
    }
    const segment = await this.#spare.become(head, bytes)
    const file = await this.#disk.open(segment.path, 'write-through')
    const old = this.#file
    this.#file = file
    // One without a group has the same name as the new one, which is in its place now.
    if (this.#segment.head.base === segment.head.base) this.#segments.pop()
    this.#segments.push(segment)
    await old.close()
    this.#isNextMade = false
    this.#isToRotate = false
  }

  /** The next segment is made while this one is in use, in time, and not for a log that is short. */
  #makeNextSegment(): void {
    const { base, size } = this.#segment.head
    if (this.#isNextMade || offsetOf(base, this.#durable) < size / 4) return
    this.#isNextMade = true
    // Not awaited. If there is no room for it now, the caller that needs it later is told.
    this.#spare.make(0, false).catch(() => undefined)
  }

  /** Takes no more entries, and tells every caller that waits that the outcome is unknown. */
  end(cause: unknown): Error {
    if (this.#failure === null) {
      this.#failure = cause as Error
      for (const group of [this.#writing, ...this.#closed, this.#forming]) {
        group?.outcome?.reject(new UnknownOutcome(this.#folder, cause))
      }
      this.onDurable()
    }
    return new StoreEnded(this.#folder, this.#failure)
  }
}
