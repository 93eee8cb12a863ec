/**
 * What a piece of work takes: time, cores, and what is counted beneath it.
 */
import { familyUs } from '../process-time.ts'
import type { Count } from './counters.ts'

/** Undefined is what was not counted, or could not be. */
export interface Used {
  readonly wallMs: number
  /** User and system time of the process, all its threads included. */
  readonly cpuUs: number
  /** The same of the server and the processes that it started. */
  readonly serverCpuUs?: number | undefined
  readonly roundTrips?: number | undefined
  readonly bytes?: number | undefined
  readonly syncs?: number | undefined
  /** The most memory that the process has had, since it began. */
  readonly peakMiB: number
}

export interface Counts {
  readonly roundTrips?: Count
  readonly bytes?: Count
  readonly syncs?: Count
  readonly serverPid?: number | undefined
}

export class Meter {
  readonly #counts: Counts

  constructor(counts: Counts = {}) {
    this.#counts = counts
  }

  async of(work: () => Promise<void>): Promise<Used> {
    const before = this.#look()
    await work()
    const after = this.#look()
    const between = (name: keyof typeof after): number | undefined => {
      const [from, to] = [before[name], after[name]]
      return from === undefined || to === undefined ? undefined : to - from
    }
    return {
      wallMs: after.wallMs - before.wallMs,
      cpuUs: after.cpuUs - before.cpuUs,
      serverCpuUs: between('serverCpuUs'),
      roundTrips: between('roundTrips'),
      bytes: between('bytes'),
      syncs: between('syncs'),
      peakMiB: process.resourceUsage().maxRSS / 1_024,
    }
  }

  #look() {
    const { roundTrips, bytes, syncs, serverPid } = this.#counts
    const { user, system } = process.cpuUsage()
    return {
      wallMs: performance.now(),
      cpuUs: user + system,
      serverCpuUs: serverPid === undefined ? undefined : familyUs(serverPid),
      roundTrips: roundTrips?.(),
      bytes: bytes?.(),
      syncs: syncs?.(),
    }
  }
}
