/**
 * The jobs in memory in the order of their submission, to be listed page by page from any
 * place on.
 *
 * Jobs that leave stay in the list until it is tidied up, and are passed over.
 */
import type { Job } from '../kernel/index.ts'

/** Below this it is not worth tidying up. */
const FEW = 1_024
/** Looks at jobs between two turns of the event loop: a few milliseconds. */
const STEP = 20_000
/** Changing one takes as long as looking at so many. */
const CHANGE = 10

/** To be said of a job that leaves memory: nobody asks where its entries stand any more. */
export function gone(job: Job): void {
  job.lastPosition = 0
}

export function isGone(job: Job | undefined): boolean {
  return job !== undefined && job.lastPosition === 0
}

export class JobList {
  #jobs: Job[] = []
  #gone = 0

  /** Jobs come in the order of their first positions. */
  add(job: Job): void {
    this.#jobs.push(job)
  }

  left(): void {
    this.#gone += 1
  }

  /** Makes room where jobs have left, in steps, if it is worth it. */
  async tidy(breathe: () => Promise<void>): Promise<void> {
    if (this.#gone < FEW || this.#gone * 2 < this.#jobs.length) return
    const jobs: Job[] = []
    // What comes meanwhile comes to the end, and is seen in time.
    for (let i = 0; i < this.#jobs.length; i++) {
      const job = this.#jobs[i] as Job
      if (!isGone(job)) jobs.push(job)
      if (i % STEP === STEP - 1) await breathe()
    }
    this.#jobs = jobs
    this.#gone = 0
  }

  /** Jobs that were taken in without order are put in order. */
  sort(): void {
    this.#jobs.sort((a, b) => a.firstPosition - b.firstPosition)
  }

  /** Puts another object in the place of each job behind a position, in steps. */
  async renew(
    position: number,
    breathe: () => Promise<void>,
    change: (job: Job) => Job,
  ): Promise<void> {
    let looks = 0
    for (let i = this.#behind(position); i < this.#jobs.length; i++) {
      const job = this.#jobs[i] as Job
      const other = change(job)
      this.#jobs[i] = other
      looks += other === job ? 1 : CHANGE
      if (looks < STEP) continue
      looks = 0
      await breathe()
    }
  }

  #behind(position: number): number {
    let low = 0
    let high = this.#jobs.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.#jobs[middle] as Job).firstPosition <= position) low = middle + 1
      else high = middle
    }
    return low
  }

  /** The jobs behind a position, in order. */
  *after(position: number): IterableIterator<Job> {
    const jobs = this.#jobs
    for (let i = this.#behind(position); i < jobs.length; i++) {
      const job = jobs[i] as Job
      if (!isGone(job)) yield job
    }
  }
}
