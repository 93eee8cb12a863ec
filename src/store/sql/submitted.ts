/**
 * What was submitted, of jobs that this process had to do with lately: it never changes, so whoever
 * has it need not be sent it again. Kept up to a size; then the oldest go.
 */
import type { JobSubmitted } from '../../kernel/index.ts'

/** Characters of all inputs together, and jobs. */
const MOST_CHARS = 16_000_000
const MOST_JOBS = 20_000

interface Kept {
  readonly position: number
  readonly entry: JobSubmitted
}

export class Submitted {
  readonly #kept = new Map<string, Kept>()
  #chars = 0

  /** It was kept under this id; it may be of an earlier life of the id. */
  has(job: string): boolean {
    return this.#kept.has(job)
  }

  find(job: string, position: number): JobSubmitted | null {
    const kept = this.#kept.get(job)
    return kept?.position === position ? kept.entry : null
  }

  keep(entry: JobSubmitted, position: number): void {
    this.#drop(entry.job)
    this.#kept.set(entry.job, { position, entry })
    this.#chars += entry.spec.input.length
    for (const job of this.#kept.keys()) {
      if (this.#chars <= MOST_CHARS && this.#kept.size <= MOST_JOBS) return
      this.#drop(job)
    }
  }

  #drop(job: string): void {
    const kept = this.#kept.get(job)
    if (kept === undefined) return
    this.#chars -= kept.entry.spec.input.length
    this.#kept.delete(job)
  }
}
