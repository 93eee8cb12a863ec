/**
 * What the system says about this thread: how long it was on a core, how long it waited for one.
 */
import { readFileSync } from 'node:fs'

/** How long this thread was on a core; wall time where the system does not say. */
export function threadNs(): number {
  return threadTimes().onCoreNs
}

export interface ThreadTimes {
  readonly onCoreNs: number
  /** Ready to run, while others had the cores. */
  readonly waitedNs: number
}

export function threadTimes(): ThreadTimes {
  try {
    const [onCore, waited] = readFileSync('/proc/thread-self/schedstat', 'latin1').split(' ')
    return { onCoreNs: Number(onCore), waitedNs: Number(waited) }
  } catch {
    return { onCoreNs: performance.now() * 1e6, waitedNs: 0 }
  }
}
