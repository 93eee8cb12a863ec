/** The counts of queues as the store keeps them, beside those of the tasks themselves. */
import type { Row } from '../connection.ts'
import { isNotZero, QueueCounts } from '../rows/queue-counts.ts'
import { QUEUE_COUNTS } from '../statements.ts'
import type { Fix, ReportProblem } from './database-problem.ts'

/**
 * `rows`: as they are kept. `counted`: as the tasks are, once all rows are repaired. `rewritten`: queues of
 * which some rows are to be repaired, and lose their turns by that: what is ready until then counts as later
 * from then on. That is no problem of its own, and goes to `onFix`.
 */
export function checkQueueCounts(
  rows: readonly Row[],
  counted: QueueCounts,
  rewritten: ReadonlySet<string>,
  report: ReportProblem,
  onFix: (fix: Fix) => void,
): void {
  const kept = new QueueCounts()
  for (const row of rows) kept.addRow(row)
  for (const queue of new Set([...kept.queues, ...counted.queues])) {
    const [found, expected] = [kept.rowOf(queue), counted.rowOf(queue)]
    const differences = QUEUE_COUNTS.map((_, i) => {
      return (expected[i + 1] as number) - (found[i + 1] as number)
    })
    const missing = [queue, ...differences]
    if (!isNotZero(missing)) continue
    const fix: Fix = { table: 'queue_counts', queue, missing }
    const [later, ready, ...others] = differences as [number, number, ...number[]]
    if (rewritten.has(queue) && later === -ready && others.every((one) => one === 0)) {
      onFix(fix)
      continue
    }
    const what = QUEUE_COUNTS.flatMap((as, i) =>
      differences[i] === 0
        ? []
        : `${as} is ${Number(found[i + 1])}, and ${Number(expected[i + 1])} tasks are`,
    )
    report('queue_counts', queue, what.join('; '), fix)
  }
}
