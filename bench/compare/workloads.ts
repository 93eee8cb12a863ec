/**
 * One build through one workload on an empty store: which steps that takes, and how large they are.
 */
import type { StepReport, StepSize } from '../workload/steps.ts'
import { runStep } from '../workload/run-step.ts'
import type { Build } from './build.ts'
import type { StoreUnderTest } from './stores.ts'

export const WORKLOAD_NAMES = ['bulk', 'drain', 'singles', 'cycle', 'latency', 'memory'] as const
export type WorkloadName = (typeof WORKLOAD_NAMES)[number]

const ADAPTER = new URL('../workload/pawl.js', import.meta.url).href
const IN_FLIGHT = 64

/** On a database. The latency has 100 a second. */
const JOBS: Readonly<Record<WorkloadName, number>> = {
  bulk: 20_000,
  drain: 20_000,
  singles: 10_000,
  cycle: 6_000,
  latency: 500,
  memory: 20_000,
}
/** A directory is so much quicker that it would be done before the machine has warmed up. */
const TIMES_IN_DIRECTORY = 5

/** `share`: of the usual number of jobs. */
export async function runWorkload(
  build: Build,
  store: StoreUnderTest,
  workload: WorkloadName,
  share: number,
): Promise<StepReport> {
  const isMore = store.name === 'directory' && workload !== 'latency'
  const jobs = Math.ceil(JOBS[workload] * share * (isMore ? TIMES_IN_DIRECTORY : 1))
  const size: StepSize = { jobs, inFlight: IN_FLIGHT, results: true }
  const place = { ...(await store.fresh()), entry: build.entry }
  const order = { adapter: ADAPTER, place, size, serverPid: store.serverPid }
  try {
    await runStep({ ...order, step: 'setup', counts: false })
    if (workload === 'drain') await runStep({ ...order, step: 'bulk', counts: false })
    await store.settle()
    const before = await store.counts(place)
    const report = await runStep({ ...order, step: workload, counts: true })
    const after = await store.counts(place)
    if (before === null || after === null) return report
    return { ...report, bytes: after.bytes - before.bytes, syncs: after.syncs - before.syncs }
  } finally {
    await store.drop(place)
  }
}
