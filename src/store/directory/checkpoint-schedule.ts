/**
 * When a checkpoint is made, and what may go once it is there.
 *
 * Idle, or a checkpoint is being made. It is due after so many bytes of log, or half as many as the
 * live jobs take up, if that is more: so all checkpoints together cost a fixed part of what is
 * written, and a log that is opened is never long. One that fails is reported, and tried again
 * after as many bytes: the log has everything.
 */
import { PawlError } from '../../kernel/index.ts'
import type {
  CheckpointMade,
  Disk,
  LogReader,
  LogWriter,
  Manifest,
  Segment,
} from '../../log/index.ts'
import { archiveSegment, checkpointRunner, removeOtherCheckpoints, UNIT } from '../../log/index.ts'
import { CompactionIncomplete } from '../errors.ts'
import type { StoreNotice } from '../notice.ts'
import { newCopierName } from '../random.ts'
import type { DirectoryState } from './directory-state.ts'

export interface CheckpointRules {
  /** Bytes of log between two checkpoints, at least. */
  readonly checkpointBytes: number
  /** How long entries stay readable once two checkpoints hold what they led to. */
  readonly historyMs: number
  /** A folder to which old segments are moved instead of being removed. */
  readonly archive: string | null
}

export interface CheckpointParts {
  readonly disk: Disk
  readonly folder: string
  readonly writer: LogWriter
  readonly reader: LogReader
  readonly state: DirectoryState
  readonly rules: CheckpointRules
  readonly onNotice: (notice: StoreNotice) => void
  /** Newest first; at most the newest two are kept. */
  readonly manifests: readonly Manifest[]
}

/** New work waits when the log is so many times further than a checkpoint's worth. */
const MOST_BEHIND = 4
/** What a bucket takes up in the log, at most: a name and a number. */
const MARKER_BYTES = 2_048

export class CheckpointSchedule {
  readonly #parts: CheckpointParts
  readonly #copier = newCopierName()
  #manifests: Manifest[]
  /** Where the last one was made, or tried. */
  #last: number
  #making: Promise<void> | null = null
  readonly #runner: ReturnType<typeof checkpointRunner>
  #isClosed = false
  #pins = 0
  #isCompacting = false

  constructor(parts: CheckpointParts) {
    this.#parts = parts
    this.#runner = checkpointRunner(parts.disk)
    this.#manifests = parts.manifests.slice(0, 2)
    this.#last = this.#manifests[0]?.position ?? 0
  }

  /** Newest first. */
  get manifests(): readonly Manifest[] {
    return this.#manifests
  }

  /** To be called when more of the log is durable: makes a checkpoint if it is time. */
  consider(): void {
    if (this.#bytesSince() < this.#due()) return
    // Its failure was reported, and the log has everything.
    this.make().catch(() => undefined)
  }

  /**
   * Jobs that are over stay in memory until a checkpoint has them, so that new work waits while
   * one is being made and far behind; null: it need not.
   */
  waitForRoom(): Promise<void> | null {
    if (this.#making === null || this.#bytesSince() < MOST_BEHIND * this.#due()) return null
    return this.#making.catch(() => undefined)
  }

  /** Makes one now, or waits for the one that is being made. */
  make(): Promise<void> {
    if (this.#isClosed) return Promise.resolve()
    this.#making ??= this.#make().finally(() => {
      this.#making = null
    })
    return this.#making
  }

  /**
   * Leaves no file in the folder that holds what was erased, or forgotten, before: neither a segment, whose
   * entries nobody can read any more from then on, nor a record in a checkpoint that counts no more.
   */
  async compact(): Promise<void> {
    const { folder, writer } = this.#parts
    const from = writer.appendedPosition
    await writer.beginSegment()
    this.#isCompacting = true
    try {
      // The first may hold, unused, the record of a job that ended and was erased since the one before. The
      // two that follow are the ones that are kept.
      for (let made = 0; made < 3 && !this.#isClosed;) {
        await this.make()
        if ((this.#manifests[0]?.position ?? 0) >= from) made += 1
      }
      if (this.#pins === 0) await this.#tidy()
    } catch (error) {
      if (error instanceof PawlError) throw error
      throw new CompactionIncomplete(folder, `${(error as Error).message}.`, error)
    } finally {
      this.#isCompacting = false
    }
    if ((writer.segments[0]?.head.base ?? 0) < from) {
      throw new CompactionIncomplete(folder, 'a backup reads its files, or it was closed.')
    }
  }

  /** While this runs, no file goes away. */
  async pinned<T>(task: () => Promise<T>): Promise<T> {
    const unpin = this.pin()
    try {
      return await task()
    } finally {
      unpin()
    }
  }

  /** Until what it gives is called, once, no file goes away. */
  pin(): () => void {
    this.#pins += 1
    return () => {
      this.#pins -= 1
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#runner.stop()
    await this.#making?.catch(() => undefined)
  }

  #bytesSince(): number {
    return (this.#parts.writer.durablePosition - this.#last) * UNIT
  }

  #due(): number {
    const liveBytes = this.#manifests[0]?.live.end ?? 0
    return Math.max(this.#parts.rules.checkpointBytes, liveBytes / 2)
  }

  async #make(): Promise<void> {
    const { onNotice, state } = this.#parts
    const { ledger, live, specs, finished } = state
    try {
      const { manifest, rebuilt } = await this.#fold()
      if (this.#isClosed) return
      for (const file of rebuilt) finished.onRebuilt(file)
      await finished.useCheckpoint(manifest)
      await specs.useCheckpoint(manifest)
      await specs.unloadSpecs(ledger, live, this.#manifests[0]?.position ?? 0)
      this.#manifests = [manifest, ...this.#manifests.slice(0, 1)]
      onNotice({ kind: 'checkpoint-made', position: manifest.position })
      if (this.#pins === 0) await this.#tidyUp()
    } catch (error) {
      // Stopping the thread is how a store is closed in the middle of one.
      if (this.#isClosed) return
      onNotice({ kind: 'checkpoint-failed', error: error as Error })
      throw error
    }
  }

  async #tidyUp(): Promise<void> {
    try {
      await this.#tidy()
    } catch (error) {
      this.#parts.onNotice({ kind: 'tidying-failed', error: error as Error })
    }
  }

  async #fold(): Promise<CheckpointMade> {
    const { folder, writer, state } = this.#parts
    const { ledger, finished } = state
    // Also one that cannot begin is tried again only after as many bytes.
    this.#last = writer.durablePosition
    const count = ledger.ready.buckets(ledger.now)
    const bytes = MARKER_BYTES * (1 + count.queues.length + count.limits.length)
    for (let wait = writer.ensureRoom(bytes, false); wait !== null;) {
      await wait
      wait = writer.ensureRoom(bytes, false)
    }
    // Counted again: commands went on while there was no room.
    const { queues, limits } = ledger.ready.buckets(ledger.now)
    const position = writer.appendMarker({ now: ledger.now, queues, limits })
    finished.checkpointBegun(position)
    // Behind the marker, or it alone would be reason enough for the next one.
    this.#last = writer.appendedPosition
    await writer.durable()
    const previous = this.#manifests[0] ?? null
    const segments = [...writer.segments]
    const task = { folder, segments, previous, position, compacts: this.#isCompacting }
    return this.#runner.run(task)
  }

  /** Removes what is no longer needed: older checkpoints, and the log before two of them. */
  async #tidy(): Promise<void> {
    const { disk, folder, writer, reader, rules, state } = this.#parts
    await removeOtherCheckpoints(disk, folder, this.#manifests)
    for (;;) {
      const [oldest, next] = writer.segments
      if (oldest === undefined || next === undefined || !this.#mayGo(next)) return
      if (rules.archive !== null) {
        const keptIn = await archiveSegment(disk, oldest, rules.archive, this.#copier)
        if (keptIn !== null) this.#parts.onNotice({ kind: 'archive-damaged', keptIn })
      }
      // AFTER the archive, which takes a while: a backup may have begun.
      if (this.#pins > 0) return
      // BEFORE the file goes, so that no read begins. A read that has begun can finish.
      writer.dropSegment()
      await reader.drop(oldest)
      await disk.remove(oldest.path)
      // BEFORE the next one goes: a power loss must not bring back one behind a hole.
      await disk.syncFolder(folder)
      state.erased.dropBefore(next.head.base)
    }
  }

  /** Whether everything before this segment is behind two checkpoints, and old enough. */
  #mayGo(next: Segment): boolean {
    const { state, rules } = this.#parts
    const behind = this.#manifests[1]
    if (behind === undefined || next.head.base > behind.position) return false
    return this.#isCompacting || next.head.begunAt < state.ledger.now - rules.historyMs
  }
}
