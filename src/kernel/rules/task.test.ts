/** Leases, executions, effects and operators: the answers that no story needs. */
import { describe, expect, it } from 'vitest'
import { Authority } from '../../../test/support/authority.ts'
import {
  failure,
  pipeline,
  plain,
  policy,
  promise,
  retry,
  stage,
} from '../../../test/support/specs.ts'
import type { JobSpec } from '../index.ts'
import { decide, loadReads, noReads, scan } from '../index.ts'

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

describe('an execution', () => {
  it('that was not started cannot be committed', () => {
    const a = new Authority()
    a.must({ type: 'SubmitJob', spec: plain() })
    a.must({ type: 'GrantLease' })
    const { rejection } = a.send({ type: 'CommitExecution' })
    expect(rejection?.code).toBe('NotStarted')
    expect(rejection?.check).toBe('in-progress')
    expect(rejection?.message).toBe('Task a/0/0 was not started: report the start first.')
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
