/**
 * Looks every ten seconds what processes wrote and what waits, and more often while a page asks; and answers for the last day.
 *
 * - begun: when the server begins that has a dashboard, else when figures are asked for the first time.
 * - looking: one look at a time. One that fails, or takes long, leaves a hole; so does a store that is away.
 * - closed.
 *
 * Its timer keeps no process alive. It has the queues counted by nothing: it asks what any reader of them asks.
 */
import type { SaidTotals } from '../../engine/presence/presence-loop.ts'
import type { FigureRange, Figures } from '../../protocol/index.ts'
import type { RepeatingTimer } from '../../store/clock.ts'
import { nowUs, pause, repeatEvery } from '../../store/clock.ts'
import type { QueueLoad } from './figure-history.ts'
import { FigureHistory } from './figure-history.ts'
import { figuresOf } from './figures-answer.ts'

const LOOK_MS = 10_000
/** While a page asks, which it does every two seconds. */
const ASKED_LOOK_MS = 1_900
/** An answer waits no longer for a look than this. */
const PATIENCE_MS = 500
/** A look that took longer stood before a store that was away. */
const LONGEST_LOOK_MS = 5_000

export interface FigureSource {
  /** The authority's time. */
  readonly now: () => number
  readonly totals: () => Promise<readonly SaidTotals[]>
  readonly queues: () => Promise<readonly QueueLoad[]>
}

export class FigureSampler {
  readonly #source: FigureSource
  #history: FigureHistory | null = null
  #timer: RepeatingTimer | null = null
  #looking: Promise<void> | null = null
  #isClosed = false

  constructor(source: FigureSource) {
    this.#source = source
  }

  begin(): void {
    if (this.#history !== null || this.#isClosed) return
    this.#history = new FigureHistory()
    this.#timer = repeatEvery(LOOK_MS, () => void this.#look())
    void this.#look()
  }

  async figures(range: FigureRange): Promise<Figures> {
    this.begin()
    const history = this.#history ?? new FigureHistory()
    if (this.#source.now() - history.lastAt >= ASKED_LOOK_MS) {
      await Promise.race([this.#look(), pause(PATIENCE_MS, true)])
    }
    const figures = figuresOf(history, range)
    // BEFORE the first look, and until one goes well, nothing is known from before now.
    return history.knownFrom === null
      ? { ...figures, since: Math.floor(this.#source.now()) }
      : figures
  }

  close(): void {
    this.#isClosed = true
    this.#timer?.stop()
  }

  #look(): Promise<void> {
    this.#looking ??= this.#lookOnce().finally(() => (this.#looking = null))
    return this.#looking
  }

  async #lookOnce(): Promise<void> {
    const { totals, queues, now } = this.#source
    const history = this.#history
    if (history === null || this.#isClosed) return
    const beganUs = nowUs()
    try {
      // What was written comes last: it is as of the time of the sample.
      const read = await queues()
      const said = await totals()
      if (nowUs() - beganUs > 1_000 * LONGEST_LOOK_MS) history.missed()
      history.add({ at: Math.floor(now()), said, queues: read })
    } catch {
      // The store is away, or closed: the next look tries again.
      history.missed()
    }
  }
}
