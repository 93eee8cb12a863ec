/**
 * A job in the hands of a client: where it stands, what came of it, and how to stop it.
 */
import type { AnyJob, Duration } from '../../definition/index.ts'
import {
  fromJson,
  isPipeline,
  JobDeadlinePassed,
  JobFailed,
  JobWasCancelled,
  JobWasErased,
  KnownOptions,
  outputFrom,
  pipelineResult,
  toMs,
} from '../../definition/index.ts'
import type { JobState } from '../../kernel/index.ts'
import { isFinal } from '../../kernel/index.ts'
import type { Timer, Timing } from '../../store/clock.ts'
import type { Outcome, PositionedEntry, Store } from '../../store/index.ts'
import type { Actor } from '../actor.ts'
import { JobQuarantined, ResultTimeout, UnknownJob } from '../errors.ts'
import { failureReason } from '../failure-reason.ts'
import { lossIn } from '../lost-lease.ts'
import type { JobInfo } from './job-info.ts'
import type { JobStreamParts, StreamItem, StreamOptions } from './job-stream.ts'
import { jobStream } from './job-stream.ts'
import type { Results } from './results.ts'

export interface HandleParts {
  readonly store: Store
  readonly timing: Timing
  readonly results: Results
  readonly get: (id: string) => Promise<JobInfo | null>
  /** What its handler, in any process, said last as its progress; null: nothing that is known. */
  readonly progressOf: (id: string) => Promise<string | null>
  /** Called at each progress that a handler of this process reports. Gives its end. */
  readonly onProgress: (id: string, listener: () => void) => () => void
  readonly cancel: (id: string, actor: Actor) => Promise<void>
  readonly onAppended: JobStreamParts['onAppended']
}

/** Entries of one page of a history. */
const PAGE = 1_000
/** Between two reads of a progress that another process may have said. */
const PROGRESS_MS = 500

const ignore = (): void => undefined

const STREAM_OPTIONS = new KnownOptions<StreamOptions>({
  from: true,
  stage: true,
  segment: true,
  signal: true,
})
const EVENT_OPTIONS = new KnownOptions<{ readonly signal?: AbortSignal }>({ signal: true })

/** What is waited for ends by the signal: an iterator that is asked to return while it waits would wait on. */
export async function* untilAborted<T>(
  source: AsyncIterable<T>,
  signal: AbortSignal | undefined,
): AsyncGenerator<T, void> {
  const iterator = source[Symbol.asyncIterator]()
  const stop = (): void => void iterator.return?.()
  signal?.addEventListener('abort', stop)
  try {
    for (;;) {
      if (signal?.aborted === true) return
      const { done, value } = await iterator.next()
      if (done === true) return
      yield value
    }
  } finally {
    signal?.removeEventListener('abort', stop)
    await iterator.return?.()
  }
}

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
   * What the job results in. Rejects with `JobFailed`, `JobWasCancelled`, `JobDeadlinePassed` or
   * `JobQuarantined` if it does not, with `JobWasErased` if that is gone, and with `ResultTimeout` after
   * `timeout`, which stops only the waiting.
   */
  async result(options: { readonly timeout?: Duration } = {}): Promise<Result> {
    const { results, timing } = this.#parts
    const { timeout } = options
    const ms = timeout === undefined ? null : toMs(timeout, 'The timeout of result()')
    const waiter = results.waitFor(this.id)
    if (ms === null) return this.#result(await waiter.outcome)
    let timer: Timer | null = null
    const waited = new Promise<never>((_, reject) => {
      timer = timing.after(ms, () => reject(new ResultTimeout(this.id, ms)), true)
    })
    try {
      return await this.#result(await Promise.race([waiter.outcome, waited]))
    } finally {
      ;(timer as Timer | null)?.cancel()
      results.stopWaiting(this.id, waiter)
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

  /** Everything that happened to the job, and then what happens, until it is over, or until the signal is aborted. */
  async *events(options: { readonly signal?: AbortSignal } = {}): AsyncIterable<PositionedEntry> {
    EVENT_OPTIONS.assert(options, 'events()')
    const { signal } = options
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
    for await (const positioned of untilAborted(store.watch(last), signal)) {
      const { entry } = positioned
      if (!('job' in entry) || entry.job !== this.id) continue
      yield positioned
      if (await this.#isOver(positioned.position)) return
    }
  }

  /**
   * What its handler says as its progress, in whatever process it runs, until the job is over or waits for
   * a person. Values that follow each other quickly are left out but for the last; from another process
   * they come a second late, and what was said in the last second before the end may be missing.
   */
  async *progress(): AsyncIterable<unknown> {
    const { results, timing, progressOf, onProgress } = this.#parts
    const waiter = results.waitFor(this.id)
    let wake = ignore
    const stopListening = onProgress(this.id, () => wake())
    let isOver = false
    const over = waiter.outcome.finally(() => {
      isOver = true
    })
    // Whatever it says is heard below, once what was said before was given.
    over.catch(() => undefined)
    let last: string | null = null
    try {
      for (;;) {
        // BEFORE the read: what is said meanwhile is read at the next turn.
        let timer: Timer | null = null
        const next = new Promise<void>((resolve) => {
          wake = resolve
          timer = timing.after(PROGRESS_MS, resolve, true)
        })
        const wasOver = isOver
        const said = await progressOf(this.id)
        if (said !== null && said !== last) yield fromJson(said)
        last = said
        if (!wasOver) await Promise.race([over, next])
        ;(timer as Timer | null)?.cancel()
        if (wasOver && (await over) === null) throw new UnknownJob(this.id)
        if (wasOver) return
      }
    } finally {
      stopListening()
      results.stopWaiting(this.id, waiter)
    }
  }

  /**
   * What its handler emits under this name, from an offset on, until the job is over or waits for a person.
   * It lasts: after the end it can be read again, as long as the history is kept.
   */
  stream(name: string, options: StreamOptions = {}): AsyncIterable<StreamItem> {
    STREAM_OPTIONS.assert(options, `stream '${name}'`, `stream('${name}', { from: 0 })`)
    return jobStream(this.#parts, this.id, name, options)
  }

  /** Stops it wherever it is. A handler that runs is told by its `signal`. */
  cancel(actor: Actor = {}): Promise<void> {
    return this.#parts.cancel(this.id, actor)
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

/** What the job resulted in, which may be a promise; or it throws what says why it did not. */
function resultOf(
  store: Store,
  id: string,
  outcome: Outcome | null,
  definition: AnyJob | null,
): unknown {
  if (outcome === null) throw new UnknownJob(id)
  const { state, type, cancelled, erased } = outcome
  if (erased !== null) throw new JobWasErased(id, type, state, erased)
  if (state === 'QUARANTINED' || (state === 'FAILED' && cancelled === null)) {
    return noResult(store, id, outcome)
  }
  if (cancelled?.deadline === true) throw new JobDeadlinePassed(id, type, outcome)
  if (cancelled !== null) throw new JobWasCancelled(id, type, cancelled.by, cancelled.reason)
  if (outcome.last !== null) {
    return pipelineResult(id, outcome.last, definition, async (stage, after, limit) => {
      const page = await store.query({ kind: 'outputs', job: id, stage, after, limit })
      // Forgotten meanwhile: that is not the same as having put out nothing.
      if (page === null) throw new UnknownJob(id)
      return page
    })
  }
  const schema = definition === null || isPipeline(definition) ? undefined : definition.output
  return outputFrom(schema, outcome.output ?? 'null', `The output of job ${id} ('${type}')`)
}

async function noResult(store: Store, id: string, outcome: Outcome): Promise<never> {
  if (outcome.state === 'FAILED') {
    throw new JobFailed(id, outcome.type, outcome, await failureReason(store, id, outcome))
  }
  // A store that fails now has nothing to do with how the job ended.
  const loss = await lossIn(store, id, outcome).catch(() => null)
  throw new JobQuarantined(id, outcome.type, outcome, loss)
}
