/**
 * Gives jobs away before they are forgotten, to whoever wants to keep them elsewhere.
 *
 * It runs beside the caretaker's other work, because keeping may take long: one portion at a
 * time. Jobs are forgotten AFTER they were taken; if that fails they stay, and come again.
 */
import type { Command } from '../kernel/index.ts'
import type { Timing } from '../worker/index.ts'
import type { JobInfo } from './job-info.ts'

export interface HandingOverParts {
  readonly timing: Timing
  readonly get: (id: string) => Promise<JobInfo | null>
  readonly send: (commands: readonly Command[]) => Promise<unknown>
  readonly onForget: (jobs: readonly JobInfo[]) => Promise<void> | void
  readonly onError: (error: Error) => void
}

type ForgetJob = Extract<Command, { type: 'ForgetJob' }>

/** Jobs that are given away together. */
const PORTION = 100
const AFTER_FAILURE_MS = 1_000

export class HandingOver {
  readonly #parts: HandingOverParts
  #running: Promise<void> | null = null
  #notBefore = 0

  constructor(parts: HandingOverParts) {
    this.#parts = parts
  }

  /** What is to be forgotten; nothing happens while the portion before is under way. */
  offer(commands: readonly ForgetJob[]): void {
    if (commands.length === 0 || this.#running !== null) return
    if (this.#parts.timing.now() < this.#notBefore) return
    this.#running = this.#forget(commands.slice(0, PORTION)).finally(() => {
      this.#running = null
    })
  }

  /** What is under way comes to its end. */
  async close(): Promise<void> {
    await this.#running
  }

  async #forget(commands: readonly ForgetJob[]): Promise<void> {
    const { get, send, onForget, onError, timing } = this.#parts
    try {
      const found = await Promise.all(commands.map(({ job }) => get(job)))
      const jobs = found.filter((job) => job !== null)
      if (jobs.length > 0) await onForget(jobs)
      await send(commands)
    } catch (error) {
      this.#notBefore = timing.now() + AFTER_FAILURE_MS
      onError(error as Error)
    }
  }
}
