/**
 * Which job in memory holds which key.
 *
 * A job is never asked for its key again: asking might mean reading it from a disk.
 */
import type { Job } from '../../kernel/index.ts'

export class KeyHolders {
  readonly #byKey = new Map<string, Job>()
  readonly #keys = new Map<Job, string>()

  of(type: string, key: string): Job | undefined {
    return this.#byKey.get(keyText(type, key))
  }

  /** A job was submitted with a key: it has it now, whoever had it before. */
  take(job: Job): void {
    const { type, key } = job.spec
    if (key !== null) this.#hold(job, keyText(type, key))
  }

  /** A job came from elsewhere: it has its key only if nobody else has it now. */
  comeBack(job: Job): void {
    const { type, key } = job.spec
    if (key !== null && !this.#byKey.has(keyText(type, key))) this.take(job)
  }

  /** Another object takes the place of a job. */
  replace(job: Job, by: Job): void {
    const text = this.#keys.get(job)
    if (text === undefined) return
    this.#keys.delete(job)
    this.#hold(by, text)
  }

  drop(job: Job): void {
    const text = this.#keys.get(job)
    if (text === undefined) return
    this.#keys.delete(job)
    this.#byKey.delete(text)
  }

  #hold(job: Job, text: string): void {
    const before = this.#byKey.get(text)
    if (before !== undefined) this.#keys.delete(before)
    this.#byKey.set(text, job)
    this.#keys.set(job, text)
  }
}

/** A key belongs to a type; both may hold any character. */
function keyText(type: string, key: string): string {
  return `${type.length}:${type}${key}`
}
