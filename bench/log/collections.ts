/**
 * The garbage collections of this thread, for as long as the process runs.
 */
import { PerformanceObserver } from 'node:perf_hooks'

export interface Span {
  readonly from: number
  readonly to: number
}

class Collections {
  readonly #spans: Span[] = []
  readonly #observer = new PerformanceObserver((list) => this.#add(list.getEntries()))
  #ms = 0

  constructor() {
    this.#observer.observe({ entryTypes: ['gc'] })
  }

  /** All of them together. */
  get ms(): number {
    this.#add(this.#observer.takeRecords())
    return this.#ms
  }

  get spans(): readonly Span[] {
    this.#add(this.#observer.takeRecords())
    return this.#spans
  }

  #add(entries: readonly { startTime: number; duration: number }[]): void {
    for (const { startTime, duration } of entries) {
      this.#spans.push({ from: startTime, to: startTime + duration })
      this.#ms += duration
    }
  }
}

let started: Collections | null = null

/** From the first call on. */
export function collections(): Collections {
  started ??= new Collections()
  return started
}
