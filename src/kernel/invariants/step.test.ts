/**
 * Every check between one state and the next can fail: an entry that should never have been
 * written is seen for what it is, which is how a log is audited.
 */
import { describe, expect, it } from 'vitest'
import { Authority, snapshot } from '../../../test/support/authority.ts'
import { child, failure, pipeline, plain, promise, stage } from '../../../test/support/specs.ts'
import type { Entry, EntryOf, EntryType, InvariantNumber, JobSpec, World } from '../index.ts'
import { createWorld, fold, stepViolations } from '../index.ts'

const GIVEN = { next: 'WAITING', dueAt: 0, retries: 0, settled: [] } as const

/** The next entry of job a, legitimate or not. */
function next<T extends EntryType>(
  a: Authority,
  type: T,
  fields: Partial<Omit<EntryOf<T>, 'type'>> = {},
): EntryOf<T> {
  const version = (a.world.jobs.get('a')?.task?.version ?? 0) + 1
  const address = { job: 'a', stage: 0, segment: 0, lease: 1, effect: 0 }
  return { type, at: a.now, version, ...address, ...fields } as unknown as EntryOf<T>
}

/** What is wrong with the step that the entry makes; `meddle` changes the state after it. */
function audit(a: Authority, entry: Entry, meddle: (world: World) => void = () => {}): string[] {
  const before = snapshot(a.world)
  const after = snapshot(a.world)
  fold(after, entry)
  meddle(after)
  return stepViolations(before, entry, after).map((one) => `${one.invariant} ${one.what}`)
}

function waiting(): Authority {
  const a = new Authority()
  a.advance(100).must({ type: 'SubmitJob', spec: plain() })
  return a
}

function leased(): Authority {
  const a = waiting()
  a.must({ type: 'GrantLease', started: true })
  return a
}

function effectStarted(reconcile = false): Authority {
  const a = leased()
  a.must({ type: 'CommitExecution', effects: [promise({ reconcile })] })
  a.must({ type: 'StartEffect' })
  return a
}

/** The effect's outcome is unknown, and lease 2 is there to finish it. */
function effectUnknown(): Authority {
  const a = effectStarted(true)
  a.must({ type: 'ReleaseLease' })
  a.must({ type: 'GrantLease', worker: 'w2' })
  return a
}

function completed(): Authority {
  const a = leased()
  a.must({ type: 'CommitExecution' })
  return a
}

const granted = { lease: 1, worker: 'w1', request: 1, expiresAt: 900, started: true }

const replaced = { replacement: 'r', input: '1', definitionVersion: 1, dueAt: 200 }

function pipelineReplaced(version: number): Entry {
  return { type: 'JobReplaced', at: 0, version, job: 'a', ...replaced, by: '', reason: '' }
}

function moveStreams(world: World): void {
  for (const stream of world.jobs.get('a')?.task?.streams ?? []) stream.next = 3
}

function dropStream(world: World): void {
  world.jobs.get('a')?.task?.streams.pop()
}

function late(spec: Partial<JobSpec>): Authority {
  const a = new Authority()
  a.must({ type: 'SubmitJob', spec: plain(spec) })
  return a.advance(5)
}

function streamed(): Authority {
  const a = leased()
  a.must({ type: 'AppendStream', name: 's', values: ['1', '2'] })
  return a
}

const STEPS: readonly [InvariantNumber, string, () => Authority, (a: Authority) => Entry][] = [
  [5, 'version 9 after 1', waiting, (a) => next(a, 'LeaseGranted', { ...granted, version: 9 })],
  [5, 'time 99 after 100', waiting, (a) => next(a, 'LeaseGranted', { ...granted, at: 99 })],
  [4, 'a was forgotten while QUEUED', waiting, (a) => next(a, 'JobForgotten')],
  [4, 'a was erased while QUEUED', waiting, (a) => next(a, 'JobErased', { by: 'ops', reason: '' })],
  [6, 'a went from SUCCEEDED to QUEUED', completed, (a) => next(a, 'TaskRetried', { attempt: 1 })],
  [4, 'a is SUCCEEDED and was changed', completed, (a) => next(a, 'LeaseReleased', GIVEN)],
  [6, 'a task went from COMPLETED to WAITING', completed, (a) => next(a, 'LeaseReleased', GIVEN)],
  [4, 'a task is COMPLETED and was changed', completed, (a) => next(a, 'LeaseReleased', GIVEN)],
  [1, 'accepted under lease 1, but none is held', completed, (a) => next(a, 'ExecutionStarted')],
  [1, 'accepted under lease 1, but 2 is held', effectUnknown, (a) => next(a, 'EffectStarted')],
  [
    9,
    'accepted 100 ms after the lease ran out',
    leased,
    (a) => next(a, 'StepRecorded', { at: 30_200, name: 's', value: '1' }),
  ],
  [13, 'a was replaced although it had begun', leased, (a) => next(a, 'JobReplaced', replaced)],
  [13, 'a was replaced although it had begun', completed, (a) => next(a, 'JobReplaced', replaced)],
  [
    9,
    'a was replaced when it was too late for it',
    () => late({ startWithinMs: 5 }),
    (a) => next(a, 'JobReplaced', replaced),
  ],
  [
    9,
    'a was replaced when it was too late for it',
    () => late({ deadlineMs: 5 }),
    (a) => next(a, 'JobReplaced', replaced),
  ],
  [
    13,
    "stream 's' went from 0 to 3",
    leased,
    (a) => next(a, 'StreamAppended', { name: 's', offset: 2, values: ['1'] }),
  ],
  [
    13,
    "stream 's' went from 2 to 1",
    streamed,
    (a) => next(a, 'StreamAppended', { name: 's', offset: 0, values: ['1'] }),
  ],
  [
    1,
    'accepted under lease 1, but none is held',
    completed,
    (a) => next(a, 'StreamAppended', { name: 's', offset: 0, values: ['1'] }),
  ],
  [5, 'attempt 0 became 3', waiting, (a) => next(a, 'LeaseGranted', { ...granted, lease: 3 })],
  [
    1,
    'lease 2 was granted while lease 1 is held',
    leased,
    (a) => next(a, 'LeaseGranted', { ...granted, lease: 2 }),
  ],
  [5, 'retries 0 became -1', leased, (a) => next(a, 'LeaseReleased', { ...GIVEN, retries: -1 })],
  [1, 'lease 1 was ended, but it is not held', waiting, (a) => next(a, 'LeaseExpired', GIVEN)],
  [
    4,
    'decided at attempt 0, done at 1',
    leased,
    (a) => next(a, 'TaskForced', { attempt: 0, to: 'FAILED' }),
  ],
  [
    6,
    'an execution went from COMMITTED to DONE',
    effectStarted,
    (a) => next(a, 'TaskForced', { attempt: 1, to: 'COMPLETED' }),
  ],
  [
    3,
    'a second commit replaced the first',
    effectStarted,
    (a) => next(a, 'ExecutionCommitted', { output: '2', effects: [] }),
  ],
  [
    3,
    'a step was recorded after the commit',
    effectStarted,
    (a) => next(a, 'StepRecorded', { name: 's', value: '1' }),
  ],
  [
    3,
    'effect 0 went from UNKNOWN to HELD',
    effectUnknown,
    (a) => next(a, 'EffectFailed', { ...GIVEN, lease: 2, to: 'HELD', error: failure() }),
  ],
  [
    3,
    'effect 0 was silently repeated',
    effectUnknown,
    (a) => next(a, 'EffectStarted', { lease: 2 }),
  ],
  [
    3,
    'effect 0 was finished by a lease that never started it',
    effectUnknown,
    (a) => next(a, 'EffectFinished', { lease: 2, next: 'COMPLETED' }),
  ],
  [
    3,
    'effect 0 was resolved for an older start',
    effectUnknown,
    (a) => next(a, 'EffectResolved', { start: 9, outcome: 'happened', next: 'COMPLETED' }),
  ],
]

function shrinkBudgets(world: World): void {
  for (const { task } of world.jobs.values()) if (task !== null) task.budget = 0
}

function addSnooze(world: World): void {
  for (const { task } of world.jobs.values()) if (task !== null) task.snoozes += 1
}

function forgetLeases(world: World): void {
  for (const { task } of world.jobs.values()) task?.leases.shift()
}

describe('the check of a step', () => {
  it.each(STEPS)('%i: %s', (invariant, what, state, entry) => {
    const a = state()
    const written = entry(a)
    expect(audit(a, written)).toContain(`${invariant} ${written.type}: ${what}`)
  })

  it('5: the first entry of a queue has a later version, or is before all time', () => {
    const a = new Authority()
    const paused = { type: 'QueuePaused', queue: 'q', by: 'me', reason: '' } as const
    expect(audit(a, { ...paused, at: -1, version: 2 })).toEqual([
      '5 QueuePaused: version 2 after 0',
      '5 QueuePaused: time -1 after 0',
    ])
  })

  it('5: the budget shrank', () => {
    const a = leased()
    const extended = next(a, 'LeaseExtended', { extension: 1, expiresAt: 99_999 })
    expect(audit(a, extended)).toEqual([])
    expect(audit(a, extended, shrinkBudgets)).toEqual(['5 LeaseExtended: the budget shrank'])
  })

  it('9: a task was granted before it was due', () => {
    const a = new Authority()
    a.must({ type: 'SubmitJob', spec: plain({ delayMs: 5 }) })
    expect(audit(a, next(a, 'LeaseGranted', granted))).toContain(
      '9 LeaseGranted: a task was granted before it was due',
    )
  })

  it('1: a lease was taken that had been extended since', () => {
    const a = leased()
    const revoked = { ...GIVEN, extension: 1, presence: true, by: 'presence', reason: '' }
    expect(audit(a, next(a, 'LeaseRevoked', revoked))).toEqual([
      '1 LeaseRevoked: decided at extension 1, done at 0',
    ])
    const idle = waiting()
    expect(audit(idle, next(idle, 'LeaseRevoked', revoked))).toContain(
      '1 LeaseRevoked: decided at extension 1, done at null',
    )
  })

  it('3: presence took a lease whose effect may be on its way', () => {
    const a = effectStarted()
    const settled = [{ effect: 0, to: 'HELD', retries: 1 }] as const
    const dead = { ...GIVEN, next: 'DEAD', settled, extension: 0, by: 'x', reason: '' } as const
    expect(audit(a, next(a, 'LeaseRevoked', { ...dead, presence: false }))).toEqual([])
    expect(audit(a, next(a, 'LeaseRevoked', { ...dead, presence: true }))).toEqual([
      '3 LeaseRevoked: presence took a lease while an effect may be on its way',
    ])
  })

  it('9: a job was granted, or cancelled by time, on the wrong side of its deadline', () => {
    const a = new Authority()
    a.must({ type: 'SubmitJob', spec: plain({ deadlineMs: 5 }) })
    const cancelled = next(a, 'JobCancelled', { deadline: true, by: 'time', reason: '' })
    expect(audit(a, cancelled)).toEqual([
      '9 JobCancelled: a job was cancelled by a deadline that had not passed',
    ])
    expect(audit(a, { ...cancelled, at: 5 })).toEqual([])
    expect(audit(a, next(a, 'LeaseGranted', { ...granted, timedOut: false, at: 5 }))).toEqual([
      '9 LeaseGranted: a was granted after its deadline',
    ])
  })

  it('5: a failure was counted as free and cost something, or the other way round', () => {
    const a = leased()
    const failed = next(a, 'TaskFailed', { ...GIVEN, error: failure(), free: true })
    expect(audit(a, failed)).toEqual([])
    expect(audit(a, failed, addSnooze)).toEqual(['5 TaskFailed: snoozes 0 became 2'])
  })

  it('does not let a task be rescheduled that a worker has, that is committed, or that is to end', () => {
    const to = { dueAt: 5, startBy: null, priority: 0, toQueue: 'q', by: 'me', reason: '' }
    const held = leased()
    expect(audit(held, next(held, 'TaskRescheduled', { ...to, attempt: 1 }))).toEqual([
      '9 TaskRescheduled: a task was rescheduled while LEASED',
    ])
    const committed = effectStarted(true)
    committed.must({ type: 'ReleaseLease' })
    expect(audit(committed, next(committed, 'TaskRescheduled', { ...to, attempt: 1 }))).toEqual([
      '3 TaskRescheduled: a task was rescheduled after its commit',
    ])
    const ending = new Authority()
    ending.must({ type: 'SubmitJob', spec: pipeline([stage('one')]) })
    ending.must({ type: 'OpenStage' })
    ending.must({ type: 'CancelJob' })
    expect(
      audit(ending, next(ending, 'TaskRescheduled', { ...to, attempt: 0, version: 2 })),
    ).toEqual(['10 TaskRescheduled: a task of a job was rescheduled although it is ending'])
    const waits = waiting()
    expect(audit(waits, next(waits, 'TaskRescheduled', { ...to, attempt: 0 }))).toEqual([])
    expect(audit(waits, next(waits, 'TaskRescheduled', { ...to, attempt: 7 }))).toEqual([
      '4 TaskRescheduled: decided at attempt 7, done at 0',
    ])
  })

  it('4: a report was refused twice', () => {
    const a = leased()
    a.advance(30_000).send({ type: 'CommitExecution' })
    expect(audit(a, next(a, 'ReportRefused'))).toEqual(['4 ReportRefused: refused twice'])
  })

  it('lets a report of another lease be refused after that', () => {
    const a = leased()
    a.must({ type: 'ReleaseLease' })
    a.send({ type: 'CommitExecution' })
    a.must({ type: 'GrantLease', worker: 'w2' })
    a.must({ type: 'ReleaseLease', worker: 'w2' })
    expect(audit(a, next(a, 'ReportRefused', { lease: 2 }))).toEqual([])
  })

  it('5: a tick was fired twice', () => {
    const a = new Authority()
    a.must({ type: 'SetSchedule', definition: 'daily' })
    a.must({ type: 'FireSchedule', tick: 5, skipped: true })
    const again = { type: 'ScheduleFired', at: 0, version: 3, schedule: 's' } as const
    expect(audit(a, { ...again, tick: 5, skipped: true })).toEqual([
      '5 ScheduleFired: a tick was fired twice',
    ])
  })

  it('7: a tick was recorded whose job is not there', () => {
    const a = new Authority()
    a.must({ type: 'SetSchedule', definition: 'daily' })
    const fired = { type: 'ScheduleFired', at: 0, version: 2, schedule: 's', tick: 5 } as const
    expect(audit(a, { ...fired, skipped: true })).toEqual([])
    expect(audit(a, { ...fired, skipped: false })).toEqual([
      '7 ScheduleFired: a tick was recorded whose job is not there',
    ])
    a.must({ type: 'SubmitJob', job: 's@5', spec: plain({ schedule: { id: 's', tick: 5 } }) })
    expect(audit(a, { ...fired, skipped: false })).toEqual([])
  })

  it('7: a child was recorded that is not there', () => {
    const a = leased()
    a.must({ type: 'CommitExecution', effects: [child(plain())] })
    a.must({ type: 'StartEffect' })
    const finished = next(a, 'EffectFinished', { next: 'COMPLETED' })
    expect(audit(a, finished)).toEqual(['7 EffectFinished: a child was recorded that is not there'])
    const parent = { job: 'a', stage: 0, segment: 0, effect: 0 }
    a.must({ type: 'SubmitJob', job: 'a/0/0/0', spec: plain({ parent }) })
    expect(audit(a, finished)).toEqual([])
  })

  it('7: nor is it there if another job only has its id', () => {
    const a = leased()
    a.must({ type: 'SubmitJob', job: 'a/0/0/0', spec: plain() })
    a.must({ type: 'CommitExecution', effects: [child(plain())] })
    a.must({ type: 'StartEffect' })
    expect(audit(a, next(a, 'EffectFinished', { next: 'COMPLETED' }))).toEqual([
      '7 EffectFinished: a child was recorded that is not there',
    ])
    a.must({ type: 'SetSchedule', definition: 'daily' })
    a.must({ type: 'SubmitJob', job: 's@5', spec: plain() })
    const fired = { type: 'ScheduleFired', at: 100, version: 2, schedule: 's', tick: 5 } as const
    expect(audit(a, { ...fired, skipped: false })).toEqual([
      '7 ScheduleFired: a tick was recorded whose job is not there',
    ])
  })

  it('does not ask for a child that has a key: another job may have answered for it', () => {
    const a = leased()
    a.must({ type: 'CommitExecution', effects: [child(plain({ key: 'k' }))] })
    a.must({ type: 'StartEffect' })
    expect(audit(a, next(a, 'EffectFinished', { next: 'COMPLETED' }))).toEqual([])
  })

  it('9: a task was stopped although nothing ended it', () => {
    const a = waiting()
    expect(audit(a, next(a, 'TaskStopped', { reason: 'ending' }))).toContain(
      '9 TaskStopped: a task was stopped by ending, which is not so',
    )
    expect(audit(a, next(a, 'TaskStopped', { reason: 'start-by' }))).toContain(
      '9 TaskStopped: a task was stopped by start-by, which is not so',
    )
  })

  it('9: a task was stopped before its start-by time, or after it was taken', () => {
    const a = new Authority()
    a.must({ type: 'SubmitJob', spec: plain({ startWithinMs: 10 }) })
    const what = '9 TaskStopped: a task was stopped by start-by, which is not so'
    expect(audit(a, next(a, 'TaskStopped', { at: 9, reason: 'start-by' }))).toContain(what)
    expect(audit(a, next(a, 'TaskStopped', { at: 10, reason: 'start-by' }))).toEqual([])
    a.must({ type: 'GrantLease' })
    expect(audit(a, next(a, 'TaskStopped', { at: 10, reason: 'start-by' }))).toContain(what)
  })

  it('10: a job was released although it is ending', () => {
    const a = new Authority()
    a.must({ type: 'SubmitJob', spec: plain({ held: true }) })
    expect(audit(a, next(a, 'JobReleased'))).toEqual([])
    a.must({ type: 'CancelJob' })
    expect(audit(a, next(a, 'JobReleased'))).toContain(
      '10 JobReleased: a job was released although it is ending',
    )
  })

  it('10: a pipeline was replaced although it is ending, or has begun', () => {
    const spec = pipeline([stage('work'), stage('sorry', { onFailure: true })])
    const [a, b] = [new Authority(), new Authority()]
    a.must({ type: 'SubmitJob', spec })
    expect(audit(a, pipelineReplaced(2))).toEqual([])
    a.must({ type: 'CancelJob' })
    expect(audit(a, pipelineReplaced(3))).toContain(
      '10 JobReplaced: a was replaced although it is ending',
    )
    b.must({ type: 'SubmitJob', spec })
    b.must({ type: 'OpenStage' })
    expect(audit(b, pipelineReplaced(3))).toContain(
      '13 JobReplaced: a was replaced although it had begun',
    )
  })

  it('13: a stream was dropped, or moved by another entry', () => {
    const a = streamed()
    const extended = next(a, 'LeaseExtended', { extension: 1, expiresAt: 99_999 })
    expect(audit(a, extended, moveStreams)).toEqual([
      "13 LeaseExtended: stream 's' went from 2 to 3",
    ])
    a.must({ type: 'AppendStream', name: 't', values: ['1'] })
    const again = next(a, 'LeaseExtended', { extension: 1, expiresAt: 99_999 })
    expect(audit(a, again, dropStream)).toEqual(['13 LeaseExtended: a stream was dropped'])
  })

  it.each(['LeaseGranted', 'TaskStopped', 'JobReleased', 'JobReplaced'] as const)(
    '8: an entry names a job that is not there: %s',
    (type) => {
      const found = stepViolations(createWorld(), next(new Authority(), type), createWorld())
      expect(found).toContainEqual({ invariant: 8, what: `${type}: there is no job a` })
    },
  )

  it('does not ask about a lease that is forgotten by the step', () => {
    const a = leased()
    expect(
      audit(a, next(a, 'LeaseExtended', { extension: 1, expiresAt: 99_999 }), forgetLeases),
    ).toEqual([])
  })
})
