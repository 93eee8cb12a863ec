/**
 * The story that a golden directory tells: every type of entry, most fields of every record,
 * text of every kind, jobs in files of finished ones, and two checkpoints in the middle.
 *
 * A change here changes the bytes of the golden directory: its README says when that is allowed.
 */
import type { Command, EffectPromise, JobSpec, WaitSpec } from '../../src/kernel/index.ts'
import { calleeId, childId, tickId } from '../../src/kernel/index.ts'
import {
  call,
  caller,
  child,
  failure,
  pipeline,
  plain,
  promise,
  retry,
  stage,
} from '../support/specs.ts'

/** One call of a store: commands that are decided together, a checkpoint, or time that passes. */
export type Step =
  | { readonly kind: 'execute'; readonly commands: readonly Command[] }
  | { readonly kind: 'checkpoint' }
  | { readonly kind: 'wait'; readonly ms: number }

export const BEGIN = 1_700_000_000_000
const TICK = 1_700_000_060_000
const HOUR = 3_600_000
const DAY = 24 * HOUR

const execute = (...commands: Command[]): Step => ({ kind: 'execute', commands })
const wait = (ms: number): Step => ({ kind: 'wait', ms })
const CHECKPOINT: Step = { kind: 'checkpoint' }

const onRecord = { by: 'Zoë', reason: 'zu spät' }
const submit = (job: string, spec: JobSpec): Command => ({ type: 'SubmitJob', job, spec })
const grant = (job: string, request: number, started = true, segment = 0): Command => ({
  type: 'GrantLease',
  job,
  stage: 0,
  segment,
  worker: 'w1',
  request,
  started,
})
const under = (job: string, lease: number, segment = 0) =>
  ({ job, stage: 0, segment, lease, worker: 'w1' }) as const
const commit = (
  job: string,
  lease: number,
  output: string,
  effects: readonly EffectPromise[] = [],
): Command => ({ type: 'CommitExecution', ...under(job, lease), output, effects })

/** From its submission to its end, in one group. */
const whole = (job: string, input: string): Step =>
  execute(
    submit(job, plain({ input, key: `key of ${job}` })),
    grant(job, 1),
    commit(job, 1, '"done"'),
  )

const EVERYTHING = plain(
  {
    type: 'Überweisung',
    input: '{"to":"日本","sum":12.5}',
    priority: -7,
    delayMs: 1_500,
    startWithinMs: HOUR,
    key: 'ключ',
    unique: true,
    held: true,
    group: 'customers',
    tags: ['vip', 'nächtlich'],
  },
  {
    queue: 'mail',
    leaseMs: 60_000,
    timeoutMs: 120_000,
    retry: retry({ max: 5, backoff: 'list', delaysMs: [10, 200, 3_000], capMs: HOUR / 2 }),
    limits: [
      { key: 'api', concurrency: 2, rate: { count: 3, perMs: 60_000 } },
      { key: 'tenant-7', concurrency: null, rate: null },
    ],
  },
)

const AGAIN = { rerunOf: 'failed', asked: { by: 'Zoë', reason: 'the disk is whole again' } }
const AGAIN_STAGES = { rerunOf: 'failed', asked: { by: 'w', reason: '' } }

/** Jobs that are run again: one that is over, one that goes on, a pipeline, and a child. */
const RERUNS: readonly Step[] = [
  execute(
    submit('again and over', plain(AGAIN)),
    { type: 'CancelJob', job: 'again and over', by: 'Zoë', reason: 'it was not' },
    submit('again', plain({ ...AGAIN, retainMs: 0, version: 2 })),
    grant('again', 4),
    commit('again', 1, '1', [child(plain({ type: 'child of one run again', ...AGAIN }))]),
  ),
  execute(submit('stages again', pipeline([stage('one')], AGAIN_STAGES))),
]

/** Jobs that say how long they are kept: one that is over, one that is not, and a child. */
const RETENTION: readonly Step[] = [
  execute(
    submit('kept', plain({ retainMs: 90 * DAY })),
    grant('kept', 3),
    commit('kept', 1, '"for a quarter"'),
  ),
  execute(submit('kept not at all', plain({ retainMs: 0, dueAt: 4_000_000_000_000 }))),
  execute(
    submit('promises a kept one', plain()),
    grant('promises a kept one', 4),
    commit('promises a kept one', 1, 'null', [
      child(plain({ type: 'kept child', retainMs: 7 * DAY })),
    ]),
    { type: 'ReleaseLease', ...under('promises a kept one', 1) },
  ),
]

const ageing = (queue: string, ageingMs: number | null, bounds = {}): Step =>
  execute({
    type: 'ConfigureQueue',
    queue,
    concurrency: null,
    rate: null,
    ageingMs,
    ...bounds,
    by: 'Zoë',
    reason: '',
  })

/** A queue that ages, one that does no more, and work of a group that came back. */
const AGEING: readonly Step[] = [
  ageing('ages', 600_000, { concurrency: 3, rate: { count: 2, perMs: 1_000 } }),
  ageing('young again', 1),
  ageing('young again', null),
  execute(submit('came back', plain({ group: 'a' }, { queue: 'ages' }))),
  execute(grant('came back', 2)),
  execute({ type: 'ReleaseLease', ...under('came back', 1) }),
]

const OF_VERSION_300 = plain({ type: 'child of a version', version: 300 })
const PARENT_OF_300 = { job: 'of version 2', stage: 0, segment: 0, effect: 0 }

/** Jobs of a later version of their definition: one that is over, one that goes on, and a child. */
const VERSIONS: readonly Step[] = [
  execute(submit('of version 2', plain({ version: 2, tags: ['new'] }))),
  execute(
    submit(
      'of the last version',
      pipeline([stage('one', { version: 4 })], { version: Number.MAX_SAFE_INTEGER }),
    ),
  ),
  execute(grant('of version 2', 1)),
  execute(
    commit('of version 2', 1, '1', [
      promise({ name: 'child', idempotent: true, child: OF_VERSION_300 }),
    ]),
  ),
  execute({ type: 'StartEffect', ...under('of version 2', 1), effect: 0 }),
  execute(submit(childId(PARENT_OF_300), { ...OF_VERSION_300, parent: PARENT_OF_300 })),
  execute({ type: 'FinishEffect', ...under('of version 2', 1), effect: 0 }),
]

const QUEUES_AND_SCHEDULES: readonly Step[] = [
  execute({
    type: 'ConfigureQueue',
    queue: 'mail',
    concurrency: 5,
    rate: { count: 10, perMs: 60_000 },
    ageingMs: null,
    ...onRecord,
  }),
  execute({ type: 'PauseQueue', queue: 'mail', ...onRecord }),
  execute({ type: 'ResumeQueue', queue: 'mail', by: 'Zoë', reason: '' }),
  execute({
    type: 'ConfigureQueue',
    queue: 'slow',
    concurrency: 1,
    rate: null,
    ageingMs: null,
    ...onRecord,
  }),
  execute({ type: 'PauseQueue', queue: 'slow', ...onRecord }),
  execute({
    type: 'SetSchedule',
    schedule: 'nightly',
    definition: '{"every":"día"}',
    seen: null,
    ...onRecord,
  }),
  execute({ type: 'SetSchedule', schedule: 'brief', definition: 'once', seen: null, ...onRecord }),
  wait(60_000),
  execute(submit(tickId('nightly', TICK), plain({ schedule: { id: 'nightly', tick: TICK } }))),
  execute({ type: 'FireSchedule', schedule: 'nightly', tick: TICK, skipped: false }),
  execute({ type: 'FireSchedule', schedule: 'nightly', tick: TICK + 1, skipped: true }),
  execute({ type: 'RemoveSchedule', schedule: 'brief', ...onRecord }),
]

const CHILD = plain({ type: 'child' })
const again = promise({ name: 'charge', retry: retry({ delayMs: 0, max: 4, jitter: 0.25 }) })
const PARENT = { job: 'a', stage: 0, segment: 0, effect: 2 }

/** A job that has nearly everything happen to it. */
const ONE_JOB: readonly Step[] = [
  execute(submit('a', EVERYTHING)),
  execute({ type: 'ReleaseJob', job: 'a', ...onRecord }),
  wait(2_000),
  execute(grant('a', 1, false)),
  execute({ type: 'StartExecution', ...under('a', 1) }),
  wait(5),
  execute({ type: 'ExtendLease', ...under('a', 1), extension: 1 }),
  execute({
    type: 'RecordStep',
    ...under('a', 1),
    name: 'größe',
    value: '"\ud800 is half"',
    definitionVersion: 1,
  }),
  execute({ type: 'ReleaseLease', ...under('a', 1) }),
  wait(5),
  execute(grant('a', 2)),
  execute(
    commit('a', 2, '"日本"', [
      again,
      { ...again, name: 'check', reconcile: true },
      promise({ name: 'child', idempotent: true, child: CHILD }),
    ]),
  ),
  execute({ type: 'StartEffect', ...under('a', 2), effect: 0 }),
  execute({ type: 'FailEffect', ...under('a', 2), effect: 0, error: failure({ stack: 'at x' }) }),
  execute(grant('a', 3)),
  execute({ type: 'StartEffect', ...under('a', 3), effect: 0 }),
  execute({ type: 'FinishEffect', ...under('a', 3), effect: 0 }),
  execute({ type: 'StartEffect', ...under('a', 3), effect: 1 }),
  execute({ type: 'RevokeLease', job: 'a', stage: 0, segment: 0, lease: 3, ...onRecord }),
  execute({
    type: 'ResolveEffect',
    job: 'a',
    stage: 0,
    segment: 0,
    effect: 1,
    start: 3,
    outcome: 'again',
    ...onRecord,
  }),
]

/** It ends only behind the first checkpoint, so it stands there with all that it has. */
const ONE_JOB_ENDS: readonly Step[] = [
  execute(grant('a', 4)),
  execute({ type: 'StartEffect', ...under('a', 4), effect: 1 }),
  execute({ type: 'FinishEffect', ...under('a', 4), effect: 1 }),
  execute({ type: 'StartEffect', ...under('a', 4), effect: 2 }),
  execute(submit(childId(PARENT), { ...CHILD, parent: PARENT })),
  execute({ type: 'FinishEffect', ...under('a', 4), effect: 2 }),
]

function sent(job: string, at: number, id: string, name: string): Command {
  const address = { job, stage: at, segment: 0 }
  return { type: 'SendMessage', ...address, id, name, value: '"sí"', checked: null, ...onRecord }
}

const NAP: WaitSpec = {
  name: 'nap',
  message: null,
  schema: null,
  ask: null,
  delayMs: 10,
  dueAt: null,
  callee: null,
}
const ASKED = {
  ...NAP,
  name: 'okay?',
  message: 'approval',
  schema: '{"type":"object"}',
  ask: '"ó"',
}
const THEN = pipeline([stage('first'), stage('then', { after: ['first'] })])

const STREAMED = { type: 'AppendStream', ...under('waits', 1), name: 'Ausgabe' } as const

function replaced(replacement: string, input: string): Command {
  const due = { definitionVersion: 2, delayMs: 3_600_000, dueAt: null }
  return { type: 'ReplaceJob', job: 'debounced', replacement, input, ...due, ...onRecord }
}

/** Replaced once before the first checkpoint, and once behind it. */
const REPLACED: readonly Step[] = [
  execute(submit('debounced', plain({ key: 'doc', deadlineMs: 86_400_000 }))),
  execute(replaced('newer', '"zweite"')),
]

/** One that waits in every way: in place, suspended, for a message, and for a stage to open. */
const WAITS: readonly Step[] = [
  execute(submit('waits', plain())),
  execute(submit('asks', plain())),
  execute(submit('later', THEN)),
  execute(grant('waits', 1)),
  execute(sent('waits', 0, 'm-1', 'review')),
  execute({
    type: 'EndWait',
    ...under('waits', 1),
    wait: { ...ASKED, name: 'review', message: 'review' },
    message: 'm-1',
    unfit: [],
    definitionVersion: 1,
  }),
  execute({ ...STREAMED, offset: 0, values: ['"Wör"', '"ter"'] }),
  execute({ ...STREAMED, offset: 2, values: ['{"n":3}'] }),
  execute(sent('waits', 0, 'm-2', 'approval')),
  execute({
    type: 'SuspendExecution',
    ...under('waits', 1),
    needs: 'any',
    waits: [NAP, ASKED],
    unfit: ['m-2'],
    definitionVersion: 2,
  }),
  execute(sent('later', 1, 'm-3', 'approval')),
  wait(10),
  execute(grant('waits', 2)),
  execute(grant('asks', 1)),
  execute({
    type: 'SuspendExecution',
    ...under('asks', 1),
    needs: 'all',
    waits: [{ ...ASKED, schema: null, delayMs: null }],
    unfit: [],
    definitionVersion: 1,
  }),
]

const CALL = call({ job: 'calls', withCaller: true }, plain({ input: '"ça"' }))
const CALLEE = calleeId(caller({ job: 'calls' }))

/** One that waits for another job, and for one that is not submitted; and one that begins anew. */
const CALLS: readonly Step[] = [
  execute(submit('calls', plain())),
  execute(grant('calls', 1)),
  execute({
    type: 'SuspendExecution',
    ...under('calls', 1),
    needs: 'all',
    waits: [CALL, { ...call({ job: 'calls', name: 'other' }), delayMs: DAY }],
    unfit: [],
    definitionVersion: 1,
  }),
  execute(submit(CALLEE, CALL.callee as JobSpec)),
  execute(submit('anew', plain())),
  execute(grant('anew', 1)),
  execute({
    type: 'ContinueExecution',
    ...under('anew', 1),
    input: '{"página":2}',
    definitionVersion: 2,
  }),
]

/** Behind the first checkpoint. */
const WAITS_END: readonly Step[] = [
  execute(replaced('newest', '"dritte"')),
  execute(sent('asks', 0, 'm-4', 'approval')),
  execute(grant('asks', 2)),
  execute(grant(CALLEE, 1), commit(CALLEE, 1, '"gerufen"')),
  execute({ type: 'AnswerCall', job: 'calls', stage: 0, segment: 0, name: 'call' }),
]

const operator = { job: 'b', stage: 0, segment: 0, ...onRecord }

const FAILURES: readonly Step[] = [
  execute(submit('b', plain({ rerunOf: 'an older one' }, { retry: retry({ max: 0 }) }))),
  execute(grant('b', 1)),
  execute({
    type: 'FailTask',
    ...under('b', 1),
    error: failure({ type: 'RETRYABLE', message: 'не вышло' }),
  }),
  execute({ type: 'RetryTask', ...operator, attempt: 1, input: '{"repaired":true}' }),
  execute(grant('b', 2)),
  wait(30_000),
  execute({ type: 'ExpireLease', job: 'b', stage: 0, segment: 0, lease: 2 }),
  // Too late: the answer is `cancelled`, and the log is told once.
  execute(commit('b', 2, '"late"')),
  execute({ type: 'ForceTask', ...operator, attempt: 2, to: 'WAITING', output: null }),
  execute({
    type: 'RescheduleTask',
    ...operator,
    attempt: 2,
    dueAt: BEGIN + 86_400_000,
    priority: 7,
    toQueue: 'nachts',
  }),
]

const FAILURES_END: readonly Step[] = [
  execute({ type: 'ForceTask', ...operator, attempt: 2, to: 'COMPLETED', output: '"by hand"' }),
]

const STAGES: readonly Step[] = [
  execute(
    submit(
      'p',
      pipeline(
        [
          stage('parts', { each: 'input.items', tolerate: 1, version: 3 }),
          stage('sum', { after: ['parts'] }),
          stage('sorry', { onFailure: true }),
        ],
        { input: '{"items":[1,2,3]}' },
      ),
    ),
  ),
  execute({ type: 'OpenStage', job: 'p', stage: 0 }),
  execute(grant('p', 10, true, 1)),
  execute(submit('text', pipeline([stage('one'), stage('many', { after: ['one'], each: 'one' })]))),
  execute({ type: 'OpenStage', job: 'text', stage: 0 }),
  execute(grant('text', 20), commit('text', 1, '"no list"')),
  execute({ type: 'OpenStage', job: 'text', stage: 1 }),
]

const STAGES_END: readonly Step[] = [
  execute({ type: 'CancelJob', job: 'p', ...onRecord }),
  execute({ type: 'StopTask', job: 'p', stage: 0, segment: 0 }),
]

export const STORY: readonly Step[] = [
  ...RERUNS,
  ...RETENTION,
  ...AGEING,
  ...VERSIONS,
  ...QUEUES_AND_SCHEDULES,
  ...ONE_JOB,
  ...REPLACED,
  ...WAITS,
  ...CALLS,
  ...FAILURES,
  ...STAGES,
  whole('first', `"${'x'.repeat(4_000)}"`),
  whole('second', `"${'ß'.repeat(4_500)}"`),
  whole('third', `"${'€'.repeat(1_500)}"`),
  whole('fourth', `"${'z'.repeat(4_000)}"`),
  execute(submit('limited', { ...EVERYTHING, key: null, held: false, delayMs: 0 })),
  execute(grant('limited', 30)),
  CHECKPOINT,
  ...ONE_JOB_ENDS,
  ...WAITS_END,
  ...FAILURES_END,
  wait(1_000),
  execute({ type: 'EraseJob', job: 'third', ...onRecord }),
  execute({ type: 'ForgetJob', job: 'second', endedBefore: BEGIN + 93_000 }),
  ...STAGES_END,
  whole('fifth', '"small"'),
  CHECKPOINT,
  // One in a file of finished jobs that something happens to all the same.
  execute(commit('b', 1, '"much too late"')),
  execute({ type: 'ExtendLease', ...under('limited', 1), extension: 1 }),
  execute(submit('big', plain({ input: `"${'y'.repeat(5_500)}"`, dueAt: BEGIN + DAY }))),
  execute(submit('mixed', plain({ input: `"${'日x'.repeat(1_500)}"` }))),
  execute(submit('last', plain({}, { quarantine: 'never', retry: retry({ jitter: 0.5 }) }))),
]
