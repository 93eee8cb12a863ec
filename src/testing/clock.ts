/**
 * The virtual clock: time that stands still until a test moves it, and never runs backwards.
 *
 * It is the clock of the store and of the workers at once, so both always agree. It fires no timer
 * by itself: the steps of virtual time fire those that became due, one at a time, in order.
 *
 * It is also this room's port to real time: promises settle only while the real event loop turns, and
 * a handler that reads a file needs real time. The real timers are bound when this file is loaded, so
 * that a test may replace the global ones.
 */
import type { Timer, Timing } from '../store/clock.ts'
import type { Clock } from '../store/index.ts'

interface PendingTimer {
  readonly at: number
  readonly call: () => void
}

const realImmediate = setImmediate
const realTimeout = setTimeout
const realNow = performance.now.bind(performance)

/** Between two checks of something that takes real time. */
const PAUSE_MS = 1

export class VirtualClock implements Clock, Timing {
  readonly passesByItself = false
  #now: number
  /** Not sorted: there are few. Those that were set first come first. */
  readonly #timers = new Set<PendingTimer>()
  #fired = 0
  #immediates = 0

  constructor(start: number) {
    this.#now = start
  }

  now(): number {
    return this.#now
  }

  steadyNow(): number {
    return this.#now
  }

  after(ms: number, call: () => void): Timer {
    const waiting = { at: this.#now + Math.max(0, ms), call }
    this.#timers.add(waiting)
    return { cancel: () => this.#timers.delete(waiting) }
  }

  /** In real time: nothing has to be moved for it. */
  soon(call: () => void): void {
    this.#immediates += 1
    realImmediate(() => {
      this.#immediates -= 1
      call()
    })
  }

  /** A call of `soon` has not run yet. */
  get hasImmediates(): boolean {
    return this.#immediates > 0
  }

  /** How many timers were fired. */
  get fired(): number {
    return this.#fired
  }

  /** When the next timer is due; Infinity if there is none. */
  get nextAt(): number {
    return this.#nextTimer()?.at ?? Infinity
  }

  moveTo(ms: number): void {
    this.#now = Math.max(this.#now, ms)
  }

  /** Fires the first timer that is due now. Whether there was one. */
  fireOne(): boolean {
    const next = this.#nextTimer()
    if (next === undefined || next.at > this.#now) return false
    this.#timers.delete(next)
    this.#fired += 1
    next.call()
    return true
  }

  /** One turn of the real event loop: every promise that can settle has settled. */
  turn(): Promise<void> {
    return new Promise((resolve) => {
      realImmediate(resolve)
    })
  }

  /** A moment of real time. */
  pause(): Promise<void> {
    return new Promise((resolve) => {
      realTimeout(resolve, PAUSE_MS)
    })
  }

  /** Milliseconds of real time; only differences count. */
  realNow(): number {
    return realNow()
  }

  #nextTimer(): PendingTimer | undefined {
    let next: PendingTimer | undefined
    for (const waiting of this.#timers) {
      if (next === undefined || waiting.at < next.at) next = waiting
    }
    return next
  }
}

/** Timers of what the engine must not do by itself. */
export const neverFires: Timing = {
  now: () => 0,
  steadyNow: () => 0,
  after: () => ({ cancel: () => undefined }),
  soon: () => undefined,
}
