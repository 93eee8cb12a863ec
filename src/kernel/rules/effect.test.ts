/** Effects: how often one is tried, and how long a permission to act is good. */
import { describe, expect, it } from 'vitest'
import { Authority } from '../../../test/support/authority.ts'
import { failure, plain, promise, retry } from '../../../test/support/specs.ts'
import type { Effect, EffectPromise } from '../index.ts'

function committedWith(...effects: EffectPromise[]): Authority {
  const a = new Authority()
  a.must({ type: 'SubmitJob', spec: plain() })
  a.must({ type: 'GrantLease', started: true })
  a.must({ type: 'CommitExecution', effects })
  return a
}

function effectOf(a: Authority, index = 0): Effect {
  return a.task().commit?.effects[index] as Effect
}

/** Starts the effect and dies of it. */
function dieOf(a: Authority): void {
  a.must({ type: 'StartEffect' })
  a.advance(30_000).must({ type: 'ExpireLease' })
}

/** Takes the task and finds out that the effect did not happen. */
function reconcile(a: Authority): void {
  a.must({ type: 'GrantLease', request: a.task().attempt + 1 })
  const start = effectOf(a).starts.at(-1) as number
  a.must({ type: 'ResolveEffect', start, outcome: 'again', by: 'w1' })
}

/** Takes the task, asks, and gets no answer for as long as the lease holds. */
function askInVain(a: Authority): void {
  a.must({ type: 'GrantLease', request: a.task().attempt + 1 })
  a.advance(30_000).must({ type: 'ExpireLease' })
}

describe('an effect that kills its worker', () => {
  const deadly = promise({ reconcile: true, retry: retry({ max: 3 }) })

  it('is held in the end, however often it is reconciled', () => {
    const a = committedWith(deadly)
    for (let deaths = 1; deaths <= 3; deaths++) {
      dieOf(a)
      expect(effectOf(a)).toMatchObject({ state: 'UNKNOWN', retries: deaths, budget: 3 })
      reconcile(a)
      expect(effectOf(a)).toMatchObject({ state: 'PROMISED', retries: deaths, budget: 3 })
    }
    dieOf(a)
    expect(effectOf(a)).toMatchObject({ state: 'HELD', retries: 3, budget: 3 })
    expect(a.state()).toBe('QUARANTINED')
  })

  it('gets a fresh budget from a person who was asked', () => {
    const a = committedWith({ ...deadly, retry: retry({ max: 0 }) })
    dieOf(a)
    a.must({ type: 'ResolveEffect', start: 1, outcome: 'again' })
    expect(effectOf(a)).toMatchObject({ state: 'PROMISED', retries: 0, budget: 0 })
    const b = committedWith({ ...deadly, retry: retry({ max: 1 }) })
    dieOf(b)
    reconcile(b)
    dieOf(b)
    b.must({ type: 'ResolveEffect', start: 2, outcome: 'again' })
    expect(effectOf(b)).toMatchObject({ state: 'PROMISED', retries: 1, budget: 2 })
  })

  it('has no more budget when it turns out to have happened', () => {
    const a = committedWith(promise(), promise())
    dieOf(a)
    a.must({ type: 'ResolveEffect', start: 1, outcome: 'happened' })
    expect(effectOf(a)).toMatchObject({ state: 'FINISHED', budget: 3 })
  })
})

describe('an effect of which nobody can find out whether it happened', () => {
  const asked = promise({ reconcile: true, retry: retry({ max: 3 }) })

  it('is charged for each lease that is lost over it, and held in the end', () => {
    const a = committedWith(asked)
    dieOf(a)
    for (let retries = 2; retries <= 3; retries++) {
      askInVain(a)
      expect(effectOf(a)).toMatchObject({ state: 'UNKNOWN', retries, budget: 3 })
    }
    askInVain(a)
    expect(effectOf(a)).toMatchObject({ state: 'HELD', retries: 3, budget: 3 })
    expect(a.state()).toBe('QUARANTINED')
    a.must({ type: 'ResolveEffect', start: 1, outcome: 'happened' })
    expect(a.state()).toBe('SUCCEEDED')
  })

  it('is charged when the lease is taken away, too, and not when it is given back', () => {
    const a = committedWith(asked)
    dieOf(a)
    a.must({ type: 'GrantLease', request: 2 })
    a.must({ type: 'ReleaseLease' })
    expect(effectOf(a)).toMatchObject({ state: 'UNKNOWN', retries: 1 })
    a.must({ type: 'GrantLease', request: 3 })
    a.must({ type: 'RevokeLease' })
    expect(effectOf(a)).toMatchObject({ state: 'UNKNOWN', retries: 2 })
  })

  it('is not charged before it is run again, if that does no harm', () => {
    const a = committedWith(promise({ idempotent: true, reconcile: true }))
    dieOf(a)
    askInVain(a)
    expect(effectOf(a)).toMatchObject({ state: 'UNKNOWN', retries: 1 })
  })
})

describe('the permission to start an effect', () => {
  it('is not given again once the effect is finished', () => {
    const a = committedWith(promise(), promise())
    a.must({ type: 'StartEffect' })
    expect(a.send({ type: 'StartEffect' })).toMatchObject({ verdict: 'committed', entry: null })
    a.must({ type: 'FinishEffect' })
    const { verdict, rejection } = a.send({ type: 'StartEffect' })
    expect(verdict).toBe('rejected')
    expect(rejection?.code).toBe('EffectNotStartable')
    expect(rejection?.message).toBe('Effect a/0/0/0 is FINISHED, so it cannot be started.')
  })

  it('is not given again once whoever started it before said that it is finished', () => {
    const a = committedWith(promise({ idempotent: true }), promise())
    dieOf(a)
    a.must({ type: 'GrantLease', request: 2 })
    a.must({ type: 'StartEffect' })
    a.must({ type: 'FinishEffect', lease: 1 })
    expect(a.send({ type: 'StartEffect' }).rejection?.code).toBe('EffectNotStartable')
  })
})

describe('a failed effect whose sibling is held', () => {
  it('does not keep its retry time: after the resolution the task is due at once', () => {
    const slow = retry({ delayMs: 60_000 })
    const a = committedWith(promise({ idempotent: true, retry: slow }), promise())
    a.must({ type: 'StartEffect' })
    a.must({ type: 'StartEffect', effect: 1 })
    a.must({ type: 'FailEffect', error: failure() })
    expect(effectOf(a, 1).state).toBe('HELD')
    a.advance(5).must({ type: 'ResolveEffect', effect: 1, start: 1, outcome: 'happened' })
    expect(a.task()).toMatchObject({ state: 'WAITING', dueAt: 5 })
    expect(a.send({ type: 'GrantLease', request: 2 }).verdict).toBe('committed')
  })
})
