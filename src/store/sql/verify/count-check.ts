/** The counts of jobs as the store keeps them, beside those of the jobs themselves. */
import type { CountRow } from '../../state/job-counts.ts'
import { COUNTED_STATES, CountTable } from '../../state/job-counts.ts'
import type { Row } from '../connection.ts'
import { countRow } from '../rows/counted-rows.ts'
import type { Fix, ReportProblem } from './database-problem.ts'

/**
 * `rows`: as they are kept. `counted`: as the jobs are, once all rows are repaired. `rewritten`: queues of
 * which some rows are to be repaired, and lose their turns by that: what is QUEUED until then counts as waiting
 * for its time from then on. That is no problem of its own, and goes to `onFix`.
 */
export function checkCounts(
  rows: readonly Row[],
  counted: CountTable,
  rewritten: ReadonlySet<string>,
  report: ReportProblem,
  onFix: (fix: Fix) => void,
): void {
  const differences = new CountTable()
  for (const row of counted.rows()) differences.addRow(row)
  const kept = new Map<string, CountRow>()
  for (const row of rows.map(countRow)) {
    kept.set(nameOf(row), row)
    differences.addRow({ ...row, cells: row.cells.map((count) => -count) })
  }
  for (const missing of differences.rows()) {
    const name = nameOf(missing)
    const fix: Fix = {
      table: 'counts',
      name,
      missing: [missing.dimension, missing.name, missing.queue, missing.type, ...missing.cells],
    }
    if (rewritten.has(missing.queue) && isMovedOnly(missing)) {
      onFix(fix)
      continue
    }
    const found = kept.get(name)
    const what = missing.cells.flatMap((difference, cell) => {
      const count = found?.cells[cell] ?? 0
      const state = COUNTED_STATES[cell] as string
      return difference === 0 ? [] : `${state} is ${count}, and ${count + difference} are`
    })
    report('counts', name, what.join('; '), fix)
  }
}

/** Nothing is missing, and nothing too much: only states of what waits differ. */
function isMovedOnly({ cells }: CountRow): boolean {
  const waiting = new Set(['CREATED', 'QUEUED', 'RETRYING', 'SUSPENDED'])
  const isOther = cells.some((count, cell) => {
    return count !== 0 && !waiting.has(COUNTED_STATES[cell] as string)
  })
  return !isOther && cells.reduce((sum, count) => sum + count, 0) === 0
}

/** For people. */
function nameOf({ dimension, name, queue, type }: CountRow): string {
  return [dimension, name, type, queue].filter((part) => part !== '').join(' ')
}
