/**
 * A queue as a client sees it: whether it runs, what bounds it, and what is in it.
 */
import type { Queue } from '../../kernel/index.ts'
import { mayStartAt } from '../../kernel/index.ts'
import type { QueueView } from '../../store/index.ts'
import type { HolderInfo } from './holder-info.ts'
import { holderInfo } from './holder-info.ts'

export interface QueueInfo {
  readonly name: string
  /** Since when nothing of it is handed out; null: it is not paused. */
  readonly pausedAt: Date | null
  /** Who paused it, and why; null: it is not paused. */
  readonly paused: { readonly by: string; readonly reason: string } | null
  /** How many may run at once; null: no bound. */
  readonly concurrency: number | null
  /** How many may start in a period; null: no bound. */
  readonly rate: { readonly count: number; readonly perMs: number } | null
  /** How long a job waits until it rises by one priority; null: it does not. */
  readonly ageingMs: number | null
  /** Tasks that a worker has. */
  readonly running: number
  /**
   * Tasks that are due and wait for a worker, a limit, or the end of a pause. In a database, of those that
   * became due while no worker claimed, the first 10,000 of all queues count.
   */
  readonly ready: number
  /** When its own bounds let the next one start; null: when one that runs has ended. */
  readonly nextAt: Date | null
  /** Up to 20 of the tasks that run, the oldest first, and their workers. */
  readonly holders: readonly HolderInfo[]
}

export function pauseOf({
  paused,
  pausedAt,
  pausedBy,
  pauseReason,
}: Queue): Pick<QueueInfo, 'pausedAt' | 'paused'> {
  if (!paused) return { pausedAt: null, paused: null }
  return {
    pausedAt: new Date(pausedAt),
    paused: { by: pausedBy ?? '', reason: pauseReason ?? '' },
  }
}

export function queueInfo(
  { queue, ready, held, fullAt, holders }: QueueView,
  now: number,
): QueueInfo {
  const { name, concurrency, rate, ageingMs } = queue
  const nextAt = mayStartAt({ key: name, concurrency, rate }, { held, fullAt }, now)
  return {
    name,
    ...pauseOf(queue),
    concurrency,
    rate,
    ageingMs,
    running: held,
    ready,
    nextAt: nextAt === Infinity ? null : new Date(nextAt),
    holders: holders.map(holderInfo),
  }
}
