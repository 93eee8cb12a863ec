/**
 * Specs with large inputs: they leave memory as soon as their job is durable, and are read from the log
 * until a checkpoint has them. So a process that submits faster than checkpoints are made does not keep
 * what it submitted in memory.
 *
 * A job is noted when it is submitted, and unloaded AFTER it is durable. One that a worker has by then
 * keeps its spec, which is asked for again soon.
 */
import type { Job, JobSpec } from '../../kernel/index.ts'
import type { Disk, DiskFile, Segment } from '../../log/index.ts'
import { Interning, readEntryNow } from '../../log/index.ts'
import type { SpecSource } from '../state/job-with-stored-spec.ts'
import { JobWithStoredSpec } from '../state/job-with-stored-spec.ts'
import type { Ledger } from '../state/ledger.ts'

/** A read of fewer bytes costs more than the memory that it spares. */
const LARGE_CHARS = 64 * 1_024

/** A list of jobs in which another object can stand for one. */
interface ReplaceableJobs {
  replace(job: Job, by: Job): void
}

interface ReadSegment {
  readonly segment: Segment
  readonly file: DiskFile
}

export class LargeSpecs {
  readonly #disk: Disk
  readonly #ledger: Ledger
  readonly #live: ReplaceableJobs
  readonly #source: SpecSource
  readonly #interning = new Interning()
  /** Jobs that may not be durable yet, in the order of the log. */
  #noted: Job[] = []
  /** Segments that hold specs which no checkpoint has, in the order of the log. */
  #open: ReadSegment[] = []
  #isUnloading = false
  #isClosed = false

  /** `source`: where jobs read their specs from, here or in a checkpoint. */
  constructor(disk: Disk, ledger: Ledger, live: ReplaceableJobs, source: SpecSource) {
    this.#disk = disk
    this.#ledger = ledger
    this.#live = live
    this.#source = source
  }

  /** AFTER the job was submitted. A pipeline asks for its spec too often to be without it. */
  note(job: Job): void {
    if (job.task !== null && job.spec.input.length >= LARGE_CHARS) this.#noted.push(job)
  }

  /** To be called when more of the log is durable. `segments`: those of the log now. */
  async unload(durable: number, segments: readonly Segment[]): Promise<void> {
    if (this.#isUnloading || (this.#noted[0]?.firstPosition ?? Infinity) >= durable) return
    this.#isUnloading = true
    try {
      await this.#unload(durable, segments)
    } catch {
      // A segment that cannot be opened: its specs stay in memory.
    } finally {
      this.#isUnloading = false
    }
  }

  async #unload(durable: number, segments: readonly Segment[]): Promise<void> {
    const jobs = this.#noted.filter(({ firstPosition }) => firstPosition < durable)
    this.#noted = this.#noted.slice(jobs.length)
    for (const job of jobs) {
      const segment = segments.findLast(({ head }) => head.base <= job.firstPosition)
      if (segment === undefined) continue
      if (this.#open.at(-1)?.segment !== segment) {
        const file = await this.#disk.open(segment.path, 'read')
        if (this.#isClosed) return file.close()
        this.#open.push({ segment, file })
      }
      this.#unloadJob(job)
    }
  }

  #unloadJob(job: Job): void {
    // It is over, or a checkpoint has it, or a worker.
    if (this.#ledger.inMemory(job.id) !== job || job.task?.lease !== null) return
    const stored = new JobWithStoredSpec(job, this.#source)
    this.#ledger.replace(job, stored)
    this.#live.replace(job, stored)
    stored.loaded = null
  }

  /** What was submitted at a position, at once; null: it is in no segment that is read here. */
  read(firstPosition: number): JobSpec | null {
    const found = this.#open.findLast(({ segment }) => segment.head.base <= firstPosition)
    if (found === undefined) return null
    const { entry } = readEntryNow(found.segment, found.file, firstPosition, this.#interning)
    return entry.type === 'JobSubmitted' ? entry.spec : null
  }

  /** Everything before the position is in a checkpoint now. */
  async dropBefore(position: number): Promise<void> {
    const kept = this.#open.findLastIndex(({ segment }) => segment.head.base <= position)
    const dropped = this.#open.splice(0, Math.max(0, kept))
    for (const { file } of dropped) await file.close()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#noted = []
    for (const { file } of this.#open.splice(0)) await file.close().catch(() => undefined)
  }
}
