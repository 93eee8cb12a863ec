/**
 * How long one attempt may take, by a clock that goes on while the event loop is blocked: a timer cannot
 * fire then. The attempt asks it when the handler has returned, and BEFORE it records a step.
 */
import type { Timing } from '../../store/clock.ts'

/** A timer that fires so much too late was kept from it by code that blocks the event loop. */
const BLOCKED_MS = 50

export class TimeLimit {
  readonly #timing: Pick<Timing, 'steadyNow'>
  /** Null: none. */
  readonly #limitMs: number | null
  #begunAt: number
  /** Null: it is not. */
  #pausedAt: number | null = null
  #untilReturnedMs = 0

  /** It begins now. */
  constructor(timing: Pick<Timing, 'steadyNow'>, limitMs: number | null) {
    this.#timing = timing
    this.#limitMs = limitMs
    this.#begunAt = limitMs === null ? 0 : timing.steadyNow()
  }

  /** The call of the handler has returned, its promise or its value: until now it had the event loop to itself. */
  noteReturned(): void {
    if (this.#limitMs !== null) this.#untilReturnedMs = this.#passedMs
  }

  /** What passes until `resume` does not count. */
  pause(): void {
    if (this.#limitMs !== null) this.#pausedAt ??= this.#timing.steadyNow()
  }

  resume(): void {
    if (this.#pausedAt === null) return
    this.#begunAt += this.#timing.steadyNow() - this.#pausedAt
    this.#pausedAt = null
  }

  /** Null: there is no limit. */
  get leftMs(): number | null {
    return this.#limitMs === null ? null : Math.max(0, this.#limitMs - this.#passedMs)
  }

  get isOver(): boolean {
    return this.#limitMs !== null && this.#passedMs > this.#limitMs
  }

  /** AFTER it is over: what happened, and what to write instead. `isIsolated`: the handler does not run in this thread. */
  explain(isIsolated: boolean): string {
    const limitMs = this.#limitMs ?? 0
    const tookLonger = `This attempt took longer than the timeout of ${limitMs} ms`
    const lateMs = this.#passedMs - limitMs
    const isBlockedByCall = this.#untilReturnedMs > limitMs
    if (!isBlockedByCall && lateMs < BLOCKED_MS) return `${tookLonger}.`
    const blockedMs = Math.floor(isBlockedByCall ? this.#untilReturnedMs : lateMs)
    const blocked = `${tookLonger}: the event loop was blocked for ${blockedMs} ms or more, and no timer could end it`
    if (isIsolated) return `${blocked}. Other code in the worker's own thread did that.`
    return `${blocked}. Nothing was committed. Run a handler that computes for long with isolation: 'thread' or 'process'.`
  }

  get #passedMs(): number {
    return (this.#pausedAt ?? this.#timing.steadyNow()) - this.#begunAt
  }
}
