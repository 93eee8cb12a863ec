/**
 * Why a lease is over. The authority only says that it is; its record says whether somebody wanted that.
 */
import type { LeaseAddress } from '../../kernel/index.ts'
import type { Store } from '../../store/index.ts'
import type { AbortReason } from '../handler/aborted.ts'

/** A lease that ended so was taken away by somebody who wanted the work to stop. */
const WANTED: ReadonlySet<string | null> = new Set([
  'JobCancelled',
  'TaskForced',
  'TaskStopped',
  'LeaseRevoked',
])

export async function whyCancelled(store: Store, address: LeaseAddress): Promise<AbortReason> {
  const { job, stage, segment, lease: number } = address
  const task = await store.query({ kind: 'task', job, stage, segment }).catch(() => undefined)
  if (task === undefined) return 'lease-lost'
  const lease = task?.leases.find((one) => one.number === number)
  return task === null || WANTED.has(lease?.endedBy ?? null) ? 'cancelled' : 'lease-lost'
}
