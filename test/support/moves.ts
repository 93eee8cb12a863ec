/**
 * Every way that a job can go by a command, as a story: what is sent before, and what moves it. The kernel
 * walks them, and so does every store.
 */
import type { JobState } from '../../src/kernel/index.ts'
import { Authority } from './authority.ts'
import { failure, pipeline, plain, policy, retry, stage } from './specs.ts'

export const noRetries = policy({ retry: retry({ max: 0 }) })
export const grant = (a: Authority, at = 0) =>
  void a.must({ type: 'GrantLease', stage: at, started: true })
const fail = (a: Authority, at = 0) =>
  void a.must({ type: 'FailTask', stage: at, error: failure() })
export const failForGood = (a: Authority) =>
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
const replaceLater = (a: Authority) => void a.must({ type: 'ReplaceJob', input: '2', delayMs: 5 })
const releaseJob = (a: Authority) => void a.must({ type: 'ReleaseJob' })
export const inTurn =
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

export const PLAIN_MOVES: readonly Move[] = [
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
export const openAndGrant = inTurn(open, grant)
export const toDead = inTurn(openAndGrant, fail)

export const PIPELINE_MOVES: readonly Move[] = [
  ['CREATED', 'QUEUED', heldOne, nothing, releaseJob],
  ['CREATED', 'RUNNING', heldWithCleanup, nothing, cancel],
  ['CREATED', 'SUCCEEDED', empty, nothing, open],
  ['CREATED', 'FAILED', heldOne, nothing, cancel],
  ['QUEUED', 'CREATED', one, nothing, replaceLater],
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

interface Walk {
  readonly from: JobState | undefined
  readonly to: JobState | undefined
  readonly authority: Authority
  /** So many commands lead to where it goes from. */
  readonly before: number
}

export function walk(move: Move): Walk {
  const [, , spec, before, act] = move
  const authority = new Authority()
  authority.must({ type: 'SubmitJob', spec })
  before(authority)
  const from = authority.state()
  const { length } = authority.sent
  act(authority)
  return { from, to: authority.state(), authority, before: length }
}
