/**
 * Hold-ups of the event loop: how long a timer of a millisecond was kept waiting, and by what:
 * garbage collection, the thread's own work, other programs that had the cores, or the system.
 */
import type { ThreadTimes } from '../thread-time.ts'
import { threadTimes } from '../thread-time.ts'
import type { Span } from './collections.ts'
import { collections } from './collections.ts'

const TICK_MS = 1
/** Shorter ones are the work of a batch or two. */
const LEAST_MS = 2

export interface HoldUp {
  readonly ms: number
  readonly gcMs: number
  /** On a core, and not collecting garbage. */
  readonly ownMs: number
  /** Ready to run, while others had the cores. */
  readonly waitedMs: number
  /** The rest: in calls of the system that wait for something. */
  readonly blockedMs: number
}

interface Gap extends Span {
  readonly onCoreMs: number
  readonly waitedMs: number
}

export class HoldUps {
  readonly #gaps: Gap[] = []
  readonly #timer: NodeJS.Timeout
  #last = performance.now()
  #times: ThreadTimes = threadTimes()

  constructor() {
    collections()
    this.#timer = setInterval(() => this.#tick(), TICK_MS)
  }

  /** Longest first. */
  stop(): HoldUp[] {
    clearInterval(this.#timer)
    return this.#gaps.map((gap) => this.#explain(gap)).toSorted((a, b) => b.ms - a.ms)
  }

  #explain(gap: Gap): HoldUp {
    const ms = gap.to - gap.from - TICK_MS
    const gcMs = Math.min(ms, overlap(gap, collections().spans))
    // A collection waits for the threads that help it: not all of it is on a core.
    const ownMs = Math.max(0, Math.min(gap.onCoreMs - gcMs, ms - gcMs))
    const waitedMs = Math.min(ms - gcMs - ownMs, gap.waitedMs)
    const blockedMs = ms - gcMs - ownMs - waitedMs
    return { ms, gcMs, ownMs, waitedMs, blockedMs }
  }

  #tick(): void {
    const now = performance.now()
    const times = threadTimes()
    if (now - this.#last - TICK_MS >= LEAST_MS) {
      this.#gaps.push({
        from: this.#last,
        to: now,
        onCoreMs: (times.onCoreNs - this.#times.onCoreNs) / 1e6,
        waitedMs: (times.waitedNs - this.#times.waitedNs) / 1e6,
      })
    }
    this.#last = now
    this.#times = times
  }
}

function overlap(span: Span, others: readonly Span[]): number {
  let sum = 0
  for (const { from, to } of others) {
    sum += Math.max(0, Math.min(to, span.to) - Math.max(from, span.from))
  }
  return sum
}
