/**
 * The tables of allowed transitions: what they say, that stories really go that way, and that
 * `decide` refuses what they do not allow.
 */
import { describe, expect, it } from 'vitest'
import { Authority } from '../../test/support/authority.ts'
import { failure, pipeline, plain, policy, retry, stage } from '../../test/support/specs.ts'
import type { JobState, Table } from './index.ts'
import {
  EFFECT_TRANSITIONS,
  effectMayMove,
  EXECUTION_TRANSITIONS,
  executionMayMove,
  isFinal,
  jobMayMove,
  PIPELINE_JOB_TRANSITIONS,
  PLAIN_JOB_TRANSITIONS,
  TASK_TRANSITIONS,
  taskMayMove,
} from './index.ts'

const STATES = Object.keys(PLAIN_JOB_TRANSITIONS) as JobState[]
const noRetries = policy({ retry: retry({ max: 0 }) })
const grant = (a: Authority, at = 0) =>
  void a.must({ type: 'GrantLease', stage: at, started: true })
const fail = (a: Authority, at = 0) =>
  void a.must({ type: 'FailTask', stage: at, error: failure() })
const failForGood = (a: Authority) =>
  void a.must({ type: 'FailTask', error: failure({ type: 'TERMINAL' }) })
const cancel = (a: Authority) => void a.must({ type: 'CancelJob' })
const commit = (a: Authority) => void a.must({ type: 'CommitExecution' })
const open = (a: Authority, at = 0) => void a.must({ type: 'OpenStage', stage: at })
const force =
  (to: 'COMPLETED' | 'FAILED' | 'WAITING', at = 0) =>
  (a: Authority) =>
    void a.must({ type: 'ForceTask', stage: at, to, output: null })
const suspend = (a: Authority) => {
  const wait = {
    name: 'w',
    message: 'go',
    schema: null,
    ask: null,
    delayMs: null,
    dueAt: null,
    callee: null,
  }
  a.must({ type: 'SuspendExecution', waits: [wait] })
}
const tell = (a: Authority) => void a.must({ type: 'SendMessage', id: 'm', name: 'go', value: '1' })
const revive = (a: Authority) => void a.must({ type: 'RetryTask' })
const release = (a: Authority) => void a.must({ type: 'ReleaseLease' })
const putOff = (a: Authority) => void a.must({ type: 'RescheduleTask', dueAt: a.now + 5 })
const releaseJob = (a: Authority) => void a.must({ type: 'ReleaseJob' })
const inTurn =
  (...acts: ((a: Authority) => void)[]) =>
  (a: Authority) => {
    for (const act of acts) act(a)
  }

type Move = readonly [
  from: JobState,
  to: JobState,
  spec: ReturnType<typeof plain>,
  before: (a: Authority) => void,
  act: (a: Authority) => void,
]

const held = plain({ held: true })
const nothing = () => {}
const toRetrying = inTurn(grant, fail)
const toSuspended = inTurn(grant, suspend)

const PLAIN_MOVES: readonly Move[] = [
  ['CREATED', 'QUEUED', held, nothing, releaseJob],
  ['CREATED', 'SUCCEEDED', held, nothing, force('COMPLETED')],
  ['CREATED', 'FAILED', held, nothing, cancel],
  ['QUEUED', 'RUNNING', plain(), nothing, grant],
  ['QUEUED', 'CREATED', plain(), nothing, putOff],
  ['QUEUED', 'RETRYING', plain(), inTurn(grant, release), putOff],
  ['QUEUED', 'SUCCEEDED', plain(), nothing, force('COMPLETED')],
  ['QUEUED', 'FAILED', plain(), nothing, cancel],
  ['RUNNING', 'QUEUED', plain(), grant, (a) => void a.must({ type: 'ReleaseLease' })],
  ['RUNNING', 'RETRYING', plain(), grant, fail],
  ['RUNNING', 'QUARANTINED', plain({}, noRetries), grant, fail],
  ['RUNNING', 'SUCCEEDED', plain(), grant, commit],
  ['RUNNING', 'FAILED', plain(), grant, failForGood],
  ['RUNNING', 'SUSPENDED', plain(), grant, suspend],
  ['SUSPENDED', 'QUEUED', plain(), toSuspended, tell],
  ['SUSPENDED', 'SUCCEEDED', plain(), toSuspended, force('COMPLETED')],
  ['SUSPENDED', 'FAILED', plain(), toSuspended, cancel],
  ['RETRYING', 'QUEUED', plain(), toRetrying, force('WAITING')],
  ['RETRYING', 'SUCCEEDED', plain(), toRetrying, force('COMPLETED')],
  ['RETRYING', 'FAILED', plain(), toRetrying, cancel],
  ['QUARANTINED', 'QUEUED', plain({}, noRetries), toRetrying, revive],
  ['QUARANTINED', 'SUCCEEDED', plain({}, noRetries), toRetrying, force('COMPLETED')],
  ['QUARANTINED', 'FAILED', plain({}, noRetries), toRetrying, cancel],
]

const one = pipeline([stage('one')])
const heldOne = pipeline([stage('one')], { held: true })
const empty = pipeline([stage('one', { each: 'input' })], { input: '[]', delayMs: 1 })
const heldWithCleanup = pipeline([stage('one'), stage('cleanup', { onFailure: true })], {
  held: true,
})
const mortal = pipeline([stage('one', { policy: noRetries })])
const mixed = pipeline([stage('one', { policy: noRetries }), stage('two')])
const openAndGrant = inTurn(open, grant)
const toDead = inTurn(openAndGrant, fail)

const PIPELINE_MOVES: readonly Move[] = [
  ['CREATED', 'QUEUED', heldOne, nothing, releaseJob],
  ['CREATED', 'RUNNING', heldWithCleanup, nothing, cancel],
  ['CREATED', 'SUCCEEDED', empty, nothing, open],
  ['CREATED', 'FAILED', heldOne, nothing, cancel],
  ['QUEUED', 'RUNNING', one, open, grant],
  ['QUEUED', 'SUCCEEDED', one, open, force('COMPLETED')],
  ['QUEUED', 'FAILED', one, nothing, cancel],
  ['RUNNING', 'RETRYING', one, openAndGrant, fail],
  ['RUNNING', 'QUARANTINED', mortal, openAndGrant, fail],
  ['RUNNING', 'SUCCEEDED', one, openAndGrant, commit],
  ['RUNNING', 'FAILED', one, openAndGrant, failForGood],
  ['RUNNING', 'SUSPENDED', one, openAndGrant, suspend],
  ['SUSPENDED', 'RUNNING', one, inTurn(openAndGrant, suspend), tell],
  ['SUSPENDED', 'FAILED', one, inTurn(openAndGrant, suspend), force('FAILED')],
  ['RETRYING', 'RUNNING', one, toDead, force('WAITING')],
  [
    'RETRYING',
    'QUARANTINED',
    mixed,
    inTurn(
      toDead,
      (a) => open(a, 1),
      (a) => grant(a, 1),
      (a) => fail(a, 1),
    ),
    force('COMPLETED', 1),
  ],
  ['RETRYING', 'SUCCEEDED', one, toDead, force('COMPLETED')],
  ['RETRYING', 'FAILED', one, toDead, force('FAILED')],
  ['QUARANTINED', 'RUNNING', mortal, toDead, revive],
  ['QUARANTINED', 'SUCCEEDED', mortal, toDead, force('COMPLETED')],
  ['QUARANTINED', 'FAILED', mortal, toDead, cancel],
]

function walk(move: Move): { from: JobState | undefined; to: JobState | undefined } {
  const [, , spec, before, act] = move
  const a = new Authority()
  a.must({ type: 'SubmitJob', spec })
  before(a)
  const from = a.state()
  act(a)
  return { from, to: a.state() }
}

describe('a plain job goes', () => {
  it.each(PLAIN_MOVES)('from %s to %s', (from, to, ...rest) => {
    expect(walk([from, to, ...rest])).toEqual({ from, to })
  })

  it('every way that its table allows, and no other is listed here', () => {
    const listed = PLAIN_MOVES.map(([from, to]) => `${from} → ${to}`)
    const allowed = STATES.flatMap((from) =>
      PLAIN_JOB_TRANSITIONS[from].map((to) => `${from} → ${to}`),
    )
    expect(listed.toSorted()).toEqual(allowed.toSorted())
  })
})

describe('a pipeline goes', () => {
  it.each(PIPELINE_MOVES)('from %s to %s', (from, to, ...rest) => {
    expect(walk([from, to, ...rest])).toEqual({ from, to })
    expect(jobMayMove(PIPELINE_JOB_TRANSITIONS, from, to)).toBe(true)
  })

  it('never back to CREATED or QUEUED', () => {
    for (const from of STATES.filter((state) => state !== 'CREATED')) {
      expect(PIPELINE_JOB_TRANSITIONS[from]).not.toContain('CREATED')
      expect(PIPELINE_JOB_TRANSITIONS[from]).not.toContain('QUEUED')
    }
  })

  it('between RUNNING, RETRYING and QUARANTINED as often as it likes', () => {
    const between = ['RUNNING', 'RETRYING', 'QUARANTINED'] as const
    for (const from of between) {
      for (const to of between) expect(jobMayMove(PIPELINE_JOB_TRANSITIONS, from, to)).toBe(true)
    }
  })
})

describe('the tables', () => {
  it('let nothing leave a final state, and let every job that is not final end both ways', () => {
    for (const table of [PLAIN_JOB_TRANSITIONS, PIPELINE_JOB_TRANSITIONS]) {
      for (const state of STATES) {
        if (isFinal(state)) expect(table[state]).toEqual([])
        else expect(table[state]).toEqual(expect.arrayContaining(['SUCCEEDED', 'FAILED']))
      }
    }
  })

  it('allow to stay, by any entry', () => {
    expect(taskMayMove('COMPLETED', 'COMPLETED', 'ReportRefused')).toBe(true)
    expect(effectMayMove('FINISHED', 'FINISHED', 'EffectFinished')).toBe(true)
    expect(executionMayMove('ABORTED', 'ABORTED', 'LeaseGranted')).toBe(true)
    expect(jobMayMove(PLAIN_JOB_TRANSITIONS, 'FAILED', 'FAILED')).toBe(true)
  })

  it('allow a move by the entries that they name, and by no other', () => {
    expect(taskMayMove('WAITING', 'LEASED', 'LeaseGranted')).toBe(true)
    expect(taskMayMove('WAITING', 'LEASED', 'TaskForced')).toBe(false)
    expect(effectMayMove('UNKNOWN', 'STARTED', 'EffectStarted')).toBe(true)
    expect(effectMayMove('UNKNOWN', 'STARTED', 'LeaseGranted')).toBe(false)
    expect(executionMayMove('IN_PROGRESS', 'COMMITTED', 'ExecutionCommitted')).toBe(true)
    expect(executionMayMove('IN_PROGRESS', 'COMMITTED', 'TaskForced')).toBe(false)
  })

  it('allow no move that they do not list', () => {
    expect(taskMayMove('FAILED', 'WAITING', 'TaskRetried')).toBe(false)
    expect(effectMayMove('FINISHED', 'PROMISED', 'EffectResolved')).toBe(false)
    expect(executionMayMove('ABORTED', 'COMMITTED', 'ExecutionCommitted')).toBe(false)
    expect(jobMayMove(PLAIN_JOB_TRANSITIONS, 'RETRYING', 'RUNNING')).toBe(false)
  })

  it.each([
    ['task', TASK_TRANSITIONS],
    ['execution', EXECUTION_TRANSITIONS],
    ['effect', EFFECT_TRANSITIONS],
  ] as readonly [string, Table<string>][])('of the %s lead only to its states', (_of, table) => {
    const known = Object.keys(table)
    for (const row of Object.values(table))
      expect(known).toEqual(expect.arrayContaining(Object.keys(row)))
  })
})

const refusedCancel = (a: Authority) => a.send({ type: 'CancelJob' }).rejection

describe('same to same', () => {
  it.each<[string, (a: Authority) => void]>([
    [
      'a plain job that failed for good',
      (a) => {
        a.must({ type: 'SubmitJob', spec: plain() })
        inTurn(grant, failForGood)(a)
      },
    ],
    [
      'a pipeline that failed with a stage unopened',
      (a) => {
        const spec = pipeline([stage('one'), stage('two', { after: ['one'] })])
        a.must({ type: 'SubmitJob', spec })
        inTurn(openAndGrant, failForGood)(a)
      },
    ],
  ])('a cancel of %s is answered, and writes nothing', (_name, bring) => {
    const a = new Authority()
    bring(a)
    expect(a.state()).toBe('FAILED')
    expect(a.send({ type: 'CancelJob' })).toMatchObject({ verdict: 'committed', entry: null })
    expect(a.world.jobs.get('a')?.cancelled).toBeNull()
  })
})

describe('an entry that the table does not allow is refused', () => {
  it('when a job succeeded with a DEAD task that it tolerates, and is cancelled after that', () => {
    const a = new Authority()
    a.must({
      type: 'SubmitJob',
      spec: pipeline([stage('one', { tolerate: 1, policy: noRetries })]),
    })
    toDead(a)
    expect(a.state()).toBe('SUCCEEDED')
    expect(refusedCancel(a)).toEqual({
      code: 'InvalidTransition',
      check: 'transition',
      message: 'Job a is SUCCEEDED and cannot become FAILED; allowed: nothing, it is final.',
      details: { from: 'SUCCEEDED', to: 'FAILED', allowed: [] },
    })
  })
})
