/**
 * The port to what Node measures of its event loop. It costs a timer from when it is opened on: an engine that is not
 * observed has none.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks'

/** How finely delays are told apart. */
const RESOLUTION_MS = 10
const NS_PER_S = 1_000_000_000
const QUANTILES = ['0.5', '0.99', '1'] as const

export interface LoopDelay {
  readonly quantile: string
  readonly seconds: number
}

export class EventLoopDelays {
  readonly #histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS })

  constructor() {
    this.#histogram.enable()
  }

  /** Since the last time that this was asked. None is measured while the timer has not run. */
  take(): LoopDelay[] {
    const { count } = this.#histogram
    const delays = QUANTILES.map((quantile) => {
      const ns = count === 0 ? 0 : this.#histogram.percentile(Number(quantile) * 100)
      // What is measured is the time between two runs of a timer.
      return { quantile, seconds: Math.max(0, ns / NS_PER_S - RESOLUTION_MS / 1_000) }
    })
    this.#histogram.reset()
    return delays
  }

  close(): void {
    this.#histogram.disable()
  }
}
