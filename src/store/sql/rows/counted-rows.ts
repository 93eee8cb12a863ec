/**
 * The rows of `counts`, `count_changes` and `labels`.
 *
 * Each transaction writes what it changed, one row for each type and queue (and tag, and error), however many
 * jobs it is about. Only queries read the counts. Verify compares them with the jobs, repair puts them right.
 *
 * The state of a job that waits may change by time alone. Counted is what was written: it is QUEUED from when
 * its row has a turn. A query puts right what became due since (see `queries/count-queries.ts`).
 */
import type { JobState } from '../../../kernel/index.ts'
import type { CountRow, Dimension } from '../../state/job-counts.ts'
import { COUNTED_STATES } from '../../state/job-counts.ts'
import type { Row } from '../connection.ts'

/** What a pipeline is when time alone has changed its state. */
export function stateAfter(counted: JobState): JobState {
  return counted === 'CREATED' ? 'QUEUED' : 'RUNNING'
}

/** The columns of the cells, in their order. */
export const COUNT_CELLS = COUNTED_STATES.map((state) => state.toLowerCase())
export const COUNT_COLUMNS = ['dimension', 'name', 'queue', 'type', ...COUNT_CELLS]

export function countRow([dimension, name, queue, type, ...cells]: Row): CountRow {
  return {
    dimension: dimension as Dimension,
    name: name as string,
    queue: queue as string,
    type: type as string,
    cells: cells.map(Number),
  }
}

/** From the column `tags`. */
export function tagsOf(column: unknown): readonly string[] {
  return column === null ? [] : (JSON.parse(column as string) as string[])
}

export function tagLabel(tag: string): string {
  return `tag:${tag}`
}

export function errorLabel(fingerprint: string): string {
  return `error:${fingerprint}`
}
