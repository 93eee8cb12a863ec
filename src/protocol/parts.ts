/**
 * Schemas that several operations have in common.
 */
import { LATEST_TIME_MS, LIMITS, PIPELINE_JOB_TRANSITIONS } from '../kernel/index.ts'
import type { JobState, TaskState } from '../kernel/index.ts'
import type { SchemaOf } from './schema.ts'
import {
  about,
  anything,
  choice,
  either,
  flag,
  list,
  nullable,
  object,
  open,
  text,
  whole,
} from './schema.ts'

/** How many a page has at most. */
export const MOST_PER_PAGE = 1_000
export const MOST_COMMANDS_PER_REQUEST = 1_000
export const LONGEST_POLL_WAIT_MS = 60_000

export const name = text(LIMITS.nameChars, 1)
export const key = text(LIMITS.keyChars, 1)
export const job = about('The id of the job.', name)
export const time = about('Milliseconds since 1970.', whole(0, LATEST_TIME_MS))
const JOB_STATES = Object.keys(PIPELINE_JOB_TRANSITIONS) as JobState[]
export const state = choice(...JOB_STATES)
export const stateOrAll = choice(...JOB_STATES, 'ALL')
export const after = about('`next` of the page before.', whole(0))
export const limit = about('How many at most.', whole(1, MOST_PER_PAGE))
export const task = { job, stage: whole(0), segment: whole(0) }
export const waitMs = about(
  'How long the answer may be held until there is something to say. Default 0.',
  whole(0, LONGEST_POLL_WAIT_MS),
)

export const TASK_STATES = [
  'WAITING',
  'LEASED',
  'COMPLETED',
  'FAILED',
  'DEAD',
] as const satisfies readonly TaskState[]

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

const ms = whole(0, LIMITS.delayMs)
export const durationOrMs = either(duration, ms)
export const nextPage = about(
  'Give it as `after` to go on; null: there is no more.',
  nullable(whole(0)),
)
export const MOST_LISTED = 100_000
/** Of a job that was submitted, or of a schedule: when, where and how often its jobs are tried. */
export const policy = {
  lease: about(
    'Default 30 s. Not of a type that the server has a definition of; so the next two.',
    durationOrMs,
  ),
  timeout: durationOrMs,
  retry: object({}, { max: whole(0, LIMITS.retries), delay: durationOrMs, cap: durationOrMs }),
}
export const rate = about(
  'No more than so many jobs in a period. Default: as quickly as the store takes them.',
  object({ count: whole(1, LIMITS.rateCount), per: durationOrMs }),
)
/** What became of many jobs. */
const reportFields = {
  matched: about('Jobs that are meant.', whole(0)),
  done: about('Of these: those that it was done to, or would be.', whole(0)),
  left: about('Of these: left as they were.', whole(0)),
  problems: list(object({ id: name, why: text(LIMITS.errorChars * 2) }), MOST_PER_PAGE),
  samples: list(name, MOST_PER_PAGE),
  isComplete: about('False: it was stopped. There may be more.', flag()),
}
export const bulkReport = object(reportFields)
/** How far it is, or the whole. */
export const bulkEvent = object({
  ...reportFields,
  isLast: about(
    'This is the whole report. Events that end without it were cut: not all was done.',
    flag(),
  ),
})
const counted = whole(0)
/** How many jobs are in each state. */
export const stateCounts = object(
  Object.fromEntries(Object.keys(PIPELINE_JOB_TRANSITIONS).map((one) => [one, counted])),
)

/** False is refused by the engine: no list is kept of jobs without. */
export const heldEffects = about(
  'Only jobs with an effect whose outcome a person has to say.',
  flag() as SchemaOf<true>,
)

/** Which jobs, as they are now. */
export const jobFilter = {
  type: name,
  state,
  queue: about('Of a plain job, or of any stage of a pipeline.', name),
  tag: name,
  group: name,
  key,
  worker: about('That has the job now.', name),
  error: about('The fingerprint of what jobs failed of.', name),
  heldEffects,
  submittedFrom: time,
  submittedBefore: time,
  completedFrom: time,
  completedBefore: time,
}
export const pastFilter = { type: name, state, queue: name, tag: name, group: name, key }
export const pastMoment = {
  time: about("Milliseconds since 1970, of the store's clock.", time),
  position: about('Of an entry, as a history shows it.', whole(0)),
}

export const EXAMPLE_JOB = '019a92f3-5c1e-7d5a-8f0e-3b6d2f1a9c44'
export const EXAMPLE_DATE = '2026-11-18T15:00:00.000Z'
export const EXAMPLE_ACTOR = { by: 'ada', reason: 'asked by the customer' }
export const EXAMPLE_REPORT = {
  matched: 3,
  done: 3,
  left: 0,
  problems: [],
  samples: [EXAMPLE_JOB],
  isComplete: true,
}
export const EXAMPLE_COUNTS = {
  total: 1,
  states: {
    ...Object.fromEntries(Object.keys(PIPELINE_JOB_TRANSITIONS).map((one) => [one, 0])),
    QUEUED: 1,
  },
}

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

/** Beside properties of users: their texts. */
export const exact = about(
  'The JSON of these properties as it is recorded, each a text, where JavaScript would change a number in it. Left out: there is none.',
  open({}),
)

export const streamItem = open(
  { offset: whole(0), value: anything(), attempt: whole(1), at: date },
  { exact },
)

/** As the type of this name in `pawl/store`. */
export function typeOfStore<T>(typeName: string): ReturnType<typeof anything<T>> {
  return about(`As the type \`${typeName}\` of \`pawl/store\`.`, anything<T>())
}

/** Of a list of jobs. */
export const EXAMPLE_LISTED = {
  id: EXAMPLE_JOB,
  type: 'mail',
  state: 'QUEUED',
  queue: 'default',
  priority: 0,
  tags: [],
  attempt: 0,
  submittedAt: EXAMPLE_DATE,
  completedAt: null,
  error: null,
} as const
