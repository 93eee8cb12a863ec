/**
 * What a store can be asked, an operation for each kind of query. `query.<kind>` stands for the query of that kind: the
 * compiler says, in the store over HTTP, which one is missing.
 */
import { LIMITS } from '../kernel/index.ts'
import type { Role, ScopeRule } from './operation.ts'
import { operation } from './operation.ts'
import {
  EXAMPLE_JOB,
  job,
  key,
  name,
  state,
  task,
  TASK_STATES,
  time,
  typeOfStore,
} from './parts.ts'
import type { JsonSchema, NoProperties, ObjectOf } from './schema.ts'
import { choice, flag, list, object, text, whole } from './schema.ts'

const MOST_ASKED = 10_000
const limit = whole(0, 1_000_000)
const ALL: readonly Role[] = ['submit', 'work', 'read', 'operate']
const READ: readonly Role[] = ['read', 'operate']
const WORK: readonly Role[] = ['read', 'operate', 'work']

type AskedWith = Readonly<Record<string, JsonSchema>>

/** One query: what it is asked with, what it answers, and an example. */
function query<R extends AskedWith, O extends AskedWith = NoProperties>(
  kind: string,
  terms: {
    readonly says: string
    readonly roles: readonly Role[]
    readonly scope: ScopeRule
    readonly answer: string
    readonly required: R
    readonly optional?: O
    readonly example: readonly [input: ObjectOf<R, O>, answer: unknown]
  },
) {
  const { says, roles, scope, answer, required, optional, example } = terms
  return operation({
    method: 'POST',
    path: `/v1/query/${kind}`,
    roles,
    scope,
    says,
    input: object(required, optional),
    output: object({ answer: typeOfStore<unknown>(answer) }),
    errors: ['BadRequest', 'StoreClosed', 'StoreEnded'],
    example: { input: example[0], output: { answer: example[1] } },
    command: { none: 'The command line opens the store, and asks it itself.' },
  })
}

const filter = { type: name, queue: name, tag: name, group: name, after: whole(0) }
const ASKED = { job: EXAMPLE_JOB }

export const QUERY_OPERATIONS = {
  'query.job': query('job', {
    says: 'One job with its stages and tasks.',
    roles: READ,
    scope: 'job',
    answer: 'JobView',
    required: { job },
    example: [ASKED, null],
  }),
  'query.overview': query('overview', {
    says: 'One job, with its stages summed up.',
    roles: ALL,
    scope: 'job',
    answer: 'JobOverview',
    required: { job },
    example: [ASKED, null],
  }),
  'query.outcome': query('outcome', {
    says: 'How a job stands.',
    roles: ALL,
    scope: 'job',
    answer: 'Outcome',
    required: { job },
    example: [ASKED, null],
  }),
  'query.ended': query('ended', {
    says: 'Those of some jobs that are over, wait for an operator, or are not there.',
    roles: ALL,
    scope: 'own',
    answer: 'Ended[]',
    required: { jobs: list(job, MOST_ASKED) },
    example: [{ jobs: [EXAMPLE_JOB] }, []],
  }),
  'query.input': query('input', {
    says: 'What a job was submitted with.',
    roles: WORK,
    scope: 'job',
    answer: 'Payload',
    required: { job },
    example: [ASKED, null],
  }),
  'query.task': query('task', {
    says: 'One task.',
    roles: WORK,
    scope: 'job',
    answer: 'Task',
    required: task,
    example: [{ ...ASKED, stage: 0, segment: 0 }, null],
  }),
  'query.outputs': query('outputs', {
    says: 'What the segments of a stage put out, behind one of them.',
    roles: ALL,
    scope: 'job',
    answer: 'OutputsPage',
    required: { job, stage: whole(0), after: whole(-1), limit },
    example: [{ ...ASKED, stage: 0, after: -1, limit: 10 }, null],
  }),
  'query.segments': query('segments', {
    says: 'The segments of a stage, behind one of them, without what they were given and made.',
    roles: READ,
    scope: 'job',
    answer: 'SegmentsPage',
    required: { job, stage: name, after: whole(-1), limit },
    optional: { state: choice(...TASK_STATES) },
    example: [{ ...ASKED, stage: 'pages', after: -1, limit: 10 }, null],
  }),
  'query.jobs': query('jobs', {
    says: 'Jobs in order of submission, page by page.',
    roles: [...READ, 'submit'],
    scope: 'filter',
    answer: 'JobsPage',
    required: { limit },
    optional: {
      ...filter,
      state,
      key,
      worker: name,
      error: name,
      heldEffects: flag(),
      submittedFrom: time,
      submittedBefore: time,
      endedFrom: time,
      endedBefore: time,
      isRerun: flag(),
      newest: flag(),
    },
    example: [{ limit: 10 }, { jobs: [], next: null }],
  }),
  'query.counts': query('counts', {
    says: 'How many jobs are in each state, also by type, queue, tag or error.',
    roles: READ,
    scope: 'filter',
    answer: 'CountsAnswer',
    required: { limit },
    optional: {
      type: name,
      queue: name,
      tag: name,
      error: name,
      heldEffects: flag(),
      by: choice('type', 'queue', 'tag', 'error'),
      after: text(LIMITS.nameChars),
    },
    example: [
      { by: 'type', limit: 10 },
      { groups: [], next: null },
    ],
  }),
  'query.queues': query('queues', {
    says: 'Queues that were configured, or that jobs are in, in order of their names.',
    roles: READ,
    scope: 'none',
    answer: 'QueueSummary[]',
    required: {},
    example: [{}, []],
  }),
  'query.quarantine': query('quarantine', {
    says: 'Jobs in quarantine, in order of submission.',
    roles: READ,
    scope: 'filter',
    answer: 'QuarantinePage',
    required: { limit },
    optional: { ...filter, heldEffects: flag(), pipelines: flag(), jobs: list(job, MOST_ASKED) },
    example: [{ limit: 10 }, { jobs: [], next: null, now: 1_763_479_200_000 }],
  }),
  'query.questions': query('questions', {
    says: 'Questions that wait for people, the oldest first.',
    roles: [...READ, 'submit'],
    scope: 'filter',
    answer: 'QuestionsPage',
    required: { limit },
    optional: { for: name, type: name, job, after: text(LIMITS.keyChars * 4) },
    example: [
      { for: 'finance', limit: 10 },
      { questions: [], next: null },
    ],
  }),
  'query.history': query('history', {
    says: 'The entries of a job and its tasks.',
    roles: WORK,
    scope: 'job',
    answer: 'PositionedEntry[]',
    required: { job, limit },
    optional: { after: whole(0), newest: flag() },
    example: [{ ...ASKED, limit: 10 }, []],
  }),
  'query.entries': query('entries', {
    says: 'Entries of the whole log behind a position and up to one, where no entry has to stand: the first, or the newest of them. On PostgreSQL the first end where an earlier one may still come.',
    roles: READ,
    scope: 'none',
    answer: 'PositionedEntry[]',
    required: { after: whole(0), through: whole(0), limit },
    optional: { newest: flag() },
    example: [{ after: 0, through: 12, limit: 10 }, []],
  }),
  'query.stream': query('stream', {
    says: 'Values of a stream of a task, from an offset on.',
    roles: ALL,
    scope: 'job',
    answer: 'StreamPage',
    required: { ...task, name, from: whole(0), limit },
    example: [{ ...ASKED, stage: 0, segment: 0, name: 'log', from: 0, limit: 10 }, null],
  }),
  'query.queue': query('queue', {
    says: 'A queue, and what is used of its limits.',
    roles: [...READ, 'submit'],
    scope: 'queue',
    answer: 'QueueView',
    required: { queue: name },
    example: [{ queue: 'mail' }, { ready: 0 }],
  }),
  'query.limit': query('limit', {
    says: 'What is used of a limit that tasks declare.',
    roles: READ,
    scope: 'none',
    answer: 'LimitView',
    required: { key },
    example: [{ key: 'tenant-7' }, { held: 0 }],
  }),
  'query.limits': query('limits', {
    says: 'Limits of which something is used now, in order of their keys.',
    roles: READ,
    scope: 'none',
    answer: 'LimitsPage',
    required: { limit },
    optional: { prefix: text(LIMITS.keyChars), after: text(LIMITS.keyChars) },
    example: [{ limit: 10 }, { limits: [], next: null }],
  }),
  'query.session-leases': query('session-leases', {
    says: 'Every lease that is held by a process with a session.',
    roles: [],
    scope: 'none',
    answer: 'SessionLease[]',
    required: {},
    example: [{}, []],
  }),
  'query.worker-leases': query('worker-leases', {
    says: 'What a worker holds.',
    roles: WORK,
    scope: 'none',
    answer: 'WorkerView',
    required: { worker: name },
    example: [{ worker: 'py-1' }, { worker: 'py-1', held: 0, holders: [] }],
  }),
  'query.schedule': query('schedule', {
    says: 'A schedule.',
    roles: READ,
    scope: 'none',
    answer: 'Schedule',
    required: { schedule: name },
    example: [{ schedule: 'nightly' }, null],
  }),
  'query.schedules': query('schedules', {
    says: 'Schedules, in order of their ids.',
    roles: READ,
    scope: 'none',
    answer: 'Schedule[]',
    required: { limit },
    optional: { after: name, ids: list(name, MOST_ASKED) },
    example: [{ limit: 10 }, []],
  }),
  'query.metrics': query('metrics', {
    says: 'Counters and timings of every transition since the store was opened.',
    roles: READ,
    scope: 'none',
    answer: 'Metrics',
    required: {},
    example: [{}, { leases: 0, quarantined: 0, heldEffects: 0 }],
  }),
  'query.examination': query('examination', {
    says: 'Examines the next few jobs: whether their invariants hold, and which wait for long.',
    roles: READ,
    scope: 'none',
    answer: 'Examined',
    required: { limit, waitedMs: whole(0) },
    example: [{ limit: 100, waitedMs: 600_000 }, { looked: 0 }],
  }),
  'query.upkeep': query('upkeep', {
    says: 'The commands that time or the orchestrator should send now. A server sends them itself.',
    roles: [],
    scope: 'none',
    answer: 'Command[]',
    required: { limit },
    optional: { forgets: flag() },
    example: [{ limit: 10 }, []],
  }),
}
