/**
 * Who holds leases now: what is charged to a queue or to a limit, or held by a worker.
 *
 * Made when it is asked for, by a walk over the held leases, so that grants pay nothing for it.
 */
import type { Lease, Task, Usage } from '../../kernel/index.ts'
import type { Ledger } from '../state/ledger.ts'
import type { Holder, InUse, LimitView, WorkerView } from '../store.ts'

/** More than a person looks at. */
const MOST_HOLDERS = 20

type LeasedTask = Task & { readonly lease: Lease }

/** How much is used of a limit or of a queue's own, and by whom. */
export function inUse(
  ledger: Ledger,
  usage: Usage | null | undefined,
  isCharged: (task: Task) => boolean,
): InUse {
  const fullAt = usage?.fullAt ?? 0
  return {
    held: usage?.held ?? 0,
    // What was full long ago is remembered by some and forgotten by others: both say the same.
    fullAt: fullAt > ledger.now ? fullAt : 0,
    holders: oldest(ledger, isCharged).holders,
  }
}

export function limitView(ledger: Ledger, key: string): LimitView {
  const isCharged = ({ policy }: Task): boolean => policy.limits.some((limit) => limit.key === key)
  return { key, ...inUse(ledger, ledger.usage.get(key), isCharged) }
}

export function workerView(ledger: Ledger, worker: string): WorkerView {
  return { worker, ...oldest(ledger, ({ lease }) => lease.worker === worker) }
}

/** Those that were granted first, and how many there are. */
function oldest(
  ledger: Ledger,
  isMeant: (task: LeasedTask) => boolean,
): { held: number; holders: Holder[] } {
  const first: LeasedTask[] = []
  let held = 0
  for (const task of ledger.leases.held()) {
    if (!isLeased(task) || !isMeant(task)) continue
    held += 1
    if (first.length === MOST_HOLDERS && !isBefore(task, first.at(-1) as LeasedTask)) continue
    if (first.length === MOST_HOLDERS) first.pop()
    const at = first.findIndex((other) => isBefore(task, other))
    first.splice(at === -1 ? first.length : at, 0, task)
  }
  return { held, holders: first.map(holderOf) }
}

function isLeased(task: Task): task is LeasedTask {
  return task.lease !== null
}

/** Within a millisecond the order of the grants is not kept: by name, so that all stores agree. */
function isBefore(task: LeasedTask, other: LeasedTask): boolean {
  if (task.lease.grantedAt !== other.lease.grantedAt) {
    return task.lease.grantedAt < other.lease.grantedAt
  }
  if (task.job !== other.job) return task.job < other.job
  return task.stage === other.stage ? task.segment < other.segment : task.stage < other.stage
}

function holderOf({ job, stage, segment, lease }: LeasedTask): Holder {
  return { job, stage, segment, worker: lease.worker, since: lease.grantedAt }
}
