/**
 * A queue through one workload, in an empty place: the steps that it takes, each in a process of
 * its own, of which the last is measured.
 */
import type { Places } from './places.ts'
import type { Runtime } from './run-step.ts'
import { runStep, THIS_NODE } from './run-step.ts'
import type { StepName, StepReport, StepSize } from './steps.ts'
import { WARM_UP_TIMES } from './steps.ts'

/** What is measured: a peer, or a build of Pawl on one of its stores. */
export interface Subject {
  readonly name: string
  /** The address of the adapter's file. */
  readonly adapter: string
  readonly variant: string
  /** Of Pawl alone: the `dist/index.js` of the build. */
  readonly entry?: string
  readonly places: Places
  /** Default: the Node that runs this. */
  readonly runtime?: Runtime
}

export const PAWL_ADAPTER = new URL('pawl.js', import.meta.url).href
export const IN_FLIGHT = 64

interface Plan {
  readonly step: StepName
  /** Jobs that are there before the step begins: as many as it takes itself, or more. */
  readonly before?: (jobs: number) => number
}

/** `of20k` and `of200k` take 5,000 unless they are told to take fewer. */
const SHORT_BACKLOG_TIMES = 4
const LONG_BACKLOG_TIMES = 40

const PLANS = {
  startup: { step: 'startup' },
  bulk: { step: 'bulk' },
  drain: { step: 'drain', before: (jobs) => jobs },
  'bulk-warm': { step: 'bulk-warm' },
  'drain-warm': { step: 'drain-warm', before: (jobs) => jobs * (WARM_UP_TIMES + 1) },
  singles: { step: 'singles' },
  cycle: { step: 'cycle' },
  latency: { step: 'latency' },
  memory: { step: 'memory' },
  of20k: { step: 'head', before: (jobs) => jobs * SHORT_BACKLOG_TIMES },
  of200k: { step: 'head', before: (jobs) => jobs * LONG_BACKLOG_TIMES },
} satisfies Record<string, Plan>

export type WorkloadName = keyof typeof PLANS

export interface WorkloadSize {
  readonly jobs: number
  /** Waits for results in `cycle`. */
  readonly results: boolean
  /** Counts bytes, syncs and round trips. */
  readonly counts: boolean
}

export async function runWorkload(
  { adapter, variant, entry, places, runtime = THIS_NODE }: Subject,
  workload: WorkloadName,
  { jobs, results, counts }: WorkloadSize,
): Promise<StepReport> {
  const { step, before }: Plan = PLANS[workload]
  const spot = await places.fresh()
  const place = { ...spot, variant, ...(entry === undefined ? {} : { entry }) }
  const size: StepSize = { jobs, inFlight: IN_FLIGHT, results }
  const order = { adapter, place, size, counts: false, serverPid: places.serverPid }
  try {
    await runStep({ ...order, step: 'setup' }, runtime)
    if (before !== undefined) {
      await runStep({ ...order, step: 'bulk', size: { ...size, jobs: before(jobs) } }, runtime)
    }
    await places.settle()
    if (!counts) return await runStep({ ...order, step }, runtime)
    const from = await places.counts(spot)
    const report = await runStep({ ...order, step, counts }, runtime)
    const to = await places.counts(spot)
    if (from === null || to === null) return report
    return { ...report, bytes: to.bytes - from.bytes, syncs: to.syncs - from.syncs }
  } finally {
    await places.drop(spot)
  }
}
