/**
 * The port to the real clock and its timers: the only file of this room, of the workers' and of the
 * engine's that may read a clock or wait.
 */

/** Where a store gets its time from. Milliseconds since 1970. */
export interface Clock {
  now(): number
  /**
   * From now on it shows at least this time, and goes on from there. For a log whose time is far
   * ahead of the machine's: a clock that cannot do it stands still until the machine's has come
   * so far.
   */
  goOnFrom?(ms: number): void
}

/** May jump either way; the ledger takes care that the log's time never runs backwards. */
export const systemClock: Clock = { now: () => Date.now() }

/** To measure how long something takes, in microseconds; only differences count. */
export function nowUs(): number {
  return performance.now() * 1_000
}

/** Calls back once; gives its end. Only one that is kept keeps its process alive. */
export function afterMs(ms: number, call: () => void, isKept = false): () => void {
  const timer = setTimeout(call, ms)
  if (!isKept) timer.unref()
  return () => clearTimeout(timer)
}

/** Something that is done again and again. */
export interface RepeatingTimer {
  /** Whether it keeps the process alive. At first it does not. */
  keep(isKept: boolean): void
  stop(): void
}

export function repeatEvery(ms: number, call: () => void): RepeatingTimer {
  const timer = setInterval(call, ms)
  timer.unref()
  return {
    keep: (isKept) => void (isKept ? timer.ref() : timer.unref()),
    stop: () => clearInterval(timer),
  }
}

/** A clock that something must end. */
export interface AwakeClock extends SteadyClock {
  close(): void
}

/** What an awake clock reads. Ports, for tests. */
export interface TimeSources {
  wallMs(): number
  /** Never jumps; only differences count. */
  monotonicMs(): number
  /** Calls back at every turn of the event loop that is this far from the last; gives its end. */
  every(ms: number, call: () => void): () => void
}

const REAL_SOURCES: TimeSources = {
  wallMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  every(ms, call) {
    const timer = setInterval(call, ms)
    // A store that is only open keeps no process alive.
    timer.unref()
    return () => clearInterval(timer)
  },
}

const BEAT_MS = 50
/** A beat that comes later than this was held up: nothing in this process could go on. */
const STALL_MS = 250
/** How much faster than the wall clock it runs while it is behind: no lease loses more of its length. */
const CATCH_UP = 0.05
/**
 * Never further behind than this. A process that is held up all the time would otherwise lag
 * by hours, and so would everything that is due at a time of day.
 */
const MOST_BEHIND_MS = 600_000

/**
 * A wall clock that is so far behind what was shown before is wrong, or was: the store goes on without
 * waiting for it. A smaller difference is waited for.
 */
export const FAR_BEHIND_MS = 600_000

/** How long of the time since the last beat this process stood still. */
function stalledIn(gapMs: number): number {
  return gapMs > STALL_MS ? gapMs - BEAT_MS : 0
}

/** A clock that can be told how far it was ahead. */
export interface SteadyClock extends Clock {
  goOnFrom(ms: number): void
}

/**
 * The wall clock, unless that is far behind what was shown before: then it goes on at its own pace from
 * there, until the wall clock has come so far.
 */
export function steadyClock(
  sources: Pick<TimeSources, 'wallMs' | 'monotonicMs'> = REAL_SOURCES,
): SteadyClock {
  let shown = -Infinity
  /** Where it goes on from while the wall clock is far behind, and when that was. */
  let aheadMs = -Infinity
  let aheadSince = 0
  let lastAsked = sources.monotonicMs()
  const goOnFrom = (ms: number, since: number): void => {
    aheadMs = ms
    aheadSince = since
  }
  return {
    now() {
      const monotonicMs = sources.monotonicMs()
      const wallMs = sources.wallMs()
      if (wallMs < shown - FAR_BEHIND_MS && aheadMs === -Infinity) goOnFrom(shown, lastAsked)
      lastAsked = monotonicMs
      const ownMs = aheadMs + (monotonicMs - aheadSince)
      if (ownMs <= wallMs) aheadMs = -Infinity
      shown = Math.max(ownMs, wallMs)
      return shown
    },
    goOnFrom: (ms) => goOnFrom(ms, sources.monotonicMs()),
  }
}

/**
 * The wall clock without the time for which this process stood still: a handler kept the event
 * loop to itself, or the process was stopped. No worker could extend a lease meanwhile, and nothing
 * was granted to another one, so no lease runs out by it.
 *
 * - in step: it shows the wall clock.
 * - stalled: the event loop does not turn; it goes on by a repeatEvery, and then stands.
 * - behind: the loop turns again; it runs a little faster until it is in step.
 * - ahead: the wall clock is far behind what was shown before; it goes on at its own pace, until the
 *   wall clock has come so far.
 *
 * It never runs backwards unless the wall clock does, and then only a little. Only a turn of the loop
 * ends a stall, not a call of `now`: a handler that submits jobs in a busy loop calls it all the time.
 */
export function awakeClock(sources: TimeSources = REAL_SOURCES): AwakeClock {
  let turnedAt = sources.monotonicMs()
  let behindMs = 0
  let shown = -Infinity
  let lastWallMs = -Infinity
  let isClosed = false
  const machine = steadyClock(sources)
  const sinceTurnMs = (): number => (isClosed ? 0 : sources.monotonicMs() - turnedAt)
  const stop = sources.every(BEAT_MS, () => {
    const gapMs = sinceTurnMs()
    const stalledMs = stalledIn(gapMs)
    turnedAt += gapMs
    const left = Math.max(0, behindMs - (gapMs - stalledMs) * CATCH_UP)
    behindMs = Math.min(MOST_BEHIND_MS, left + stalledMs)
  })

  return {
    now() {
      const wallMs = machine.now()
      const now = wallMs - Math.min(MOST_BEHIND_MS, behindMs + stalledIn(sinceTurnMs()))
      // What was shown BEFORE it was plain that this is a stall is not taken back.
      shown = wallMs < lastWallMs ? Math.floor(now) : Math.max(shown, Math.floor(now))
      lastWallMs = wallMs
      return shown
    },
    goOnFrom: (ms) => machine.goOnFrom(ms),
    close() {
      isClosed = true
      stop()
    },
  }
}

/** Waits. `isIdle`: a process that does nothing else may end meanwhile. */
export function pause(ms: number, isIdle = false): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    if (isIdle) timer.unref()
  })
}

export interface Timer {
  cancel(): void
}

/**
 * Time as workers and the engine measure it, and timers. Where the store is in the same process,
 * `now` is the authority's own clock, so that both agree on how much of a lease is left even after
 * the process stood still.
 */
export interface Timing {
  /** False: only a test moves its time, so a handler must not wait by a timer. Default: true. */
  readonly passesByItself?: boolean
  /** Milliseconds; only differences count. */
  now(): number
  /** The same, but it also goes on while this process stands still, as timers do. */
  steadyNow(): number
  /** Calls back once. A timer that is not `kept` does not keep the process alive. */
  after(ms: number, call: () => void, kept?: boolean): Timer
  /** Calls back once, AFTER everything that is ready to run in this turn of the event loop. */
  soon(call: () => void): void
}

/** Node takes a longer time for none at all. */
const LONGEST_MS = 2_147_483_647

export function realTiming(now: () => number = () => performance.now()): Timing {
  return {
    now,
    steadyNow: () => performance.now(),
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

/** Time goes on, and nothing is ever called back: for loops that another process runs. */
export function withoutTimers(timing: Timing): Timing {
  return {
    now: () => timing.now(),
    steadyNow: () => timing.steadyNow(),
    after: () => ({ cancel: () => undefined }),
    soon: () => undefined,
  }
}
