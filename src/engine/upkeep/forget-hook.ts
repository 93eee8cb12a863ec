/**
 * Hands jobs to the user's `onForget` before they are forgotten.
 *
 * It runs beside the upkeep loop, because the user's function may take long: one batch at a time.
 * Jobs are forgotten AFTER it returned; if it fails they stay, and are handed over again.
 */
import type { Command } from '../../kernel/index.ts'
import type { Timer, Timing } from '../../store/clock.ts'
import type { JobInfo } from '../client/job-info.ts'

interface ForgetHookParts {
  readonly timing: Timing
  readonly get: (id: string) => Promise<JobInfo | null>
  readonly send: (commands: readonly Command[]) => Promise<unknown>
  readonly onForget: (jobs: readonly JobInfo[]) => Promise<void> | void
  readonly onError: (error: Error) => void
  /** Called after each batch: there may be more. */
  readonly again: () => void
}

type ForgetCommand = Extract<Command, { type: 'ForgetJob' }>

/** Jobs that are handed over together. */
const BATCH = 100
const AFTER_FAILURE_MS = 1_000
/** Closing waits this long for the batch that is under way: what is not forgotten stays. */
const CLOSE_WITHIN_MS = 5_000

export class ForgetHook {
  readonly #parts: ForgetHookParts
  #running: Promise<void> | null = null
  #notBefore = 0

  constructor(parts: ForgetHookParts) {
    this.#parts = parts
  }

  /** What is due to be forgotten; ignored while the batch before is under way. */
  offer(commands: readonly ForgetCommand[]): void {
    if (commands.length === 0 || this.#running !== null) return
    if (this.#parts.timing.now() < this.#notBefore) return
    this.#running = this.#forget(commands.slice(0, BATCH)).finally(() => {
      this.#running = null
      this.#parts.again()
    })
  }

  async close(): Promise<void> {
    if (this.#running === null) return
    const running = this.#running
    let timer: Timer | null = null
    const enough = new Promise<void>((resolve) => {
      timer = this.#parts.timing.after(CLOSE_WITHIN_MS, resolve, true)
    })
    await Promise.race([running, enough])
    ;(timer as Timer | null)?.cancel()
  }

  async #forget(commands: readonly ForgetCommand[]): Promise<void> {
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
