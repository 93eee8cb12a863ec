/**
 * Pages of the questions that wait for people: what is asked, of which task, and where the next page begins.
 */
import type { Job, Task } from '../../kernel/index.ts'
import { findTask } from '../../kernel/index.ts'
import { BadRequest } from '../errors.ts'
import type { QuestionsPage, QuestionSummary } from '../read-model.ts'
import type { Ledger } from '../state/ledger.ts'
import type { QuestionPlace } from '../state/open-questions.ts'
import { openQuestions } from '../state/open-questions.ts'
import type { QueryOf } from '../store.ts'

type QuestionsQuery = QueryOf<'questions'>

/** Null: it is not asked any more, its time is over, or the filter does not let it through. */
export function questionSummary(
  job: Job,
  task: Task,
  name: string,
  query: QuestionsQuery,
  now: number,
): QuestionSummary | null {
  const question = openQuestions(task).find((one) => one.name === name)
  if (question === undefined) return null
  const waits = question.waits.filter(({ until }) => until === null || now < until)
  if (waits.length === 0) return null
  const { type, submittedBy, stages } = job.spec
  const { for: who, type: wanted } = query
  if (who !== undefined && !question.for.includes(who)) return null
  if (wanted !== undefined && wanted !== type) return null
  const { stage, segment } = task
  const stageName = stages?.[stage]?.name ?? null
  return { job: job.id, type, stage, stageName, segment, name, waits, submittedBy }
}

export function questionsPage(ledger: Ledger, query: QuestionsQuery): QuestionsPage {
  const found: QuestionSummary[] = []
  const place = placeIn(query.after)
  if (query.limit < 1) return { questions: [], next: null }
  let looked = 0
  for (const row of ledger.questions.behind(query, place)) {
    const job = ledger.inMemory(row.job)
    const task = findTask(ledger.world, row.job, row.stage, row.segment)
    const summary =
      job === undefined || task === undefined
        ? null
        : questionSummary(job, task, row.name, query, ledger.now)
    if (summary !== null) found.push(summary)
    looked += 1
    if (looked === query.limit) return { questions: found, next: cursorOf(row) }
  }
  return { questions: found, next: null }
}

/** What a caller gives as `after` to go on behind it. */
export function cursorOf({ since, position, stage, segment, name }: QuestionPlace): string {
  return JSON.stringify([since, position, stage, segment, name])
}

/** Null: from the first one on. */
export function placeIn(cursor: string | undefined): QuestionPlace | null {
  if (cursor === undefined) return null
  const parts = partsOf(cursor)
  const [since, position, stage, segment, name] = parts
  if (
    parts.length !== 5 ||
    ![since, position, stage, segment].every(Number.isSafeInteger) ||
    typeof name !== 'string'
  ) {
    throw new BadRequest('`after` of the questions is not what `next` of a page says.')
  }
  return { since, position, stage, segment, name } as QuestionPlace
}

function partsOf(cursor: string): readonly unknown[] {
  try {
    const parts: unknown = JSON.parse(cursor)
    return Array.isArray(parts) ? parts : []
  } catch {
    return []
  }
}
