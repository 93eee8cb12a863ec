/** Leases that are taken from processes which are known to be dead, by what was seen of them. */
import { describe, expect, it } from 'vitest'
import { Authority } from '../../../test/support/authority.ts'
import { plain, promise, retry } from '../../../test/support/specs.ts'
import type { EffectPromise, JobSpec } from '../index.ts'
import { isLastChance, isSuspect } from '../index.ts'

function granted(spec: JobSpec = plain(), started = true): Authority {
  const a = new Authority()
  a.must({ type: 'SubmitJob', spec })
  a.must({ type: 'GrantLease', started, session: 'p1' })
  return a
}

const delayed = plain({}, { retry: retry({ max: 9, delayMs: 700 }) })

describe('a lease', () => {
  it('keeps the session of the process that claimed it, or none', () => {
    const a = granted()
    expect(a.task().lease?.session).toBe('p1')
    a.must({ type: 'ReleaseLease' })
    a.must({ type: 'GrantLease', request: 2 })
    expect(a.task().lease?.session).toBe('')
  })

  it('that was extended since it was looked at is kept', () => {
    const a = granted()
    a.must({ type: 'ExtendLease', extension: 1 })
    const { verdict, rejection } = a.send({ type: 'RevokeLease', seen: 0, presence: true })
    expect([verdict, rejection?.code, rejection?.check]).toEqual([
      'rejected',
      'LeaseChanged',
      'extension-seen',
    ])
    expect(a.task().state).toBe('LEASED')
    a.must({ type: 'RevokeLease', seen: 1, presence: true })
    expect(a.log.at(-1)).toMatchObject({ extension: 1, presence: true, next: 'WAITING' })
  })

  it('is taken by an operator whatever its extension is', () => {
    for (const seen of [null, undefined]) {
      const a = granted()
      a.must({ type: 'ExtendLease', extension: 3 })
      a.must({ type: 'RevokeLease', seen })
      expect(a.log.at(-1)).toMatchObject({ extension: null, presence: false })
    }
  })
})

function effectStarted(effect: EffectPromise): Authority {
  const a = granted(plain({}, { retry: retry({ delayMs: 700 }) }))
  a.must({ type: 'CommitExecution', effects: [effect] })
  a.must({ type: 'StartEffect' })
  return a
}

describe('an effect that was started by a process that died', () => {
  it.each([
    ['is left to time if it is not idempotent', promise()],
    ['is left to time if it can only be reconciled', promise({ reconcile: true })],
  ])('%s', (_name, effect) => {
    const a = effectStarted(effect)
    const refused = a.send({ type: 'RevokeLease', seen: 0, presence: true })
    expect(refused.rejection?.code).toBe('EffectUnderWay')
    expect(refused.rejection?.details).toEqual({ effect: 0 })
    a.advance(30_000).must({ type: 'ExpireLease' })
  })

  it('is run again at once if it is idempotent', () => {
    const a = effectStarted(promise({ idempotent: true }))
    a.must({ type: 'RevokeLease', seen: 0, presence: true })
    expect(a.task().state).toBe('WAITING')
    expect(a.task().dueAt).toBe(a.now)
  })

  it('is taken away by an operator, and its outcome is unknown', () => {
    const a = effectStarted(promise({ reconcile: true }))
    a.must({ type: 'RevokeLease' })
    expect(a.task().commit?.effects[0]?.state).toBe('UNKNOWN')
  })
})

describe('a task whose processes die', () => {
  it('is due at once after the first loss, and after its retry delay from the second in a row', () => {
    const a = granted(delayed)
    a.advance(5).must({ type: 'RevokeLease', seen: 0, presence: true })
    expect([a.task().dueAt, a.task().retries]).toEqual([0, 1])
    a.must({ type: 'GrantLease', request: 2, started: true })
    a.must({ type: 'RevokeLease', seen: 0, presence: true })
    expect([a.task().dueAt, a.task().retries]).toEqual([705, 2])
    expect(a.state()).toBe('RETRYING')
  })

  it('is delayed from the second loss on when it was only claimed ahead, too', () => {
    const a = granted(delayed, false)
    a.must({ type: 'RevokeLease', presence: true })
    expect([a.task().dueAt, a.task().retries]).toEqual([0, 0])
    a.must({ type: 'GrantLease', request: 2 })
    a.must({ type: 'RevokeLease', presence: true })
    expect([a.task().dueAt, a.task().retries]).toEqual([700, 1])
  })

  it('is not delayed if a lease was given back in between, or if a person takes it', () => {
    const a = granted(delayed)
    a.must({ type: 'RevokeLease', presence: true })
    a.must({ type: 'GrantLease', request: 2 })
    a.must({ type: 'ReleaseLease' })
    a.must({ type: 'GrantLease', request: 3, started: true })
    a.must({ type: 'RevokeLease', presence: true })
    a.must({ type: 'GrantLease', request: 4, started: true })
    a.must({ type: 'RevokeLease' })
    expect(a.task().dueAt).toBe(0)
  })

  it('waits for the delay after its commit, too', () => {
    const a = effectStarted(promise({ idempotent: true }))
    a.must({ type: 'RevokeLease', presence: true })
    a.must({ type: 'GrantLease', request: 2 })
    a.must({ type: 'RevokeLease', presence: true })
    expect(a.task().dueAt).toBe(700)
  })

  it('is given up when its retries are used up, and nothing is due', () => {
    const a = granted(plain({}, { retry: retry({ max: 1, delayMs: 700 }) }))
    a.must({ type: 'RevokeLease', presence: true })
    a.must({ type: 'GrantLease', request: 2, started: true })
    a.must({ type: 'RevokeLease', presence: true })
    expect(a.state()).toBe('QUARANTINED')
  })

  it('may be what kills them from the second loss in a row, until it comes to a report or a commit', () => {
    const a = granted(delayed)
    expect(isSuspect(a.task())).toBe(false)
    a.must({ type: 'RevokeLease', presence: true })
    expect(isSuspect(a.task())).toBe(false)
    a.must({ type: 'GrantLease', request: 2, started: true })
    expect(isSuspect(a.task())).toBe(false)
    a.must({ type: 'RevokeLease' })
    expect(isSuspect(a.task())).toBe(true)
    a.must({ type: 'GrantLease', request: 3, started: true })
    expect(isSuspect(a.task())).toBe(true)
    a.must({ type: 'ReleaseLease' })
    expect(isSuspect(a.task())).toBe(false)
    const b = effectStarted(promise({ idempotent: true }))
    b.must({ type: 'RevokeLease', presence: true })
    b.advance(700).must({ type: 'GrantLease', request: 2 })
    b.must({ type: 'RevokeLease', presence: true })
    expect(isSuspect(b.task())).toBe(false)
  })

  it('is on its last chance when the loss after that would be its last', () => {
    const a = granted(plain({}, { retry: retry({ max: 2, delayMs: 0 }) }))
    a.must({ type: 'RevokeLease', presence: true })
    expect(isLastChance(a.task())).toBe(false)
    a.must({ type: 'GrantLease', request: 2, started: true })
    a.must({ type: 'RevokeLease', presence: true })
    expect(isLastChance(a.task())).toBe(true)
    // One that failed by itself may be, too, but it kills no worker.
    const b = granted(plain({}, { retry: retry({ max: 0 }) }))
    expect([isSuspect(b.task()), isLastChance(b.task())]).toEqual([false, false])
    const c = granted(delayed)
    c.must({ type: 'RevokeLease', presence: true })
    c.must({ type: 'GrantLease', request: 2, started: true })
    c.must({ type: 'RevokeLease', presence: true })
    expect([isSuspect(c.task()), isLastChance(c.task())]).toEqual([true, false])
  })
})
