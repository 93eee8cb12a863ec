/**
 * The operations that a store over HTTP is made of: commands, claims, news, the log as it grows, time travel and
 * presence. Workers in other languages use the first two.
 */
import { LIMITS } from '../kernel/index.ts'
import { operation } from './operation.ts'
import {
  done,
  EXAMPLE_JOB,
  job,
  key,
  MOST_COMMANDS_PER_REQUEST,
  name,
  state,
  time,
  typeOfStore,
  waitMs,
} from './parts.ts'
import { about, anything, either, flag, list, nullable, object, text, whole } from './schema.ts'

const MOST_CHANNELS = 1_000
const MOST_CLAIMED = 10_000
const MOST_REPORTS = 1_000
const REPORT_CHARS = 65_536
const PROCESS_CHARS = 1_048_576
const NEWS = ['work', 'ends', 'interrupts', 'upkeep', 'schedules']

const channel = object({ queue: name, type: name, stage: nullable(name) })
const moment = about(
  'A time, or the entry at a position.',
  either(object({ position: whole(0) }), object({ time })),
)
const filter = {
  type: name,
  state,
  queue: name,
  tag: name,
  group: name,
  key,
}
const session = about('Of the process: its leases carry it.', name)
/** What a person asks of a worker, with who and why. */
const asking = text(LIMITS.reasonChars * 8)
const asked = list(object({ worker: name, text: asking }), MOST_CLAIMED)
const report = object({ job, saidAt: time, text: text(REPORT_CHARS) })

/** The command line opens a store over HTTP like any other. */
const NO_COMMAND = { none: 'It is what a store over HTTP is made of.' }

const EXAMPLE_LEASE = { job: EXAMPLE_JOB, stage: 0, segment: 0, lease: 1, worker: 'py-1' }

export const STORE_OPERATIONS = {
  'store.info': operation({
    path: '/v1/store',
    roles: ['submit', 'work', 'read', 'operate'],
    scope: 'free',
    command: NO_COMMAND,
    says: 'Says which store this is, and what the protocol is.',
    input: object({}),
    output: object({ id: nullable(text(100)), protocol: whole(1), version: text(40), now: time }),
    example: {
      input: {},
      output: { id: '6d0f', protocol: 1, version: '0.1.0', now: 1_763_479_200_000 },
    },
  }),
  'store.execute': operation({
    path: '/v1/commands',
    roles: ['submit', 'work', 'operate'],
    scope: 'own',
    command: NO_COMMAND,
    says: 'Sends commands to the authority, in order; each gets an answer. Sending them again is safe.',
    changes: 'What the commands say. Each needs the role of its type.',
    input: object({
      commands: about(
        'Each as the kernel has it, with its `type`: see the model. A command of the wrong form is answered `rejected`.',
        list(anything(), MOST_COMMANDS_PER_REQUEST),
      ),
    }),
    output: object({
      answers: list(
        object({
          verdict: text(20),
          value: anything<string | number | null>(),
          rejection: anything(),
        }),
        MOST_COMMANDS_PER_REQUEST,
      ),
    }),
    errors: [
      'UnknownField',
      'DiskFull',
      'UnknownOutcome',
      'PartlyDone',
      'StoreClosed',
      'StoreEnded',
    ],
    example: {
      input: {
        commands: [
          { type: 'CommitExecution', ...EXAMPLE_LEASE, output: '{"sent":true}', effects: [] },
        ],
      },
      output: { answers: [{ verdict: 'committed', value: null, rejection: null }] },
    },
  }),
  'store.claim': operation({
    path: '/v1/claims',
    kind: 'poll',
    roles: ['work'],
    scope: 'own',
    command: NO_COMMAND,
    says: 'Claims tasks. The same worker and request number get the same leases again, as far as it still holds them.',
    changes: 'The tasks that it answers with are leased to the worker.',
    input: object(
      {
        worker: name,
        request: about('The worker counts its claims, from 1.', whole(0)),
        channels: list(channel, MOST_CHANNELS),
        max: whole(0, MOST_CLAIMED),
        started: about('The work begins at once.', flag()),
      },
      {
        ahead: whole(0, MOST_CLAIMED),
        suspects: flag(),
        lastChances: flag(),
        session: either(name, text(0)),
        isPoll: flag(),
        waitMs,
      },
    ),
    output: object({ claimed: list(typeOfStore('Claimed'), 2 * MOST_CLAIMED) }),
    errors: ['BadRequest', 'UnknownOutcome', 'StoreClosed', 'StoreEnded', 'TooManyOpen'],
    example: {
      input: {
        worker: 'py-1',
        request: 1,
        channels: [{ queue: 'default', type: 'mail', stage: null }],
        max: 1,
        started: true,
        waitMs: 20_000,
      },
      output: { claimed: [] },
    },
  }),
  'store.news': operation({
    method: 'POST',
    path: '/v1/news',
    kind: 'poll',
    roles: ['submit', 'work', 'read', 'operate'],
    scope: 'free',
    command: NO_COMMAND,
    says: 'Answers when something may have happened since a cursor: there may be work, ends of jobs, leases that were revoked.',
    input: object(
      { since: about('`cursor` of the answer before; null: all.', nullable(text(100))) },
      {
        waitMs,
        session: about('Of a process of workers: it lives as long as such a poll is open.', name),
      },
    ),
    output: object(
      { cursor: text(100), news: list(text(20), NEWS.length) },
      { asked: about('With `session`: what is asked of its workers, of each the newest.', asked) },
    ),
    errors: ['StoreClosed', 'TooManyOpen'],
    example: { input: { since: null, waitMs: 0 }, output: { cursor: 'a1.7', news: NEWS } },
  }),
  'store.watch': operation({
    path: '/v1/watch',
    kind: 'events',
    roles: ['read'],
    scope: 'own',
    command: { words: 'watch', summary: 'Print what happens, as it becomes durable' },
    says: 'Sends the entries of the log behind a position, and then each as it becomes durable. Goes on by `Last-Event-ID`.',
    input: object(
      {},
      {
        from: about('Behind this position. Default 0: all. Not together with `new`.', whole(0)),
        new: about('Only what becomes durable from now on.', flag()),
      },
    ),
    output: typeOfStore('Entry'),
    errors: ['NoSuchPosition', 'StoreClosed', 'TooManyOpen'],
    example: { input: { from: 0 }, output: { type: 'QueuePaused', queue: 'mail' } },
  }),
  'store.at.job': operation({
    method: 'POST',
    path: '/v1/at/job',
    roles: ['read'],
    scope: 'job',
    command: NO_COMMAND,
    says: 'A job as it was at a moment.',
    input: object({ moment, job }),
    output: object({ time, past: nullable(typeOfStore('PastJob')) }),
    errors: ['BeforeHistory', 'StoreClosed'],
    example: {
      input: { moment: { position: 12 }, job: EXAMPLE_JOB },
      output: { time: 1_763_479_200_000, past: null },
    },
  }),
  'store.at.jobs': operation({
    method: 'POST',
    path: '/v1/at/jobs',
    roles: ['read'],
    scope: 'filter',
    command: NO_COMMAND,
    says: 'Jobs as they were at a moment, in order of submission. A page costs as much as all before it.',
    input: object({ moment, skip: whole(0), limit: whole(1, MOST_CLAIMED) }, filter),
    output: object({
      time,
      jobs: list(typeOfStore('JobSummary'), MOST_CLAIMED),
      isAll: about('There are no more.', flag()),
    }),
    errors: ['BeforeHistory', 'StoreClosed'],
    example: {
      input: { moment: { position: 12 }, skip: 0, limit: 100 },
      output: { time: 1_763_479_200_000, jobs: [], isAll: true },
    },
  }),
  'store.compact': operation({
    path: '/v1/compact',
    roles: [],
    scope: 'none',
    command: { words: 'compact', summary: 'Remove the bytes of what was erased', asks: true },
    says: 'Removes the bytes of what was erased from the files of the store. It may take long.',
    changes: 'Nothing that was erased is in any file of the store.',
    input: object({}),
    output: done,
    errors: ['CompactionIncomplete', 'StoreClosed'],
    example: { input: {}, output: {} },
  }),
  'presence.say': operation({
    path: '/v1/presence/say',
    roles: ['work'],
    scope: 'own',
    command: NO_COMMAND,
    says: 'A process of workers says that it lives, and what its workers do.',
    changes:
      'Others see its workers. Once it is silent for the grace period, its leases are revoked.',
    input: object({
      session,
      text: about('As the engine writes it.', text(PROCESS_CHARS)),
      reports: list(report, MOST_REPORTS),
    }),
    output: object({ graceMs: whole(0), asked }),
    example: {
      input: { session: 'remote-7f0c', text: '', reports: [] },
      output: { graceMs: 10_000, asked: [] },
    },
  }),
  'presence.ask': operation({
    path: '/v1/presence/ask',
    roles: ['operate'],
    scope: 'none',
    command: NO_COMMAND,
    says: 'Asks something of a worker of a process, as `workers.drain` does.',
    changes:
      'The process is told within a second or two; what was asked of the worker before is not asked any more.',
    input: object({ process: name, worker: name, text: about('As the engine writes it.', asking) }),
    output: object({ isKnown: about('False: no such process is known.', flag()) }),
    example: {
      input: { process: 'remote-7f0c', worker: 'w-1', text: '{}' },
      output: { isKnown: true },
    },
  }),
  'presence.leave': operation({
    path: '/v1/presence/leave',
    roles: ['work'],
    scope: 'free',
    command: NO_COMMAND,
    says: 'A process of workers ends, and takes back what it said.',
    changes: 'Its session is over, and is not judged any more.',
    input: object({ session }),
    output: done,
    example: { input: { session: 'remote-7f0c' }, output: {} },
  }),
  'presence.heard': operation({
    path: '/v1/presence/heard',
    roles: ['read', 'work', 'operate'],
    scope: 'own',
    command: NO_COMMAND,
    says: 'What processes said of themselves lately.',
    input: object({}),
    output: object({
      processes: list(object({ name, heardAt: time, text: text(PROCESS_CHARS) }), MOST_CLAIMED),
    }),
    example: { input: {}, output: { processes: [] } },
  }),
  'presence.report': operation({
    path: '/v1/presence/reports/{job}',
    roles: ['read', 'work', 'submit'],
    scope: 'job',
    command: NO_COMMAND,
    says: 'What handlers said about a job last.',
    input: object({ job }),
    output: object({ report: nullable(report) }),
    example: { input: { job: EXAMPLE_JOB }, output: { report: null } },
  }),
  'presence.forget': operation({
    path: '/v1/presence/reports/{job}/forget',
    roles: [],
    scope: 'job',
    command: NO_COMMAND,
    says: 'Forgets what handlers said about a job, up to a time.',
    changes: 'What was said about the job is gone.',
    input: object({ job, until: time }),
    output: done,
    example: { input: { job: EXAMPLE_JOB, until: 1_763_479_200_000 }, output: {} },
  }),
}

export const MOST_PAYLOAD_CHARS = LIMITS.payloadChars
