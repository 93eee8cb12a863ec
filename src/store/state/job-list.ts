/**
 * The jobs in memory in the order of their submission, to be listed from any place on.
 *
 * They stand in small blocks. A job that leaves is gone from its block at once, and a block
 * that is empty from the list; so nothing is ever tidied up, and whoever goes through the list
 * may pause anywhere and go on behind the position that he has come to.
 */
import type { Job } from '../../kernel/index.ts'
import { countUpTo } from '../../log/index.ts'

const BLOCK = 256
/** Looks at jobs between two turns of the event loop: a few milliseconds. */
const STEP = 20_000
/** Changing one takes as long as looking at so many. */
const CHANGE = 10

interface Block {
  /** First position of the last job that came. */
  last: number
  readonly jobs: (Job | null)[]
  /** Jobs that did not leave. */
  left: number
}

export class JobList {
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

  /** Takes in jobs without order; before any others come. */
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

  /** Puts another object in the place of each job behind a position, in steps. */
  async renew(
    position: number,
    breathe: () => Promise<void>,
    change: (job: Job) => Job,
  ): Promise<void> {
    let looks = 0
    for (let at = position; ;) {
      const block = this.#blocks[this.#behind(at)]
      if (block === undefined) return
      for (let i = 0; i < block.jobs.length; i++) {
        const job = block.jobs[i] as Job | null
        if (job === null || job.firstPosition <= at) continue
        const other = change(job)
        block.jobs[i] = other
        looks += other === job ? 1 : CHANGE
      }
      at = block.last
      if (looks < STEP) continue
      looks = 0
      await breathe()
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

  /** The first block that has, or had, a job behind a position. */
  #behind(position: number): number {
    return countUpTo(position, this.#blocks.length, this.#lastOf)
  }

  /** Made once: jobs leave all the time. */
  readonly #lastOf = (n: number): number => (this.#blocks[n] as Block).last
}
