/**
 * What was submitted, of pipelines that this process had to do with lately: it never changes, so
 * whoever has it need not be sent it again.
 *
 * Kept in two halves. When the newer one is full, the older one goes, and it takes its place: no
 * single job has to be looked for to make room.
 */
import type { JobSubmitted } from '../../../kernel/index.ts'

/** Of one half: characters of all inputs together, and jobs. */
const MOST_CHARS = 8_000_000
const MOST_JOBS = 10_000

interface KeptSubmission {
  readonly position: number
  readonly entry: JobSubmitted
}

export class SubmissionCache {
  #newer = new Map<string, KeptSubmission>()
  #older = new Map<string, KeptSubmission>()
  #chars = 0

  /** It was kept under this id; it may be of an earlier life of the id. */
  has(job: string): boolean {
    return this.#newer.has(job) || this.#older.has(job)
  }

  find(job: string, position: number): JobSubmitted | null {
    const kept = this.#newer.get(job) ?? this.#older.get(job)
    return kept?.position === position ? kept.entry : null
  }

  /** The id is used again: what was kept under it is of no use any more. */
  drop(job: string): void {
    this.#newer.delete(job)
    this.#older.delete(job)
  }

  keep(entry: JobSubmitted, position: number): void {
    this.#newer.set(entry.job, { position, entry })
    this.#chars += entry.spec.input.length
    if (this.#chars <= MOST_CHARS && this.#newer.size <= MOST_JOBS) return
    this.#older = this.#newer
    this.#newer = new Map()
    this.#chars = 0
  }
}
