/**
 * Time that passes when the test says so.
 */
import type { Timing } from '../../src/store/clock.ts'

export class Hourglass implements Timing {
  readonly #timers = new Set<{ at: number; call: () => void }>()
  #now = 0

  now(): number {
    return this.#now
  }

  steadyNow(): number {
    return this.#now
  }

  after(ms: number, call: () => void): { cancel(): void } {
    const timer = { at: this.#now + ms, call }
    this.#timers.add(timer)
    return { cancel: () => this.#timers.delete(timer) }
  }

  soon(call: () => void): void {
    this.after(0, call)
  }

  pass(ms: number): void {
    this.#now += ms
    for (const timer of this.#timers) {
      if (timer.at > this.#now || !this.#timers.delete(timer)) continue
      timer.call()
    }
  }
}
