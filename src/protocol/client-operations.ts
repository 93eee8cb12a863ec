/**
 * The operations of clients and operators, in their words: jobs, queues, schedules, workers and the quarantine. The
 * command line and other languages have the same.
 */
import { LIMITS } from '../kernel/index.ts'
import { operation } from './operation.ts'
import {
  actor,
  after,
  choiceOfTask,
  date,
  done,
  duration,
  failure,
  job,
  key,
  limit,
  listedJob,
  MOST_PER_PAGE,
  name,
  state,
  time,
} from './parts.ts'
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
import { EXAMPLE_JOB } from './store-operations.ts'

const MOST_LISTED = 100_000
const ms = whole(0, LIMITS.delayMs)
const durationOrMs = either(duration, ms)
const nextPage = about('Give it as `after` to go on; null: there is no more.', nullable(whole(0)))
const JOB = { job: EXAMPLE_JOB }
const AT = '2026-11-18T15:00:00.000Z'
const LISTED = {
  id: EXAMPLE_JOB,
  type: 'mail',
  state: 'QUEUED',
  queue: 'default',
  priority: 0,
  tags: [],
  attempt: 0,
  submittedAt: AT,
  completedAt: null,
  error: null,
} as const

/** How jobs that a definition on the server says nothing of are tried. */
const policy = {
  lease: about(
    'Default 30 s. Not of a type that the server has a definition of; so the next two.',
    durationOrMs,
  ),
  timeout: durationOrMs,
  retry: object({}, { max: whole(0, LIMITS.retries), delay: durationOrMs, cap: durationOrMs }),
}

const ASKED_OF_JOB = { by: 'ada', reason: 'asked by the customer' }

const JOB_OPERATIONS = {
  'jobs.submit': operation({
    path: '/v1/jobs',
    roles: ['submit'],
    says: 'Submits a job: it is durable when this answers. With the same id or key again, it is the same job.',
    changes: 'There is a new job.',
    input: object(
      { type: name },
      {
        input: about('Any JSON value. Default null.', anything()),
        id: name,
        key,
        unique: flag(),
        replace: flag(),
        queue: name,
        priority: whole(-LIMITS.priority, LIMITS.priority),
        delay: durationOrMs,
        at: time,
        startWithin: durationOrMs,
        deadline: durationOrMs,
        group: name,
        tags: list(name, LIMITS.tags),
        metadata: anything(),
        hold: flag(),
        retention: durationOrMs,
        version: about('Of the definition that the input is of. Default 1.', whole(1)),
        ...policy,
      },
    ),
    output: object({ job }),
    errors: [
      'InvalidDefinition',
      'InvalidValue',
      'UnserializableValue',
      'QueueFull',
      'KeyReused',
      'IdReused',
      'JobBegun',
    ],
    example: {
      input: { type: 'mail', input: { to: 'ada@example.com' }, key: 'welcome-7' },
      output: JOB,
    },
  }),
  'jobs.list': operation({
    path: '/v1/jobs',
    roles: ['read', 'operate'],
    says: 'Jobs in order of submission, page by page.',
    input: object(
      {},
      { type: name, state, queue: name, tag: name, group: name, key, after, limit },
    ),
    output: object({ jobs: list(listedJob, MOST_PER_PAGE), next: nextPage }),
    example: { input: { state: 'QUEUED', limit: 1 }, output: { jobs: [LISTED], next: null } },
  }),
  'jobs.show': operation({
    path: '/v1/jobs/{job}',
    roles: ['read', 'operate', 'submit'],
    says: 'A job: what was asked for, where it stands, and what came of it.',
    input: object({ job }),
    output: open({
      id: name,
      type: name,
      state,
      attempt: whole(0),
      submittedAt: date,
      completedAt: nullable(date),
      error: failure,
    }),
    errors: ['UnknownJob'],
    example: { input: JOB, output: LISTED },
  }),
  'jobs.history': operation({
    path: '/v1/jobs/{job}/history',
    roles: ['read', 'operate'],
    says: 'Everything that happened to a job, oldest first: what, when, who and why.',
    input: object({ job }, { after, limit }),
    output: object({
      items: list(
        open({ position: whole(0), at: date, type: name, by: text(LIMITS.nameChars) }),
        2 * MOST_PER_PAGE,
      ),
    }),
    errors: ['UnknownJob'],
    example: {
      input: { ...JOB, limit: 1 },
      output: { items: [{ position: 1, at: AT, type: 'JobSubmitted', by: 'client' }] },
    },
  }),
  'jobs.explain': operation({
    path: '/v1/jobs/{job}/explain',
    roles: ['read', 'operate'],
    says: 'Why a job is not running: every reason that holds now, and what would help.',
    input: object({ job }),
    output: open({
      job,
      state,
      isRunnable: flag(),
      reasons: list(open({ message: text(LIMITS.errorChars) }), MOST_PER_PAGE),
    }),
    errors: ['UnknownJob'],
    example: {
      input: JOB,
      output: { ...JOB, state: 'QUEUED', isRunnable: true, reasons: [{ message: 'It is next.' }] },
    },
  }),
  'jobs.cancel': operation({
    path: '/v1/jobs/{job}/cancel',
    roles: ['operate'],
    says: 'Cancels a job.',
    changes: 'The job is cancelled; a handler that runs is told.',
    input: object({ job }, actor),
    output: done,
    errors: ['UnknownJob', 'NothingToCancel'],
    example: { input: { ...JOB, ...ASKED_OF_JOB }, output: {} },
  }),
  'jobs.release': operation({
    path: '/v1/jobs/{job}/release',
    roles: ['operate', 'submit'],
    says: 'Lets a job go that was submitted with `hold`.',
    changes: 'The job can be claimed.',
    input: object({ job }, actor),
    output: done,
    errors: ['UnknownJob', 'InvalidTransition'],
    example: { input: JOB, output: {} },
  }),
  'jobs.retry': operation({
    path: '/v1/jobs/{job}/retry',
    roles: ['operate'],
    says: 'Gives a job in quarantine a fresh budget, and a new input if there is one.',
    changes: 'The job is tried again.',
    input: object({ job }, { ...actor, ...choiceOfTask, input: anything() }),
    output: done,
    errors: ['UnknownJob', 'TaskNotDead', 'TaskChanged', 'InvalidDefinition', 'InvalidValue'],
    example: { input: { ...JOB, ...ASKED_OF_JOB }, output: {} },
  }),
  'jobs.discard': operation({
    path: '/v1/jobs/{job}/discard',
    roles: ['operate'],
    says: 'Gives up a job in quarantine for good, or one task of it.',
    changes: 'The job FAILED.',
    input: object({ job }, { ...actor, ...choiceOfTask }),
    output: done,
    errors: ['UnknownJob', 'TaskNotDead', 'TaskChanged', 'InvalidDefinition'],
    example: { input: { ...JOB, ...ASKED_OF_JOB }, output: {} },
  }),
  'jobs.revoke': operation({
    path: '/v1/jobs/{job}/revoke',
    roles: ['operate'],
    says: 'Takes the lease from the worker that has the job.',
    changes: 'The job is tried again at once; its handler is told.',
    input: object({ job }, { ...actor, ...choiceOfTask }),
    output: done,
    errors: ['UnknownJob', 'LeaseNotHeld', 'TaskChanged', 'InvalidDefinition'],
    example: { input: JOB, output: {} },
  }),
  'jobs.force': operation({
    path: '/v1/jobs/{job}/force',
    roles: ['operate'],
    says: 'Sets the state of a job, whatever its workers report.',
    changes: 'The job has that state.',
    input: object(
      { job, to: choice('SUCCEEDED', 'FAILED', 'QUEUED') },
      { ...actor, ...choiceOfTask, output: anything() },
    ),
    output: done,
    errors: ['UnknownJob', 'InvalidTransition', 'TaskFinal', 'TaskChanged', 'InvalidDefinition'],
    example: { input: { ...JOB, to: 'FAILED' }, output: {} },
  }),
  'jobs.rerun': operation({
    path: '/v1/jobs/{job}/rerun',
    roles: ['operate'],
    says: 'Runs a job that is over again, as a new job.',
    changes: 'There is a new job, which points to the old one.',
    input: object(
      { job },
      { ...actor, id: name, from: name, effects: choice('again'), input: anything() },
    ),
    output: object({ job }),
    errors: [
      'UnknownJob',
      'JobNotFinal',
      'InvalidDefinition',
      'InvalidValue',
      'JobWasErased',
      'IdReused',
    ],
    example: { input: JOB, output: JOB },
  }),
  'jobs.reschedule': operation({
    path: '/v1/jobs/{job}/reschedule',
    roles: ['operate'],
    says: 'Gives a job that waits another due time, priority or queue.',
    changes: 'The job is due then, or stands in that queue.',
    input: object(
      { job },
      {
        ...actor,
        ...choiceOfTask,
        delay: durationOrMs,
        at: time,
        priority: whole(-LIMITS.priority, LIMITS.priority),
        queue: name,
      },
    ),
    output: done,
    errors: ['UnknownJob', 'TaskNotWaiting', 'TaskChanged', 'InvalidDefinition'],
    example: { input: { ...JOB, delay: '5m' }, output: {} },
  }),
}

const OTHER_OPERATIONS = {
  'queues.show': operation({
    path: '/v1/queues/{queue}',
    roles: ['read', 'operate'],
    says: 'A queue: whether it is paused, its bounds, and how many jobs wait.',
    input: object({ queue: name }),
    output: open({ name, pausedAt: nullable(date), ready: whole(0) }),
    example: { input: { queue: 'mail' }, output: { name: 'mail', pausedAt: null, ready: 0 } },
  }),
  'queues.pause': operation({
    path: '/v1/queues/{queue}/pause',
    roles: ['operate'],
    says: 'Nothing more of the queue is handed out. What runs goes on.',
    changes: 'The queue is paused.',
    input: object({ queue: name }, actor),
    output: done,
    example: { input: { queue: 'mail', ...ASKED_OF_JOB }, output: {} },
  }),
  'queues.resume': operation({
    path: '/v1/queues/{queue}/resume',
    roles: ['operate'],
    says: 'Hands out jobs of the queue again.',
    changes: 'The queue is not paused.',
    input: object({ queue: name }, actor),
    output: done,
    example: { input: { queue: 'mail' }, output: {} },
  }),
  'queues.configure': operation({
    path: '/v1/queues/{queue}/configure',
    roles: ['operate'],
    says: 'Says what holds for the queue from now on, as a whole: what is left out has no bound.',
    changes: 'The queue has these bounds.',
    input: object(
      { queue: name },
      {
        ...actor,
        concurrency: nullable(whole(0, LIMITS.concurrency)),
        rate: nullable(object({ count: whole(1, LIMITS.rateCount), per: durationOrMs })),
        ageing: nullable(durationOrMs),
      },
    ),
    output: done,
    errors: ['InvalidDefinition'],
    example: { input: { queue: 'mail', concurrency: 5 }, output: {} },
  }),
  'schedules.list': operation({
    path: '/v1/schedules',
    roles: ['read', 'operate'],
    says: 'All schedules that are set.',
    input: object({}),
    output: object({
      schedules: list(
        open({ id: name, type: nullable(name), nextTime: nullable(date) }),
        MOST_LISTED,
      ),
    }),
    example: {
      input: {},
      output: { schedules: [{ id: 'nightly', type: 'report', nextTime: AT }] },
    },
  }),
  'schedules.remove': operation({
    path: '/v1/schedules/{schedule}/remove',
    roles: ['operate'],
    says: 'Removes a schedule. Jobs that it made stay.',
    changes: 'The schedule is gone.',
    input: object({ schedule: name }, actor),
    output: done,
    errors: ['UnknownSchedule'],
    example: { input: { schedule: 'nightly' }, output: {} },
  }),
  'schedules.pause': operation({
    path: '/v1/schedules/{schedule}/pause',
    roles: ['operate'],
    says: 'Pauses a schedule: it makes no jobs.',
    changes: 'The schedule is paused.',
    input: object({ schedule: name }, actor),
    output: done,
    errors: ['UnknownSchedule', 'UnreadableSchedule'],
    example: { input: { schedule: 'nightly' }, output: {} },
  }),
  'schedules.resume': operation({
    path: '/v1/schedules/{schedule}/resume',
    roles: ['operate'],
    says: 'Resumes a schedule that was paused.',
    changes: 'The schedule makes jobs again.',
    input: object({ schedule: name }, actor),
    output: done,
    errors: ['UnknownSchedule', 'UnreadableSchedule'],
    example: { input: { schedule: 'nightly' }, output: {} },
  }),
  'workers.list': operation({
    path: '/v1/workers',
    roles: ['read', 'operate'],
    says: 'The workers of all processes, as they said of themselves in the last seconds.',
    input: object({}),
    output: object({
      workers: list(open({ id: name, host: text(LIMITS.nameChars), free: whole(0) }), MOST_LISTED),
    }),
    example: { input: {}, output: { workers: [{ id: 'w-1', host: 'app-3', free: 4 }] } },
  }),
  'quarantine.list': operation({
    path: '/v1/quarantine',
    roles: ['read', 'operate'],
    says: 'Jobs that were given up and wait for a person, in order of submission.',
    input: object(
      {},
      {
        type: name,
        queue: name,
        tag: name,
        group: name,
        code: name,
        fingerprint: name,
        after,
        limit,
      },
    ),
    output: object({
      jobs: list(open({ id: name, type: name, code: text(LIMITS.nameChars) }), MOST_PER_PAGE),
      next: nextPage,
    }),
    example: {
      input: { limit: 10 },
      output: { jobs: [{ id: EXAMPLE_JOB, type: 'mail', code: 'ECONNREFUSED' }], next: null },
    },
  }),
  'quarantine.groups': operation({
    path: '/v1/quarantine/groups',
    roles: ['read', 'operate'],
    says: 'What went wrong, the most frequent first: jobs of one type that failed alike.',
    input: object({}, { type: name, queue: name, tag: name, group: name, code: name }),
    output: object({
      groups: list(open({ fingerprint: name, type: name, count: whole(1) }), MOST_LISTED),
    }),
    example: {
      input: {},
      output: { groups: [{ fingerprint: '7d0f', type: 'mail', count: 3 }] },
    },
  }),
  health: operation({
    path: '/v1/health',
    roles: ['read', 'operate'],
    says: 'Whether all is well: what is broken, stalled, or waits without a worker.',
    input: object({}),
    output: open({ isWell: flag() }),
    example: { input: {}, output: { isWell: true } },
  }),
  metrics: operation({
    path: '/v1/metrics',
    roles: ['read', 'operate'],
    says: 'Counters and timings since the engine was opened.',
    input: object({}),
    output: open({}),
    example: { input: {}, output: { leases: 0, quarantined: 0 } },
  }),
  healthz: operation({
    path: '/healthz',
    roles: [],
    says: 'Whether the process answers. Needs no token, and says nothing else.',
    input: object({}),
    output: object({ status: choice('ok') }),
    example: { input: {}, output: { status: 'ok' } },
  }),
  readyz: operation({
    path: '/readyz',
    roles: [],
    says: 'Whether the store answers. Needs no token, and says nothing else.',
    input: object({}),
    output: object({ status: choice('ready') }),
    errors: ['NotReady'],
    example: { input: {}, output: { status: 'ready' } },
  }),
  openapi: operation({
    path: '/v1/openapi.json',
    roles: ['submit', 'work', 'read', 'operate'],
    says: 'This catalogue as an OpenAPI 3.1 document.',
    input: object({}),
    output: open({ openapi: text(10) }),
    example: { input: {}, output: { openapi: '3.1.0' } },
  }),
}

export const CLIENT_OPERATIONS = { ...JOB_OPERATIONS, ...OTHER_OPERATIONS }
