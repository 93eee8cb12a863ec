/**
 * The clock of the page, and its timers. Times of jobs are those of the store: what the page shows as "ago" is measured
 * against the time that the server's answers carry.
 */
import { signal } from '@preact/signals'

/** How far the clock of the server is ahead of that of this browser. */
const aheadMs = signal(0)

export function setServerTime(time: number): void {
  aheadMs.value = time - Date.now()
}

export function serverNow(): number {
  return Date.now() + aheadMs.value
}

export function elapsedMs(): number {
  return performance.now()
}

/** Gives what stops it. */
export function afterDelay(ms: number, run: () => void): () => void {
  const timer = setTimeout(run, ms)
  return () => clearTimeout(timer)
}
