/**
 * What the system says about this thread, and about all of the process: how long they were on a
 * core, and how long this one waited for one.
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

/** How long all threads together were on a core. */
export function processNs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) * 1e3
}
