/**
 * Jobs in memory that leases lead to.
 */
import type { Job } from '../../kernel/index.ts'
import type { Ledger } from '../state/ledger.ts'

/** Those of which a worker holds a lease. */
export function jobsHeldBy(ledger: Ledger, worker: string): Job[] {
  const ids = new Set<string>()
  for (const { job, lease } of ledger.leases.all()) if (lease?.worker === worker) ids.add(job)
  return inMemory(ledger, ids)
}

/** Those that are RUNNING; perhaps some others. */
export function runningJobs(ledger: Ledger): Job[] {
  const ids = new Set(ledger.counter.runningPipelines())
  for (const { job } of ledger.leases.all()) ids.add(job)
  return inMemory(ledger, ids)
}

function inMemory(ledger: Ledger, ids: Iterable<string>): Job[] {
  return [...ids].flatMap((id) => ledger.inMemory(id) ?? [])
}
