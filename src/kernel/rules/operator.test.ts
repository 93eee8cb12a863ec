/** What a person asks for about an attempt that they saw, and delays that the caller names. */
import { describe, expect, it } from 'vitest'
import { Authority } from '../../../test/support/authority.ts'
import { failure, pipeline, plain, promise, retry, stage } from '../../../test/support/specs.ts'

function running(max = 1): Authority {
  const a = new Authority()
  a.must({ type: 'SubmitJob', spec: plain({}, { retry: retry({ max }) }) })
  a.must({ type: 'GrantLease', started: true })
  return a
}

describe('a discard', () => {
  it('gives up a job that is in quarantine at the attempt that was seen', () => {
    const a = running(0)
    a.must({ type: 'FailTask', error: failure() })
    expect(a.must({ type: 'CancelJob', attempt: 1 }).entry?.type).toBe('JobCancelled')
    expect(a.state()).toBe('FAILED')
    // Asked again, it is what it was asked to be.
    expect(a.must({ type: 'CancelJob', attempt: 1 }).entry).toBeNull()
  })

  it('does not reach a job that another operator has retried', () => {
    const a = running(0)
    a.must({ type: 'FailTask', error: failure() })
    a.must({ type: 'RetryTask' })
    expect(a.send({ type: 'CancelJob', attempt: 1 }).rejection?.code).toBe('TaskNotDead')
    a.must({ type: 'GrantLease', request: 2 })
    expect(a.send({ type: 'CancelJob', attempt: 1 }).rejection?.code).toBe('TaskChanged')
    expect(a.must({ type: 'CancelJob', attempt: null }).verdict).toBe('committed')
  })

  it('names no attempt of a pipeline', () => {
    const a = new Authority()
    a.must({ type: 'SubmitJob', spec: pipeline([stage('one')]) })
    const { rejection } = a.send({ type: 'CancelJob', attempt: 0 })
    expect([rejection?.code, rejection?.message]).toEqual([
      'TaskChanged',
      'Job a is a pipeline: each of its tasks has attempts of its own.',
    ])
  })
})

describe('a lease that is revoked with a delay', () => {
  it('lets the task wait for it', () => {
    const a = running()
    a.must({ type: 'RevokeLease', delayMs: 500 })
    expect(a.task()).toMatchObject({ state: 'WAITING', dueAt: 500, retries: 1 })
    expect(a.state()).toBe('RETRYING')
  })

  it('lets what is committed wait for it, too, but not what is given up', () => {
    const a = running()
    a.must({ type: 'CommitExecution', effects: [promise({ idempotent: true }), promise()] })
    a.must({ type: 'StartEffect', effect: 0 })
    a.must({ type: 'RevokeLease', delayMs: 500 })
    expect(a.task()).toMatchObject({ state: 'WAITING', dueAt: 500 })
    a.advance(500)
    a.must({ type: 'GrantLease', request: 2 })
    a.must({ type: 'StartEffect', effect: 1 })
    a.must({ type: 'RevokeLease', delayMs: 500 })
    expect(a.task()).toMatchObject({ state: 'DEAD', dueAt: 500 })
  })

  it('is not there if no worker has had the task', () => {
    const a = new Authority()
    a.must({ type: 'SubmitJob', spec: plain() })
    const { rejection } = a.send({ type: 'RevokeLease' })
    expect([rejection?.code, rejection?.message]).toEqual([
      'LeaseNotHeld',
      'Lease 0 of task a/0/0 was never granted: no worker has had the task.',
    ])
  })
})

describe('an effect that fails with a delay of its own', () => {
  it('is run again after it, or held if it has no retry left', () => {
    const a = running()
    const effect = promise({ retry: retry({ max: 1, delayMs: 700 }) })
    a.must({ type: 'CommitExecution', effects: [effect] })
    a.must({ type: 'StartEffect' })
    a.must({ type: 'FailEffect', error: failure(), delayMs: 40 })
    expect(a.task()).toMatchObject({ state: 'WAITING', dueAt: 40 })
    a.advance(40)
    a.must({ type: 'GrantLease', request: 2 })
    a.must({ type: 'StartEffect' })
    a.must({ type: 'FailEffect', error: failure(), delayMs: 40 })
    expect(a.task()).toMatchObject({ state: 'DEAD', dueAt: 40 })
  })
})
