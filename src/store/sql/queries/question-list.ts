/**
 * Pages of the questions that wait for people: the list that the filter means, in order, and the tasks that ask.
 */
import type { QuestionsPage } from '../../read-model.ts'
import type { QuestionPlace } from '../../state/open-questions.ts'
import { listOf } from '../../state/open-questions.ts'
import type { QueryOf } from '../../store.ts'
import { cursorOf, placeIn, questionSummary } from '../../views/question-pages.ts'
import type { Connection, Row } from '../connection.ts'
import { placeColumns } from '../rows/question-rows.ts'
import type { Statements } from '../statements.ts'
import type { JobQueries } from './job-queries.ts'

/** No question is asked since then. */
const BEFORE_ALL: QuestionPlace = { since: -1, position: 0, stage: 0, segment: 0, name: '' }

export async function questionsPage(
  { questionsBehind }: Statements,
  jobs: JobQueries,
  connection: Connection,
  query: QueryOf<'questions'>,
): Promise<QuestionsPage> {
  const place = placeColumns(placeIn(query.after) ?? BEFORE_ALL)
  const values = [listOf(query), ...place, Math.max(0, query.limit)]
  const [answered] = await connection.run([{ sql: questionsBehind, values }])
  const found = (answered?.rows ?? []).map(rowOf)
  const now = await jobs.now(connection)
  const tasks = await jobs.tasksAt(connection, found)
  const questions = found.flatMap(({ name, position }, i) => {
    const one = tasks[i] ?? null
    // The id may be another job's by now.
    if (one === null || one.job.firstPosition !== position) return []
    return questionSummary(one.job, one.task, name, query, now) ?? []
  })
  const last = found.at(-1)
  const isLast = last === undefined || found.length < query.limit
  return { questions, next: isLast ? null : cursorOf(last) }
}

interface FoundRow extends QuestionPlace {
  readonly job: string
}

function rowOf(row: Row): FoundRow {
  const [job, since, position, stage, segment, name] = row as readonly [
    string,
    number,
    number,
    number,
    number,
    string,
  ]
  return { job, since, position, stage, segment, name }
}
