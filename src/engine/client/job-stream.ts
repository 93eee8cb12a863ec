/**
 * A stream of a job in the hands of a reader: what is there, and then what comes, until the job is over.
 */
import type { ExactTexts } from '../../definition/index.ts'
import { exactPart, fromJson, InvalidDefinition } from '../../definition/index.ts'
import { stageIndex } from '../../kernel/index.ts'
import type { Timer, Timing } from '../../store/clock.ts'
import type { Store } from '../../store/index.ts'
import { UnknownJob } from '../errors.ts'
import type { Results } from './results.ts'

export interface StreamOptions {
  /** The first offset that is read. Default 0. */
  readonly from?: number
  /** Of a pipeline: whose stream it is. */
  readonly stage?: string
  readonly segment?: number
  /** Aborted: there is nothing more to read. */
  readonly signal?: AbortSignal
}

export interface StreamItem {
  /** From 0, without gaps as long as the history is kept. Reading again from the next one misses nothing. */
  readonly offset: number
  readonly value: unknown
  /** Left out, unless JavaScript changed a number in the value: its JSON, as it is recorded. */
  readonly exact?: ExactTexts<'value'>
  /** The attempt that emitted it. */
  readonly attempt: number
  /** It is the first that this reader gets of its attempt: what an earlier one emitted may come again. */
  readonly isFirstOfAttempt: boolean
  readonly at: Date
}

export interface JobStreamParts {
  readonly store: Store
  readonly timing: Timing
  readonly results: Results
  /** Called when a worker of this process appended to a stream of the job. Gives its end. */
  readonly onAppended: (id: string, listener: () => void) => () => void
}

const ignore = (): void => undefined

/** Values that are read at once. */
const PAGE = 500
/** Between two reads of what another process may have appended. */
const PAUSE_MS = 250

export async function* jobStream(
  parts: JobStreamParts,
  job: string,
  name: string,
  options: StreamOptions,
): AsyncGenerator<StreamItem, void, void> {
  const { store, timing, results, onAppended } = parts
  const { from = 0, signal } = options
  if (!Number.isSafeInteger(from) || from < 0) {
    throw new InvalidDefinition(`\`from\` of stream '${name}' is a whole number from 0.`)
  }
  const address = await streamAddress(store, job, options)
  const waiter = results.waitFor(job)
  let wake = ignore
  const stopListening = onAppended(job, () => wake())
  let isOver = false
  const over = waiter.outcome.finally(() => {
    isOver = true
  })
  over.catch(() => undefined)
  const stop = (): void => wake()
  signal?.addEventListener('abort', stop)
  let [next, attempt] = [from, -1]
  try {
    for (;;) {
      // BEFORE the read: what is appended meanwhile is read at the next turn.
      const wasOver = isOver
      const appended = new Promise<void>((resolve) => {
        wake = resolve
      })
      if (signal?.aborted === true) return
      const query = { kind: 'stream', ...address, name, from: next, limit: PAGE } as const
      const page = await store.query(query)
      for (const { offset, attempt: by, at, values } of page?.pieces ?? []) {
        for (const [i, value] of values.entries()) {
          const isFirstOfAttempt = by !== attempt
          attempt = by
          yield {
            offset: offset + i,
            value: fromJson(value),
            ...exactPart({ value }),
            attempt: by,
            isFirstOfAttempt,
            at: new Date(at),
          }
        }
      }
      next = Math.max(next, page?.next ?? 0)
      if (page !== null && next < page.length) continue
      if (wasOver) return
      let timer: Timer | null = null
      const paused = new Promise<void>((resolve) => {
        timer = timing.after(PAUSE_MS, resolve, true)
      })
      await Promise.race([over, appended, paused])
      ;(timer as Timer | null)?.cancel()
    }
  } finally {
    signal?.removeEventListener('abort', stop)
    stopListening()
    results.stopWaiting(job, waiter)
  }
}

/** Of which task; throws if there is none, or it is not said. */
export async function streamAddress(
  store: Store,
  job: string,
  { stage, segment = 0 }: Pick<StreamOptions, 'stage' | 'segment'>,
): Promise<{ readonly job: string; readonly stage: number; readonly segment: number }> {
  const view = await store.query({ kind: 'overview', job })
  if (view === null) throw new UnknownJob(job)
  if (view.job.spec.stages === null) return { job, stage: 0, segment: 0 }
  const at = stage === undefined ? -1 : stageIndex(view.job, stage)
  if (at >= 0) return { job, stage: at, segment }
  const names = view.job.spec.stages.map((one) => one.name).join(', ')
  throw new InvalidDefinition(
    `Job ${job} is a pipeline: say whose stream it is, by a \`stage\` of ${names}.`,
    { job, stage },
  )
}
