/** Leases, executions, effects and operators: the answers that no story needs. */
import { describe, expect, it } from 'vitest'
import { Authority } from '../../../test/support/authority.ts'
import {
  child,
  failure,
  pipeline,
  plain,
  policy,
  promise,
  retry,
  stage,
} from '../../../test/support/specs.ts'
import type { EffectPromise, JobSpec } from '../index.ts'
import { decide, LIMITS, loadReads, noReads, scan } from '../index.ts'

function started(spec: JobSpec = plain()): Authority {
  const a = new Authority()
  a.must({ type: 'SubmitJob', spec })
  a.must({ type: 'GrantLease', started: true })
  return a
}

describe('a lease', () => {
  it('that ended in another way is not expired or revoked, and the answer says how it ended', () => {
    const a = started()
    a.must({ type: 'ReleaseLease' })
    for (const type of ['ExpireLease', 'RevokeLease'] as const) {
      const { rejection } = a.send({ type })
      expect(rejection?.code).toBe('LeaseNotHeld')
      expect(rejection?.message).toBe(
        'Lease 1 of task a/0/0 is already over: ended by LeaseReleased.',
      )
    }
  })

  it('is not granted by a queue that has no places, even if nobody ever used one', () => {
    const a = new Authority()
    a.must({ type: 'SubmitJob', spec: plain() })
    a.must({ type: 'ConfigureQueue', concurrency: 0 })
    const command = {
      type: 'GrantLease',
      job: 'a',
      stage: 0,
      segment: 0,
      worker: 'w1',
      request: 1,
      started: false,
    } as const
    const reads = noReads()
    loadReads(reads, a.world, scan(a.world), command, 0)
    reads.queueUsage = null
    const { rejection } = decide(command, reads, 0)
    expect(rejection?.code).toBe('LimitReached')
    expect(rejection?.details).toEqual({ key: 'default', held: 0, concurrency: 0, freeAt: null })
  })

  it('says when a rate has room again', () => {
    const a = new Authority()
    a.must({ type: 'ConfigureQueue', rate: { count: 1, perMs: 1_000 } })
    a.must({ type: 'SubmitJob', spec: plain() })
    a.must({ type: 'SubmitJob', job: 'b', spec: plain() })
    a.must({ type: 'GrantLease' })
    const { rejection } = a.advance(1).send({ type: 'GrantLease', job: 'b' })
    expect(rejection?.details).toMatchObject({ key: 'default', held: 1, freeAt: 1_000 })
  })
})

const LOSSES = ['ExpireLease', 'RevokeLease'] as const

/** Grants the task, and ends the lease as its worker dies, or as an operator takes it away. */
function loseLease(a: Authority, loss: (typeof LOSSES)[number], isStarted: boolean): void {
  a.must({ type: 'GrantLease', request: a.task().attempt + 1, started: isStarted })
  if (loss === 'ExpireLease') a.advance(a.task().policy.leaseMs)
  a.must({ type: loss })
}

function wide(chars: number): EffectPromise {
  return child(plain({ input: 'x'.repeat(chars) }))
}

describe('an execution', () => {
  it('is started by its first step, commit or failure, if its start was not reported', () => {
    for (const report of [
      { type: 'StartExecution' },
      { type: 'RecordStep', name: 's', value: '1' },
      { type: 'CommitExecution' },
      { type: 'FailTask', error: failure() },
    ] as const) {
      const a = new Authority()
      a.must({ type: 'SubmitJob', spec: plain() })
      a.must({ type: 'GrantLease' })
      expect(a.task().leases[0]?.startedAt).toBeNull()
      a.advance(5).must(report)
      expect(a.task().leases[0]?.startedAt).toBe(5)
    }
  })

  it('keeps the time of its start when more is reported', () => {
    const a = started()
    a.advance(5).must({ type: 'RecordStep', name: 's', value: '1' })
    a.advance(5).must({ type: 'CommitExecution' })
    expect(a.task().leases[0]?.startedAt).toBe(0)
  })

  it('that was not started is lost for nothing the first time', () => {
    for (const loss of LOSSES) {
      const a = new Authority()
      a.must({ type: 'SubmitJob', spec: plain() })
      loseLease(a, loss, false)
      expect(a.task()).toMatchObject({ state: 'WAITING', retries: 0 })
    }
  })

  it('that was not started costs a retry from the second loss in a row', () => {
    for (const first of LOSSES) {
      for (const second of LOSSES) {
        const a = new Authority()
        a.must({ type: 'SubmitJob', spec: plain() })
        loseLease(a, first, false)
        loseLease(a, second, false)
        expect(a.task()).toMatchObject({ state: 'WAITING', retries: 1 })
        loseLease(a, first, false)
        expect(a.task()).toMatchObject({ state: 'WAITING', retries: 2 })
      }
    }
  })

  it('that was not started is lost for nothing again once its lease was given back in between', () => {
    const a = new Authority()
    a.must({ type: 'SubmitJob', spec: plain() })
    loseLease(a, 'ExpireLease', false)
    a.must({ type: 'GrantLease', request: 2 })
    a.must({ type: 'ReleaseLease' })
    loseLease(a, 'ExpireLease', false)
    expect(a.task()).toMatchObject({ state: 'WAITING', retries: 0 })
  })

  it('whose work has begun costs a retry at the first loss, whatever showed that it had', () => {
    for (const report of [
      { type: 'StartExecution' },
      { type: 'RecordStep', name: 's', value: '1' },
    ] as const) {
      const a = new Authority()
      a.must({ type: 'SubmitJob', spec: plain() })
      a.must({ type: 'GrantLease' })
      a.must(report)
      a.must({ type: 'RevokeLease' })
      expect(a.task()).toMatchObject({ state: 'WAITING', retries: 1 })
    }
  })

  it('that is resumed after its commit has nothing to start', () => {
    const a = started()
    a.must({ type: 'CommitExecution', effects: [promise()] })
    a.must({ type: 'ReleaseLease' })
    a.must({ type: 'GrantLease', worker: 'w2' })
    const { verdict, entry } = a.send({ type: 'StartExecution', worker: 'w2' })
    expect(verdict).toBe('committed')
    expect(entry).toBeNull()
  })

  it('carries at most so much in one commit, the inputs of children included', () => {
    const full = LIMITS.payloadChars
    const seven = Array.from({ length: 7 }, () => wide(full))
    const room = LIMITS.commitChars - 7 * full - 8 * '{}'.length
    const a = started()
    const over = a.send({
      type: 'CommitExecution',
      output: '1',
      effects: [...seven, wide(room)],
    })
    expect(over.rejection?.code).toBe('LimitExceeded')
    expect(over.rejection?.details).toEqual({
      limit: 'commitChars',
      chars: LIMITS.commitChars + 1,
    })
    const fits = {
      type: 'CommitExecution',
      output: '1',
      effects: [...seven, wide(room - 1)],
    } as const
    expect(a.send(fits).verdict).toBe('committed')
  })

  it('cannot fail or record a step after its commit', () => {
    const a = started()
    a.must({ type: 'CommitExecution', effects: [promise()] })
    for (const command of [
      { type: 'FailTask', error: failure() },
      { type: 'RecordStep', name: 's', value: '1' },
    ] as const) {
      expect(a.send(command).rejection?.code).toBe('AlreadyCommitted')
    }
  })

  it('of an older lease hears of no step that was recorded since', () => {
    const a = started()
    a.must({ type: 'ReleaseLease' })
    a.must({ type: 'GrantLease', worker: 'w2', started: true })
    a.must({ type: 'RecordStep', worker: 'w2', name: 's', value: '1' })
    const { verdict, value } = a.send({ type: 'RecordStep', lease: 1, name: 's', value: '2' })
    expect(verdict).toBe('cancelled')
    expect(value).toBeNull()
  })
})

describe('an effect', () => {
  it('is not finished by a lease that is over and never started it', () => {
    const a = started()
    a.must({ type: 'CommitExecution', effects: [promise()] })
    a.must({ type: 'ReleaseLease' })
    a.must({ type: 'GrantLease', worker: 'w2' })
    a.must({ type: 'StartEffect', worker: 'w2' })
    expect(a.send({ type: 'FinishEffect', lease: 1 }).verdict).toBe('cancelled')
  })

  it('that is finished cannot fail any more', () => {
    const a = started()
    a.must({ type: 'CommitExecution', effects: [promise(), promise()] })
    a.must({ type: 'StartEffect' })
    a.must({ type: 'FinishEffect' })
    const { rejection } = a.send({ type: 'FailEffect', error: failure() })
    expect(rejection?.code).toBe('EffectFinished')
    expect(rejection?.check).toBe('effect-unfinished')
    expect(rejection?.message).toBe('Effect a/0/0/0 is finished: it cannot fail any more.')
  })

  it('that was never started has nothing to resolve', () => {
    const a = started()
    a.must({ type: 'CommitExecution', effects: [promise()] })
    const { rejection } = a.send({ type: 'ResolveEffect', start: 0, outcome: 'happened' })
    expect(rejection?.code).toBe('EffectNotUnresolved')
    expect(rejection?.details).toEqual({ state: 'PROMISED', start: 0 })
  })

  it('is settled with its siblings when one of them fails and another cannot be judged', () => {
    const a = started()
    a.must({ type: 'CommitExecution', effects: [promise(), promise()] })
    a.must({ type: 'StartEffect', effect: 0 })
    a.must({ type: 'StartEffect', effect: 1 })
    a.must({ type: 'FailEffect', effect: 0, error: failure() })
    expect(a.task().commit?.effects.map(({ state }) => state)).toEqual(['PROMISED', 'HELD'])
    expect(a.state()).toBe('QUARANTINED')
  })
})

describe('the word that an effect is finished', () => {
  const finish = { type: 'FinishEffect', lease: 1, effect: 0 } as const

  /** Three ways to have lost the lease: it ended, it is overdue, another one was granted. */
  const LOST: readonly (readonly [how: string, lose: (a: Authority) => void])[] = [
    ['ended', (a) => void a.must({ type: 'ReleaseLease' })],
    ['is overdue', (a) => void a.advance(30_000)],
    [
      'was replaced',
      (a) => {
        a.must({ type: 'ReleaseLease' })
        a.must({ type: 'GrantLease', worker: 'w2' })
      },
    ],
  ]

  it.each(LOST)('is cancelled when the lease %s and never started it', (_how, lose) => {
    const a = started()
    a.must({ type: 'CommitExecution', effects: [promise()] })
    lose(a)
    const first = a.send(finish)
    expect(first.verdict).toBe('cancelled')
    expect(first.entry).toMatchObject({ type: 'ReportRefused', report: 'FinishEffect', lease: 1 })
    const again = a.send(finish)
    expect(again.verdict).toBe('cancelled')
    expect(again.entry).toBeNull()
  })

  it.each(LOST)('is cancelled when the lease %s, even if there is no effect', (_how, lose) => {
    const a = started()
    lose(a)
    expect(a.send(finish).verdict).toBe('cancelled')
    const b = started()
    b.must({ type: 'CommitExecution', effects: [promise()] })
    lose(b)
    expect(b.send({ ...finish, effect: 7 }).verdict).toBe('cancelled')
  })

  it.each(LOST)('is accepted when the lease %s, from whoever started it', (_how, lose) => {
    const a = started()
    a.must({ type: 'CommitExecution', effects: [promise({ idempotent: true })] })
    a.must({ type: 'StartEffect' })
    lose(a)
    expect(a.send(finish).verdict).toBe('committed')
    expect(a.state()).toBe('SUCCEEDED')
  })

  it('is rejected under a current lease, with what is wrong', () => {
    const a = started()
    expect(a.send(finish).rejection?.code).toBe('NotCommitted')
    a.must({ type: 'CommitExecution', effects: [promise()] })
    expect(a.send({ ...finish, effect: 1 }).rejection?.code).toBe('UnknownEffect')
    expect(a.send(finish).rejection?.code).toBe('EffectNotStarted')
  })
})

function permitted(): Authority {
  const a = started()
  a.must({ type: 'CommitExecution', effects: [promise({ idempotent: true })] })
  a.must({ type: 'StartEffect' })
  return a
}

describe('the permission to start an effect', () => {
  it('is given again while the lease is current', () => {
    const a = permitted()
    a.advance(29_999)
    const { verdict, entry } = a.send({ type: 'StartEffect' })
    expect(verdict).toBe('committed')
    expect(entry).toBeNull()
  })

  it('is not given again when the lease is overdue', () => {
    const a = permitted()
    a.advance(30_000)
    expect(a.send({ type: 'StartEffect' }).verdict).toBe('cancelled')
  })

  it('is not given again when the lease has ended', () => {
    const a = permitted()
    a.must({ type: 'RevokeLease' })
    expect(a.send({ type: 'StartEffect' }).verdict).toBe('cancelled')
    a.must({ type: 'GrantLease', worker: 'w2' })
    expect(a.send({ type: 'StartEffect', lease: 1 }).verdict).toBe('cancelled')
  })
})

/** DEAD after its first attempt. */
function dead(): Authority {
  const a = started(plain({}, { retry: retry({ max: 0 }) }))
  a.must({ type: 'FailTask', error: failure() })
  return a
}

describe('an intervention', () => {
  it('is the same only with the same new input', () => {
    const a = dead()
    const retried = { type: 'RetryTask', attempt: 1, input: '1' } as const
    a.must(retried)
    expect(a.send(retried)).toMatchObject({ verdict: 'committed', entry: null })
    for (const input of [null, '2']) {
      expect(a.send({ ...retried, input }).rejection?.code).toBe('TaskNotDead')
    }
  })

  it('is the same only with the same forced output', () => {
    const a = dead()
    const forced = { type: 'ForceTask', attempt: 1, to: 'COMPLETED', output: '1' } as const
    a.must(forced)
    expect(a.send(forced)).toMatchObject({ verdict: 'committed', entry: null })
    for (const output of [null, '2']) {
      expect(a.send({ ...forced, output }).rejection?.code).toBe('TaskFinal')
    }
  })

  it('that forces no output is the same without one and with null', () => {
    const a = dead()
    a.must({ type: 'ForceTask', to: 'COMPLETED', output: null })
    expect(a.send({ type: 'ForceTask', to: 'COMPLETED', output: 'null' }).verdict).toBe('committed')
  })

  it('to another state than COMPLETED has no output to compare', () => {
    const a = dead()
    a.must({ type: 'ForceTask', to: 'WAITING', output: '1' })
    expect(a.task().output).toBeNull()
    const again = a.send({ type: 'ForceTask', to: 'WAITING', output: '2' })
    expect(again).toMatchObject({ verdict: 'committed', entry: null })
  })

  it('may come a second time at the same attempt, if it wants something else', () => {
    const a = new Authority()
    a.must({ type: 'SubmitJob', spec: plain() })
    a.must({ type: 'ForceTask', to: 'WAITING' })
    expect(a.must({ type: 'ForceTask', to: 'FAILED' }).entry?.type).toBe('TaskForced')
  })
})

describe('an operator', () => {
  it.each([{ type: 'RetryTask' }, { type: 'ForceTask', to: 'COMPLETED' }] as const)(
    'changes nothing in a job that is ending: $type',
    (command) => {
      const a = new Authority()
      const mortal = policy({ retry: retry({ max: 0 }) })
      const spec = pipeline([stage('one', { policy: mortal }), stage('two')])
      a.must({ type: 'SubmitJob', spec })
      a.must({ type: 'OpenStage' })
      a.must({ type: 'GrantLease', started: true })
      a.must({ type: 'FailTask', error: failure() })
      a.must({ type: 'CancelJob' })
      const { rejection } = a.send(command)
      expect(rejection?.code).toBe('JobEnding')
      expect(rejection?.check).toBe('job-not-ending')
      expect(rejection?.message).toBe('Job a is ending: run it again as a new job instead.')
    },
  )
})

/** Nobody took it in time. */
function late(): Authority {
  const a = new Authority()
  a.must({ type: 'SubmitJob', spec: plain({ startWithinMs: 10 }) })
  return a.advance(10)
}

describe('a task whose start-by time has passed', () => {
  it('and that nobody took is not made to wait for nothing', () => {
    const { rejection } = late().send({ type: 'ForceTask', to: 'WAITING' })
    expect(rejection?.code).toBe('StartByPassed')
    expect(rejection?.check).toBe('start-by')
    expect(rejection?.details).toEqual({ startBy: 10 })
  })

  it.each(['COMPLETED', 'FAILED'] as const)('may still be forced to %s', (to) => {
    expect(late().send({ type: 'ForceTask', to }).verdict).toBe('committed')
  })

  it('may be forced to WAITING before that, and after it was taken in time', () => {
    const a = new Authority()
    a.must({ type: 'SubmitJob', spec: plain({ startWithinMs: 10 }) })
    expect(a.advance(9).send({ type: 'ForceTask', to: 'WAITING' }).verdict).toBe('committed')
    a.must({ type: 'GrantLease' })
    expect(a.advance(9).send({ type: 'ForceTask', to: 'WAITING' }).verdict).toBe('committed')
  })
})

describe('a failure that costs no retry', () => {
  it('is charged like any other once there were too many', () => {
    const a = started(plain({}, { retry: retry({ max: 1, delayMs: 9 }) }))
    a.task().snoozes = LIMITS.snoozes - 1
    a.must({ type: 'FailTask', error: failure(), free: true })
    expect([a.task().retries, a.task().snoozes, a.task().dueAt]).toEqual([0, LIMITS.snoozes, 9])
    a.advance(9).must({ type: 'GrantLease', request: 2, started: true })
    a.must({ type: 'FailTask', error: failure(), free: true, delayMs: 5 })
    expect([a.task().retries, a.task().snoozes, a.task().dueAt]).toEqual([1, LIMITS.snoozes, 14])
  })

  it('is told from one that does', () => {
    const a = started()
    a.must({ type: 'FailTask', error: failure(), delayMs: null })
    expect(a.log.at(-1)).toMatchObject({ type: 'TaskFailed', free: false, retries: 1 })
  })
})

describe('a deadline', () => {
  it('is the earlier of the two that a job may name', () => {
    const cases = [
      [{ deadlineMs: 10 }, 15],
      [{ deadlineAt: 12 }, 12],
      [{ deadlineMs: 10, deadlineAt: 12 }, 12],
      [{ deadlineMs: 10, deadlineAt: 99 }, 15],
      [{}, null],
    ] as const
    for (const [changes, deadlineAt] of cases) {
      const a = new Authority()
      a.advance(5).must({ type: 'SubmitJob', spec: plain(changes) })
      expect(a.world.jobs.get('a')?.deadlineAt).toBe(deadlineAt)
    }
  })

  it('of a job without one never passes', () => {
    const a = started()
    const { rejection } = a.send({ type: 'CancelJob', deadline: true })
    expect(rejection?.code).toBe('DeadlineNotPassed')
  })
})

describe('who submits a job', () => {
  it('makes no other job of it: the first stays on record', () => {
    const a = new Authority()
    a.must({ type: 'SubmitJob', spec: plain({ submittedBy: 'ada' }) })
    const again = a.must({ type: 'SubmitJob', spec: plain({ submittedBy: 'bob' }) })
    expect(again.entry).toBeNull()
    expect(a.world.jobs.get('a')?.spec.submittedBy).toBe('ada')
    const other = a.send({ type: 'SubmitJob', spec: plain({ metadata: '{}' }) })
    expect(other.rejection?.code).toBe('IdReused')
  })
})

describe('a task that is rescheduled', () => {
  it('may be begun as long after its new time as after the old one, until it was granted', () => {
    const a = new Authority()
    a.must({ type: 'SubmitJob', spec: plain({ startWithinMs: 10 }) })
    a.advance(5).must({ type: 'RescheduleTask', dueAt: 2 })
    // A time that is past already is as good as now.
    expect([a.task().dueAt, a.task().startBy]).toEqual([2, 15])
    a.must({ type: 'RescheduleTask', priority: 3 })
    expect(a.task()).toMatchObject({ dueAt: 2, startBy: 15, priority: 3 })
    a.must({ type: 'GrantLease' })
    a.must({ type: 'ReleaseLease' })
    a.must({ type: 'RescheduleTask', dueAt: 90 })
    expect(a.task()).toMatchObject({ dueAt: 90, startBy: 15 })
  })

  it('keeps the policy that it shares with others as it is', () => {
    const a = new Authority()
    const spec = plain()
    a.must({ type: 'SubmitJob', spec })
    a.must({ type: 'RescheduleTask', toQueue: 'other' })
    expect(a.task().policy).toEqual({ ...spec.policy, queue: 'other' })
    expect(spec.policy?.queue).toBe('default')
    a.must({ type: 'GrantLease' })
    expect(a.task().lease?.queue).toBe('other')
  })

  it('does not wait in a suspension: not even as it is, and not before it was granted again', () => {
    const a = started()
    const wait = {
      name: 'w',
      message: 'go',
      schema: null,
      ask: null,
      delayMs: 5,
      dueAt: null,
      callee: null,
    }
    a.must({ type: 'SuspendExecution', waits: [wait] })
    for (const wanted of [{ dueAt: 9 }, { priority: 3 }, { toQueue: 'other' }, { dueAt: 5 }, {}]) {
      const { rejection } = a.send({ type: 'RescheduleTask', ...wanted })
      expect(rejection?.code).toBe('TaskSuspended')
    }
    a.must({ type: 'SendMessage', id: 'm', name: 'go', value: '1' })
    const { rejection } = a.send({ type: 'RescheduleTask', dueAt: 9 })
    expect(rejection?.code).toBe('TaskSuspended')
    a.must({ type: 'GrantLease', request: 2 })
    a.must({ type: 'ReleaseLease' })
    a.must({ type: 'RescheduleTask', dueAt: 9 })
    expect(a.task()).toMatchObject({ dueAt: 9, attempt: 2 })
  })

  it('must be there', () => {
    const a = new Authority()
    expect(a.send({ type: 'RescheduleTask', dueAt: 5 }).rejection?.code).toBe('UnknownTask')
  })
})
