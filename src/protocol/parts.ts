/**
 * Schemas that several operations have in common.
 */
import { LATEST_TIME_MS, LIMITS, PIPELINE_JOB_TRANSITIONS } from '../kernel/index.ts'
import type { JobState } from '../kernel/index.ts'
import { about, anything, choice, list, nullable, object, open, text, whole } from './schema.ts'

/** How many a page has at most. */
export const MOST_PER_PAGE = 1_000
export const MOST_COMMANDS_PER_REQUEST = 1_000
export const LONGEST_POLL_WAIT_MS = 60_000

export const name = text(LIMITS.nameChars, 1)
export const key = text(LIMITS.keyChars, 1)
export const job = about('The id of the job.', name)
export const time = about('Milliseconds since 1970.', whole(0, LATEST_TIME_MS))
export const state = choice(...(Object.keys(PIPELINE_JOB_TRANSITIONS) as JobState[]))
export const after = about('`next` of the page before.', whole(0))
export const limit = about('How many at most.', whole(1, MOST_PER_PAGE))
export const task = { job, stage: whole(0), segment: whole(0) }
export const waitMs = about(
  'How long the answer may be held until there is something to say. Default 0.',
  whole(0, LONGEST_POLL_WAIT_MS),
)

/** Who asks, and why: kept in the log. */
export const actor = {
  by: about('Who asks. Default: the name of the token.', name),
  reason: text(LIMITS.reasonChars),
}
/** Which task of a job, and as it was seen at which attempt. */
export const choiceOfTask = {
  stage: about('The name of the stage, of a pipeline.', name),
  segment: whole(0),
  attempt: about('The attempt that was seen: at any other one it is refused.', whole(0)),
}
export const done = object({})
export const date = about('A time, as ISO 8601.', text(40))
export const failure = nullable(
  open({ code: text(LIMITS.nameChars), message: text(LIMITS.errorChars) }),
)
export const duration = about(
  "Milliseconds, or a text such as '30s', '5m', '2h', '7d'.",
  text(30, 1),
)

export const listedJob = open({
  id: name,
  type: name,
  state,
  queue: nullable(name),
  priority: whole(-LIMITS.priority, LIMITS.priority),
  tags: list(name, LIMITS.tags),
  attempt: whole(0),
  submittedAt: date,
  completedAt: nullable(date),
  error: failure,
})

/** As the type of this name in `pawl/store`. */
export function typeOfStore<T>(typeName: string): ReturnType<typeof anything<T>> {
  return about(`As the type \`${typeName}\` of \`pawl/store\`.`, anything<T>())
}
