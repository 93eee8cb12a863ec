/**
 * The worker's port to time: the only file of this room that may read a clock or wait.
 */

export interface Timer {
  cancel(): void
}

/**
 * Time as the worker measures it. Where the store is in the same process, `now` is the
 * authority's own clock, so that both agree on how much of a lease is left even after the
 * process stood still.
 */
export interface Timing {
  /** Milliseconds; only differences count. */
  now(): number
  /** Calls back once. A timer that is not `kept` does not keep the process alive. */
  after(ms: number, call: () => void, kept?: boolean): Timer
  /** Calls back once, when everybody else who can go on has gone on. */
  soon(call: () => void): void
}

/** Node takes a longer time for none at all. */
const LONGEST_MS = 2_147_483_647

export function realTiming(now: () => number = () => performance.now()): Timing {
  return {
    now,
    after(ms, call, kept = false) {
      let timer: NodeJS.Timeout
      const wait = (left: number): void => {
        timer = setTimeout(
          () => (left > LONGEST_MS ? wait(left - LONGEST_MS) : call()),
          Math.min(Math.max(0, left), LONGEST_MS),
        )
        if (!kept) timer.unref()
      }
      wait(ms)
      return { cancel: () => clearTimeout(timer) }
    },
    soon(call) {
      setImmediate(call)
    },
  }
}
