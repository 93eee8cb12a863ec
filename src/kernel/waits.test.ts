/**
 * What the stores ask about a task that waits: its place in line, and whether its lease takes a token.
 */
import { describe, expect, it } from 'vitest'
import { Authority } from '../../test/support/authority.ts'
import { plain } from '../../test/support/specs.ts'
import type { Lease } from './index.ts'
import { BrokenEntry, fold, placeAt, rulesWithout, takesToken } from './index.ts'

const nap = {
  name: 'nap',
  message: null,
  schema: null,
  ask: null,
  delayMs: 5,
  dueAt: null,
  callee: null,
}
const limits = [{ key: 'k', concurrency: null, rate: { count: 1, perMs: 1_000 } }]

function suspended(): Authority {
  const a = new Authority()
  a.must({ type: 'SubmitJob', spec: plain({}, { limits }) })
  a.must({ type: 'ConfigureQueue', rate: { count: 1, perMs: 1_000 } })
  a.must({ type: 'GrantLease', started: true })
  a.must({ type: 'SuspendExecution', waits: [nap] })
  return a
}

describe('a task that comes back from a wait', () => {
  it('stands in line by its first due time', () => {
    const a = suspended()
    expect(a.task().dueAt).toBe(5)
    expect(placeAt(a.task())).toBe(0)
    a.advance(5).must({ type: 'GrantLease', request: 2 })
    expect(placeAt(a.task())).toBe(0)
  })

  it('takes no token of a rate, and the next attempt after that does', () => {
    const a = suspended()
    a.advance(5).must({ type: 'GrantLease', request: 2 })
    a.must({ type: 'ReleaseLease' })
    expect(a.send({ type: 'GrantLease', request: 3 }).rejection?.code).toBe('LimitReached')
    a.advance(1_000).must({ type: 'GrantLease', request: 3 })
    const { leases } = a.task()
    expect(leases.map((lease) => takesToken(a.task(), lease))).toEqual([true, false, true])
  })

  it('finishes what it committed without one, too', () => {
    const a = suspended()
    a.advance(5).must({ type: 'GrantLease', request: 2 })
    const task = a.task()
    task.commit = { lease: 1, at: 0, effects: [] }
    expect(takesToken(task, task.leases.at(-1) as Lease)).toBe(false)
  })
})

describe('an entry about a wait or a message that is not there is broken', () => {
  it('when it takes or ends one', () => {
    const a = new Authority(rulesWithout('EndWait.wait-settled'))
    a.must({ type: 'SubmitJob', spec: plain() })
    a.must({ type: 'GrantLease', started: true })
    const wait = { ...nap, message: 'go' }
    expect(() => a.send({ type: 'EndWait', wait, message: 'never sent' })).toThrow(BrokenEntry)
    const address = { job: 'a', stage: 0, segment: 0, at: 0, version: 4, by: 'ops', reason: '' }
    const message = { id: 'm', name: 'go', value: '1', wait: 'none', dueAt: 0 }
    expect(() => fold(a.world, { type: 'MessageSent', ...address, ...message })).toThrow(
      "the task has no wait 'none'",
    )
  })

  it('when a plain job keeps one for a stage', () => {
    const a = new Authority()
    a.must({ type: 'SubmitJob', spec: plain() })
    const sent = { id: 'm', name: 'go', value: '1', at: 0, by: 'ops', reason: '' }
    const message = { stage: 1, segment: 0, ...sent }
    expect(() =>
      fold(a.world, { type: 'MessageKept', at: 0, version: 2, job: 'a', message }),
    ).toThrow('a plain job has no stages')
  })
})
