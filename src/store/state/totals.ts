/**
 * The counters of a process, summed over types and queues.
 */
import type { Distribution, Metrics, Totals, TotalsDistribution } from '../metrics.ts'

/** Null: it wrote nothing yet. */
export function totalsOf({
  since,
  entries,
  moves,
  traffic,
}: Pick<Metrics, 'since' | 'entries' | 'moves' | 'traffic'>): Totals | null {
  if (Object.keys(entries).length === 0) return null
  const count = (...types: readonly (keyof Metrics['entries'])[]): number =>
    types.reduce((sum, type) => sum + (entries[type] ?? 0), 0)
  return {
    since,
    submitted: count('JobSubmitted'),
    granted: count('LeaseGranted'),
    committed: count('ExecutionCommitted'),
    failed: count('TaskFailed'),
    effectsFailed: count('EffectFailed'),
    lost: count('LeaseExpired', 'LeaseRevoked'),
    quarantined: traffic.reduce((sum, { quarantined }) => sum + quarantined, 0),
    moves: Object.fromEntries(
      moves.map(({ of, from, to, count: times }) => [`${of} ${from ?? '-'} ${to}`, times]),
    ),
    waitMs: summed(traffic.map(({ waitMs }) => waitMs)),
    runMs: summed(traffic.map(({ runMs }) => runMs)),
  }
}

/** Empty buckets at the end are left out. */
function summed(all: readonly Distribution[]): TotalsDistribution {
  const counts: number[] = []
  let [count, sum] = [0, 0]
  for (const one of all) {
    count += one.count
    sum += one.sum
    one.counts.forEach((more, bucket) => (counts[bucket] = (counts[bucket] ?? 0) + more))
  }
  while (counts.at(-1) === 0) counts.pop()
  return { count, sum, counts }
}
