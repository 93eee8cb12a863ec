/**
 * A job in the hands of a client: where it stands, what came of it, and how to stop it.
 */
import type { AnyJob, Duration } from '../../definition/index.ts'
import { toMs } from '../../definition/index.ts'
import type { JobState } from '../../kernel/index.ts'
import { isFinal } from '../../kernel/index.ts'
import type { Outcome, Positioned, Store } from '../../store/index.ts'
import type { Timer, Timing } from '../../worker/index.ts'
import { ResultTimeout, UnknownJob } from '../errors.ts'
import type { JobInfo } from './job-info.ts'
import type { Actor } from './actor.ts'
import type { Results } from './results.ts'
import { resultOf } from './results.ts'

export interface HandleParts {
  readonly store: Store
  readonly timing: Timing
  readonly results: Results
  readonly get: (id: string) => Promise<JobInfo | null>
  readonly cancel: (id: string, on: Actor) => Promise<void>
}

/** Entries of one page of a history. */
const PAGE = 1_000

export class Handle<Result = unknown> {
  readonly id: string
  readonly #parts: HandleParts
  readonly #definition: AnyJob | null

  constructor(parts: HandleParts, id: string, definition: AnyJob | null) {
    this.id = id
    this.#parts = parts
    this.#definition = definition
  }

  /**
   * What the job results in. Rejects with `JobFailed`, `JobCancelled` or `JobQuarantined` if
   * it does not, and with `ResultTimeout` after `timeout`, which stops only the waiting.
   */
  async result(options: { readonly timeout?: Duration } = {}): Promise<Result> {
    const { results, timing } = this.#parts
    const { timeout } = options
    const ms = timeout === undefined ? null : toMs(timeout, 'The timeout of result()')
    const waiter = results.ended(this.id)
    if (ms === null) return this.#result(await waiter.outcome)
    let timer: Timer | null = null
    const waited = new Promise<never>((_, reject) => {
      timer = timing.after(ms, () => reject(new ResultTimeout(this.id, ms)), true)
    })
    try {
      return await this.#result(await Promise.race([waiter.outcome, waited]))
    } finally {
      ;(timer as Timer | null)?.cancel()
      results.stop(this.id, waiter)
    }
  }

  async state(): Promise<JobState> {
    const outcome = await this.#parts.store.query({ kind: 'outcome', job: this.id })
    if (outcome === null) throw new UnknownJob(this.id)
    return outcome.state
  }

  async info(): Promise<JobInfo> {
    const info = await this.#parts.get(this.id)
    if (info === null) throw new UnknownJob(this.id)
    return info
  }

  /** Everything that happened to the job, and then what happens, until it is over. */
  async *events(): AsyncIterable<Positioned> {
    const { store } = this.#parts
    let last = 0
    for (;;) {
      const page = await store.query({ kind: 'history', job: this.id, after: last, limit: PAGE })
      yield* page
      last = page.at(-1)?.position ?? last
      if (page.length < PAGE) break
    }
    if (last > 0) {
      if (await this.#isOver(last)) return
    } else if (isFinal(await this.state())) {
      // All of it is older than the history that is kept, unless it ended in this very moment.
      yield* await store.query({ kind: 'history', job: this.id, after: 0, limit: PAGE })
      return
    }
    for await (const positioned of store.watch(last)) {
      const { entry } = positioned
      if (!('job' in entry) || entry.job !== this.id) continue
      yield positioned
      if (await this.#isOver(positioned.position)) return
    }
  }

  /** Stops it wherever it is. A handler that runs is told by its `signal`. */
  cancel(on: Actor = {}): Promise<void> {
    return this.#parts.cancel(this.id, on)
  }

  #result(outcome: Outcome | null): Result | Promise<Result> {
    return resultOf(this.#parts.store, this.id, outcome, this.#definition) as Result
  }

  /** Whether this was the last that happens to it. */
  async #isOver(position: number): Promise<boolean> {
    const outcome = await this.#parts.store.query({ kind: 'outcome', job: this.id })
    return outcome === null || (isFinal(outcome.state) && position >= outcome.lastPosition)
  }
}
