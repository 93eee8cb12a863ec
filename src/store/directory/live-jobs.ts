/**
 * The jobs of a directory that are not over: their order of submission, and their specs, which
 * leave memory once a checkpoint holds them.
 */
import type { Job, JobSpec, Payload, Replaced } from '../../kernel/index.ts'
import type { Disk, Manifest, Segment } from '../../log/index.ts'
import { countUpTo, eventLoopTurn, Interning, LiveFile } from '../../log/index.ts'
import { JobWithStoredSpec, withStoredInput } from '../state/job-with-stored-spec.ts'
import type { SpecSource } from '../state/job-with-stored-spec.ts'
import type { Ledger } from '../state/ledger.ts'
import { PackedJob } from '../state/packed-job.ts'
import { LargeSpecs } from './large-specs.ts'

const BLOCK = 256
/** Jobs that are passed between two turns of the event loop: a few milliseconds. */
const STEP = 20_000
/** Changing one takes as long as passing so many. */
const CHANGE = 10

interface Block {
  /** First position of the last job that came. */
  last: number
  readonly jobs: (Job | null)[]
  /** Jobs that did not leave. */
  left: number
}

/**
 * In the order of submission, to be listed from any position on.
 *
 * The jobs are in small blocks. A job that leaves is gone from its block at once, and an empty block
 * from the list; so nothing is ever tidied up, and a reader of the list may pause anywhere and go on
 * behind the position that it has come to.
 */
export class LiveJobList {
  #blocks: Block[] = []

  /** Jobs come in the order of their first positions. */
  add(job: Job): void {
    const { firstPosition } = job
    const block = this.#blocks.at(-1)
    if (block === undefined || block.jobs.length === BLOCK) {
      this.#blocks.push({ last: firstPosition, jobs: [job], left: 1 })
      return
    }
    block.jobs.push(job)
    block.last = firstPosition
    block.left += 1
  }

  /** Adds jobs that come in no order, BEFORE any others. */
  addAll(jobs: readonly Job[]): void {
    for (const job of jobs.toSorted((a, b) => a.firstPosition - b.firstPosition)) this.add(job)
  }

  remove(job: Job): void {
    const index = this.#behind(job.firstPosition - 1)
    const block = this.#blocks[index]
    const at = block?.jobs.indexOf(job) ?? -1
    if (block === undefined || at === -1) return
    block.jobs[at] = null
    block.left -= 1
    if (block.left === 0) this.#blocks.splice(index, 1)
  }

  /** Another object stands for the job from now on. */
  replace(job: Job, by: Job): void {
    const jobs = this.#blocks[this.#behind(job.firstPosition - 1)]?.jobs
    const at = jobs?.indexOf(job) ?? -1
    if (jobs !== undefined && at !== -1) jobs[at] = by
  }

  /** Replaces the object of each job behind a position, in steps. */
  async replaceJobs(
    position: number,
    change: (job: Job) => Job,
    pause = eventLoopTurn,
  ): Promise<void> {
    let passed = 0
    for (let at = position; ;) {
      const block = this.#blocks[this.#behind(at)]
      if (block === undefined) return
      for (let i = 0; i < block.jobs.length; i++) {
        const job = block.jobs[i] as Job | null
        if (job === null || job.firstPosition <= at) continue
        const other = change(job)
        block.jobs[i] = other
        passed += other === job ? 1 : CHANGE
      }
      at = block.last
      if (passed < STEP) continue
      passed = 0
      await pause()
    }
  }

  /** The jobs behind a position, in order. */
  *after(position: number): IterableIterator<Job> {
    for (let at = position; ;) {
      const block = this.#blocks[this.#behind(at)]
      if (block === undefined) return
      for (const job of block.jobs) {
        if (job !== null && job.firstPosition > at) yield job
      }
      at = block.last
    }
  }

  /** The jobs before a position, the newest first. */
  *before(position: number): IterableIterator<Job> {
    for (let at = position; ;) {
      // Blocks end where the next one begins: the one that a position is in may have some before it.
      let index = Math.min(this.#behind(at - 1), this.#blocks.length - 1)
      while (index >= 0 && !hasBefore(this.#blocks[index] as Block, at)) index -= 1
      const block = this.#blocks[index]
      if (block === undefined) return
      for (let i = block.jobs.length - 1; i >= 0; i--) {
        const job = block.jobs[i]
        if (job == null || job.firstPosition >= at) continue
        at = job.firstPosition
        yield job
      }
    }
  }

  /** The first block that has, or had, a job behind a position. */
  #behind(position: number): number {
    return countUpTo(position, this.#blocks.length, this.#lastOf)
  }

  /** Made once: jobs leave all the time. */
  readonly #lastOf = (n: number): number => (this.#blocks[n] as Block).last
}

function hasBefore({ jobs }: Block, position: number): boolean {
  return jobs.some((job) => job !== null && job.firstPosition < position)
}

/** The specs of the jobs that the newest checkpoint holds, and of those with large inputs behind it. */
export class LiveJobSpecs implements SpecSource {
  readonly #disk: Disk
  readonly #folder: string
  readonly #interning = new Interning()
  readonly #large: LargeSpecs
  #file: LiveFile | null = null
  /** Jobs that were replaced since the checkpoint, with where, and by what. */
  #replaced: { readonly job: string; readonly position: number; readonly by: Replaced }[] = []
  /** Everything that was submitted before it and is live is in the file. */
  #position = 0

  constructor(disk: Disk, folder: string, ledger: Ledger, list: LiveJobList) {
    this.#disk = disk
    this.#folder = folder
    this.#large = new LargeSpecs(disk, ledger, list, this)
  }

  /** AFTER a job was submitted. */
  noteSubmitted(job: Job): void {
    this.#large.note(job)
  }

  /** AFTER a job was replaced by the entry at this position. */
  noteReplaced(job: Job, position: number): void {
    if (job.replaced !== null) this.#replaced.push({ job: job.id, position, by: job.replaced })
  }

  /** Of a job that the file holds: what it was replaced with leaves memory. */
  unloadReplaced(job: Job): void {
    const { firstPosition, replaced } = job
    if (replaced === null) return
    job.replaced = withStoredInput(replaced, () => {
      return (this.#file as LiveFile).replacedInput(firstPosition) as Payload
    })
  }

  /** To be called when more of the log is durable. */
  async unloadLarge(durable: number, segments: readonly Segment[]): Promise<void> {
    await this.#large.unload(durable, segments)
  }

  /** From now on specs are read from this checkpoint. */
  async useCheckpoint(manifest: Manifest): Promise<void> {
    const file = await LiveFile.open(this.#disk, this.#folder, manifest.live, this.#interning)
    const old = this.#file
    this.#file = file
    this.#position = manifest.position
    await this.#large.dropBefore(manifest.position)
    await old?.close()
  }

  readSpec(firstPosition: number): JobSpec {
    const logged = firstPosition < this.#position ? null : this.#large.read(firstPosition)
    return logged ?? (this.#file as LiveFile).spec(firstPosition)
  }

  /** The specs of all jobs that the file holds leave memory, in small steps. */
  async unloadSpecs(ledger: Ledger, list: LiveJobList, since: number): Promise<void> {
    const file = this.#file as LiveFile
    await list.replaceJobs(since, (job) => {
      if (job.firstPosition >= this.#position || job instanceof JobWithStoredSpec) return job
      if (job instanceof PackedJob) return job
      if (!file.has(job.firstPosition)) return job
      const stored = new JobWithStoredSpec(job, this)
      ledger.replace(job, stored)
      // A job that a worker has will be asked for its spec again soon.
      if (!isLeased(ledger, job)) stored.loaded = null
      return stored
    })
    const before = this.#replaced.filter(({ position }) => position < this.#position)
    this.#replaced = this.#replaced.filter(({ position }) => position >= this.#position)
    for (const { job: id, by } of before) {
      const job = ledger.inMemory(id)
      // It may be over, replaced again, or another job of the id.
      if (job === undefined || job.replaced !== by || !file.has(job.firstPosition)) continue
      this.unloadReplaced(job)
    }
  }

  async close(): Promise<void> {
    await this.#large.close()
    await this.#file?.close()
  }
}

function isLeased(ledger: Ledger, job: Job): boolean {
  if (job.task !== null) return job.task.lease !== null
  return ledger.tallies(job).some(({ leased }) => leased > 0)
}
