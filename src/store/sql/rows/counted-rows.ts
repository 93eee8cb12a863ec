/**
 * What the counts have a row of `work` as, and the rows of `counts` and `count_changes`.
 *
 * Each transaction writes what it changed, one row for each type and queue (and tag, and error), however many
 * jobs it is about. Only queries read the counts. Verify compares them with the jobs, repair puts them right.
 *
 * The state of a job that waits may change by time alone. Counted is what was written: it is QUEUED from when
 * its row has a turn. A query puts right what became due since (see `queries/count-queries.ts`).
 */
import type { Job, JobState, Task } from '../../../kernel/index.ts'
import { isSuspended } from '../../../kernel/index.ts'
import type { CountRow, Dimension } from '../../state/job-counts.ts'
import { COUNTED_STATES } from '../../state/job-counts.ts'
import { isListed } from '../../state/task-snapshot.ts'
import type { Row } from '../connection.ts'

/** Null: it is not counted here. A pipeline's own row is counted by `pipelines`. */
export function countedAs(job: Job, task: Task | null, turn: number | null): JobState | null {
  if (task === null) return null
  const listed = isListed(job, task)
  if (job.task === null) {
    if (task.lease !== null) return 'RUNNING'
    if (!listed) return null
    return turn === null ? 'CREATED' : 'QUEUED'
  }
  switch (task.state) {
    case 'COMPLETED':
      return 'SUCCEEDED'
    case 'FAILED':
      return 'FAILED'
    case 'DEAD':
      return 'QUARANTINED'
    case 'LEASED':
      return 'RUNNING'
    case 'WAITING':
      if (listed && turn !== null) return 'QUEUED'
      return waitingAs(task.attempt, isSuspended(task))
  }
}

/** A task that waits for its time, or for the first claim after it. */
export function waitingAs(attempt: number, suspended: boolean): JobState {
  if (attempt === 0) return 'CREATED'
  return suspended ? 'SUSPENDED' : 'RETRYING'
}

/** What a pipeline is when time alone has changed its state. */
export function stateAfter(counted: JobState): JobState {
  return counted === 'CREATED' ? 'QUEUED' : 'RUNNING'
}

/** The columns of the cells, in their order. */
export const COUNT_CELLS = COUNTED_STATES.map((state) => state.toLowerCase())
export const COUNT_COLUMNS = ['dimension', 'name', 'queue', 'type', ...COUNT_CELLS]

export function countColumns({ dimension, name, queue, type, cells }: CountRow): Row {
  return [dimension, name, queue, type, ...cells]
}

export function countRow([dimension, name, queue, type, ...cells]: Row): CountRow {
  return {
    dimension: dimension as Dimension,
    name: name as string,
    queue: queue as string,
    type: type as string,
    cells: cells.map(Number),
  }
}

/** As the column `tags` has them. */
export function tagsColumn(tags: readonly string[]): string | null {
  return tags.length === 0 ? null : JSON.stringify([...new Set(tags)])
}

export function tagsOf(column: unknown): readonly string[] {
  return column === null ? [] : (JSON.parse(column as string) as string[])
}

export function tagLabel(tag: string): string {
  return `tag:${tag}`
}

export function errorLabel(fingerprint: string): string {
  return `error:${fingerprint}`
}
