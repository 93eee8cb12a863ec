/** The rules with one guard left out: how tests show what a guard is good for. */
import { describe, expect, it } from 'vitest'
import { Authority } from '../../../test/support/authority.ts'
import { failure, pipeline, plain, policy, retry, stage } from '../../../test/support/specs.ts'
import { RULES, rulesWithout } from './index.ts'

describe('without a guard', () => {
  it('what it refused goes through, and the invariants see it', () => {
    const a = new Authority(rulesWithout('GrantLease.task-due'))
    a.must({ type: 'SubmitJob', spec: plain({ delayMs: 5 }) })
    a.must({ type: 'GrantLease' })
    expect(a.violations.map(({ invariant }) => invariant)).toContain(9)
  })

  it('every other guard still stands', () => {
    const a = new Authority(rulesWithout('GrantLease.task-due'))
    a.must({ type: 'SubmitJob', spec: plain({ held: true }) })
    expect(a.send({ type: 'GrantLease' }).rejection?.check).toBe('job-not-held')
  })

  it('the rules themselves stay as they are', () => {
    const { guards } = RULES.table.GrantLease
    expect(rulesWithout('GrantLease.task-due').table.GrantLease.guards.length).toBe(
      guards.length - 1,
    )
    expect(RULES.table.GrantLease.guards).toBe(guards)
  })

  it('a lease that is over can be expired again, and nothing throws', () => {
    const a = new Authority(rulesWithout('ExpireLease.lease-held'))
    a.must({ type: 'SubmitJob', spec: plain() })
    a.must({ type: 'GrantLease' })
    a.must({ type: 'ReleaseLease' })
    const { entry } = a.must({ type: 'ExpireLease' })
    expect(entry).toMatchObject({ type: 'LeaseExpired', diagnostic: '' })
    expect(a.violations.map(({ invariant }) => invariant)).toContain(1)
  })
})

describe('without the guard that knows the reason', () => {
  it('a job that is not over is forgotten', () => {
    const a = new Authority(rulesWithout('ForgetJob.job-final'))
    a.must({ type: 'SubmitJob', spec: plain() })
    a.advance(1).must({ type: 'ForgetJob', endedBefore: 1 })
    expect(a.violations.map(({ what }) => what)).toEqual([
      'JobForgotten: a was forgotten while QUEUED',
    ])
  })

  it('a task is stopped for none', () => {
    const a = new Authority(rulesWithout('StopTask.reason-to-stop'))
    a.must({ type: 'SubmitJob', spec: plain() })
    expect(a.must({ type: 'StopTask' }).entry).toMatchObject({ reason: 'ending' })
  })
})

describe('without the checks of every command', () => {
  it('time runs backwards', () => {
    const a = new Authority(rulesWithout('clock'))
    a.advance(10).must({ type: 'SubmitJob', spec: plain() })
    a.advance(-1).send({ type: 'CancelJob' })
    expect(a.violations.map(({ invariant }) => invariant)).toContain(5)
  })

  it('a job that is over is changed', () => {
    const a = new Authority(rulesWithout('transition'))
    const mortal = policy({ retry: retry({ max: 0 }) })
    const spec = pipeline([stage('one', { tolerate: 1, policy: mortal })])
    a.must({ type: 'SubmitJob', spec })
    a.must({ type: 'OpenStage' })
    a.must({ type: 'GrantLease', started: true })
    a.must({ type: 'FailTask', error: failure() })
    expect(a.state()).toBe('SUCCEEDED')
    a.must({ type: 'CancelJob' })
    expect(a.violations.map(({ invariant }) => invariant)).toContain(4)
  })
})

describe('a guard that is not there', () => {
  it.each(['GrantLease.nonsense', 'nonsense', ''])("cannot be left out: '%s'", (id) => {
    expect(() => rulesWithout(id)).toThrow(RangeError)
  })
})
