/**
 * What must hold between a caller and its callee: each way to break it is seen.
 */
import { describe, expect, it } from 'vitest'
import { Authority, snapshot } from '../../../test/support/authority.ts'
import { call, caller, plain } from '../../../test/support/specs.ts'
import type { Entry } from '../index.ts'
import {
  calleeId,
  createWorld,
  fold,
  jobViolations,
  rulesWithout,
  stepViolations,
} from '../index.ts'

const CALLEE = calleeId(caller())
const callee = call().callee!

function waiting(): Authority {
  const a = new Authority()
  a.must({ type: 'SubmitJob', spec: plain() })
  a.must({ type: 'GrantLease', started: true })
  a.must({ type: 'SuspendExecution', waits: [call()] })
  return a
}

function called(): Authority {
  const a = waiting()
  a.must({ type: 'SubmitJob', job: CALLEE, spec: callee })
  return a
}

function audit(a: Authority, entry: Entry): string[] {
  const before = snapshot(a.world)
  const after = snapshot(a.world)
  fold(after, entry)
  return stepViolations(before, entry, after).map(({ invariant, what }) => `${invariant} ${what}`)
}

function submitted(spec = callee): Entry {
  return { type: 'JobSubmitted', at: 0, version: 1, job: CALLEE, spec, dueAt: 0 }
}

const address = { at: 0, job: 'a', stage: 0, segment: 0 }
const told = { id: CALLEE, name: CALLEE, value: '1', wait: 'call', dueAt: 0, by: 'x', reason: '' }

describe('it is seen when', () => {
  it('a callee is submitted that no job waits for', () => {
    expect(audit(waiting(), submitted())).toEqual([])
    const other = { ...callee, caller: caller({ run: '2' }) }
    const what = '3 JobSubmitted: a callee was submitted that no job waits for'
    expect(audit(waiting(), submitted(other))).toEqual([what])
    const a = waiting()
    a.must({ type: 'ForceTask', to: 'COMPLETED' })
    expect(audit(a, submitted())).toEqual([what])
  })

  it('a callee is forgotten that its caller may ask for', () => {
    const a = called()
    a.must({ type: 'CancelJob', job: CALLEE })
    const forgotten: Entry = { type: 'JobForgotten', at: 0, version: 3, job: CALLEE }
    expect(audit(a, forgotten)).toEqual([
      '7 JobForgotten: a callee was forgotten that its caller may ask for',
    ])
    // Where its caller is not at hand, nothing is said of it.
    const alone = createWorld()
    fold(alone, submitted())
    const said = stepViolations(alone, forgotten, createWorld()).map(({ what }) => what)
    expect(said.filter((what) => what.includes('callee'))).toEqual([])
  })

  it('a call is answered before its callee is over', () => {
    const entry: Entry = { type: 'MessageSent', version: 4, ...address, ...told }
    const what = `12 MessageSent: wait 'call' was answered before ${CALLEE} was over`
    expect(audit(called(), entry)).toEqual([what])
  })

  it('a call that its handler left behind is answered', () => {
    const a = new Authority(rulesWithout('AnswerCall.call-pending'))
    a.must({ type: 'SubmitJob', spec: plain() })
    a.must({ type: 'GrantLease', started: true })
    const nap = { ...call(), name: 'nap', callee: null, delayMs: 5 }
    a.must({ type: 'SuspendExecution', waits: [call(), nap] })
    a.must({ type: 'SubmitJob', job: CALLEE, spec: callee })
    a.must({ type: 'CancelJob', job: CALLEE })
    a.advance(5).must({ type: 'GrantLease', request: 2 })
    a.send({ type: 'AnswerCall', name: 'call' })
    expect(a.violations.map(({ what }) => what)).toEqual([
      "MessageSent: wait 'call' was ended by a message, and was not open",
    ])
  })

  it('a callee has an id of its own making', () => {
    const a = called()
    const job = { ...a.world.jobs.get(CALLEE)!, id: 'other' }
    const found = jobViolations(a.world, job, [], 0).map(({ what }) => what)
    expect(found).toEqual(['other: a callee whose id is not derived from its caller'])
  })
})

describe('where only one of the two is at hand', () => {
  it('nothing is said about the other', () => {
    const alone = new Authority()
    expect(audit(alone, submitted())).toEqual([])
    const entry: Entry = { type: 'MessageSent', version: 4, ...address, ...told }
    expect(audit(waiting(), entry)).toEqual([])
    const gone: Entry = { type: 'JobForgotten', at: 0, version: 1, job: CALLEE }
    const none = createWorld()
    expect(stepViolations(none, gone, none).map(({ what }) => what)).toEqual([
      `JobForgotten: there is no job ${CALLEE}`,
    ])
    const a = waiting()
    expect(stepViolations(createWorld(), entry, a.world).map(({ what }) => what)).toEqual([
      'MessageSent: version 4 after 0',
      'MessageSent: there is no job a',
    ])
  })
})
