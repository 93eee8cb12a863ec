/**
 * How the lease of an attempt ended that runs on: the store answers a report only with `cancelled`. The
 * task's record says by which entry, and the log who asked for it and why, so that the handler can be told.
 */
import type { Entry, LeaseAddress, LeaseEnd } from '../../kernel/index.ts'
import type { Store } from '../../store/index.ts'
import type { AbortReason, StoppedBy } from '../abort-handle.ts'

interface EndOfLease {
  readonly reason: AbortReason
  readonly by: StoppedBy | null
}

/** What the handler is told; of any other end, that its lease is lost. */
const REASONS: Partial<Readonly<Record<LeaseEnd, AbortReason>>> = {
  JobCancelled: 'cancelled',
  TaskForced: 'cancelled',
  TaskStopped: 'cancelled',
  LeaseRevoked: 'revoked',
}

/** The entry that ended the lease is among the newest of its job, unless its pipeline is very busy. */
const MOST_ENTRIES = 200

/** What cannot be read is left out: the handler must stop all the same. */
export async function leaseEnd(store: Store, address: LeaseAddress): Promise<EndOfLease> {
  const { job, stage, segment, lease: number } = address
  const task = await store.query({ kind: 'task', job, stage, segment }).catch(() => undefined)
  if (task === undefined) return { reason: 'lease-lost', by: null }
  // Forgotten: it was over.
  if (task === null) return { reason: 'cancelled', by: null }
  const endedBy = task.leases.find((one) => one.number === number)?.endedBy ?? null
  const reason = endedBy === null ? undefined : REASONS[endedBy]
  if (reason === undefined) return { reason: 'lease-lost', by: null }
  const query = { kind: 'history', job, limit: MOST_ENTRIES, newest: true } as const
  const page = await store.query(query).catch(() => [])
  // A segment of a pipeline is stopped because its job was cancelled: that is whom to name.
  const type = endedBy === 'TaskStopped' ? 'JobCancelled' : endedBy
  const end = page.findLast(({ entry }) => entry.type === type && isAbout(entry, address))?.entry
  return { reason, by: end !== undefined && 'by' in end ? { by: end.by, why: end.reason } : null }
}

function isAbout(entry: Entry, { stage, segment, lease }: LeaseAddress): boolean {
  if (!('segment' in entry)) return true
  if (entry.stage !== stage || entry.segment !== segment) return false
  return ('lease' in entry ? entry.lease : 'attempt' in entry ? entry.attempt : lease) === lease
}
