/**
 * The rows of `questions`: what a task asks people, in each list that a filter may mean; and, in a list of its own, each task
 * with an effect whose outcome a person has to say. They follow from the task.
 */
import type { Job, Task } from '../../../kernel/index.ts'
import { isHeldTask } from '../../../kernel/index.ts'
import type { QuestionPlace } from '../../state/open-questions.ts'
import { listsOf, openQuestions, placeOf } from '../../state/open-questions.ts'
import type { Row, Value } from '../connection.ts'
import { HELD_LIST } from '../count-statements.ts'

/** Of a task that asks nothing, as nearly all do. */
export const NO_ROWS: readonly Row[] = []

/** list, and where it stands there: the primary key; then the job. */
export function questionRows(job: Job, task: Task | null): readonly Row[] {
  if (task === null) return NO_ROWS
  if (isHeldTask(task)) {
    return [[HELD_LIST, 0, job.firstPosition, task.stage, task.segment, '', job.id]]
  }
  if (task.waiting === null) return NO_ROWS
  const rows = openQuestions(task).flatMap((question) => {
    const { since, position, stage, segment, name } = placeOf(question, task, job)
    return listsOf(question, job).map((list): Row => [
      list,
      since,
      position,
      stage,
      segment,
      name,
      job.id,
    ])
  })
  return rows.length === 0 ? NO_ROWS : rows
}

export function placeColumns({ since, position, stage, segment, name }: QuestionPlace): Value[] {
  return [since, position, stage, segment, name]
}

/** Of a row of `questions`. */
export function questionKey(row: Row): Row {
  return row.slice(0, 6)
}

/** What is to be deleted, and inserted, where these rows become those. */
export function changedQuestions(
  before: readonly Row[],
  after: readonly Row[],
): { readonly gone: readonly Row[]; readonly come: readonly Row[] } {
  if (before.length === 0) return { gone: NO_ROWS, come: after }
  const known = new Set(before.map((row) => JSON.stringify(questionKey(row))))
  const stays = new Set(after.map((row) => JSON.stringify(questionKey(row))))
  return {
    gone: before.map(questionKey).filter((key) => !stays.has(JSON.stringify(key))),
    come: after.filter((row) => !known.has(JSON.stringify(questionKey(row)))),
  }
}
