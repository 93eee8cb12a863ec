/**
 * Hold-ups of the event loop: how long a timer of a millisecond was kept waiting, and by what:
 * by garbage collection, by other programs that had the cores, or by the work itself; and
 * whether a checkpoint was being made by a thread beside it.
 */
import type { Worker } from 'node:worker_threads'
import { PerformanceObserver } from 'node:perf_hooks'
import type { ThreadTimes } from '../thread-time.ts'
import { threadTimes } from '../thread-time.ts'

const TICK_MS = 1
/** Shorter ones are the work of a batch or two. */
const LEAST_MS = 2
/** What the store does with a checkpoint when its thread is done belongs to it too. */
const AFTERWARDS_MS = 500

interface Span {
  readonly from: number
  to: number
}

export interface HoldUp {
  readonly ms: number
  readonly gcMs: number
  /** The thread was ready to run, and others had the cores. */
  readonly waitedMs: number
  /** The rest. */
  readonly ownMs: number
  readonly inCheckpoint: boolean
}

export class HoldUps {
  readonly #spans: (Span & { waitedMs: number })[] = []
  readonly #collections: Span[] = []
  readonly #checkpoints: Span[] = []
  readonly #observer = new PerformanceObserver((list) => this.#collected(list.getEntries()))
  readonly #timer: NodeJS.Timeout
  #last = performance.now()
  #times: ThreadTimes = threadTimes()

  readonly #started = (worker: Worker): void => {
    const span = { from: performance.now(), to: Infinity }
    this.#checkpoints.push(span)
    worker.once('exit', () => {
      span.to = performance.now() + AFTERWARDS_MS
    })
  }

  constructor() {
    this.#observer.observe({ entryTypes: ['gc'] })
    // The only threads that a store starts are those of checkpoints.
    process.on('worker', this.#started)
    this.#timer = setInterval(() => this.#tick(), TICK_MS)
  }

  /** Longest first. */
  stop(): HoldUp[] {
    clearInterval(this.#timer)
    process.off('worker', this.#started)
    this.#collected(this.#observer.takeRecords())
    this.#observer.disconnect()
    const all = this.#spans.map((span) => {
      const ms = span.to - span.from - TICK_MS
      const gcMs = Math.min(ms, overlap(span, this.#collections))
      // Waiting for a core in the midst of a collection counts as the collection's.
      const waitedMs = Math.min(ms - gcMs, span.waitedMs)
      const inCheckpoint = overlap(span, this.#checkpoints) > 0
      return { ms, gcMs, waitedMs, ownMs: ms - gcMs - waitedMs, inCheckpoint }
    })
    return all.toSorted((a, b) => b.ms - a.ms)
  }

  #tick(): void {
    const now = performance.now()
    const times = threadTimes()
    if (now - this.#last - TICK_MS >= LEAST_MS) {
      const waitedMs = (times.waitedNs - this.#times.waitedNs) / 1e6
      this.#spans.push({ from: this.#last, to: now, waitedMs })
    }
    this.#last = now
    this.#times = times
  }

  #collected(entries: readonly { startTime: number; duration: number }[]): void {
    for (const { startTime, duration } of entries) {
      this.#collections.push({ from: startTime, to: startTime + duration })
    }
  }
}

function overlap(span: Span, others: readonly Span[]): number {
  let sum = 0
  for (const { from, to } of others) {
    sum += Math.max(0, Math.min(to, span.to) - Math.max(from, span.from))
  }
  return sum
}
