/**
 * A run that begins anew with another input: what it drops, what it keeps and what bounds it.
 */
import { describe, expect, it } from 'vitest'
import { Authority } from '../../../test/support/authority.ts'
import { plain, promise, retry } from '../../../test/support/specs.ts'
import type { WaitSpec } from '../index.ts'
import { executionStatus, LIMITS } from '../index.ts'

const answer: WaitSpec = {
  name: 'answer',
  message: 'go',
  schema: null,
  ask: null,
  delayMs: null,
  dueAt: null,
  callee: null,
}
const nap: WaitSpec = { ...answer, name: 'nap', message: null, delayMs: 5 }

function started(spec = plain()): Authority {
  const a = new Authority()
  a.must({ type: 'SubmitJob', spec })
  a.must({ type: 'GrantLease', started: true })
  return a
}

function send(a: Authority, id: string): void {
  a.must({ type: 'SendMessage', id, name: 'go', value: `"${id}"` })
}

describe('an execution that continues with a new input', () => {
  it('drops steps and waits, keeps what nothing took, and knows a repeat of what was taken', () => {
    const a = started()
    a.must({ type: 'RecordStep', name: 's', value: '1' })
    send(a, 'm1')
    a.must({ type: 'EndWait', wait: answer, message: 'm1' })
    send(a, 'm2')
    a.must({ type: 'ContinueExecution', input: '"next"' })
    expect(a.task()).toMatchObject({ input: '"next"', steps: [] })
    expect(a.task().waiting).toMatchObject({
      suspended: null,
      firstDueAt: null,
      waits: [],
      messages: [
        { id: 'm1', state: 'TAKEN' },
        { id: 'm2', state: 'KEPT' },
      ],
    })
    expect(a.send({ type: 'SendMessage', id: 'm1', name: 'go', value: '2' }).entry).toBeNull()
    a.must({ type: 'GrantLease', request: 2 })
    expect(a.must({ type: 'EndWait', wait: answer, message: 'm2' }).value).toBe('"m2"')
  })

  it('that never waited and was sent nothing has nothing to keep', () => {
    const a = started()
    a.must({ type: 'EndWait', wait: { ...nap, delayMs: 0 } })
    a.must({ type: 'ContinueExecution', input: '1' })
    expect(a.task().waiting).toBeNull()
  })

  it('ends the lease, costs nothing, gives a fresh budget, and is due at once behind others', () => {
    const a = started()
    a.must({ type: 'RevokeLease' })
    a.must({ type: 'GrantLease', request: 2, started: true })
    a.advance(7).must({ type: 'ContinueExecution', input: '1' })
    expect(a.task()).toMatchObject({ state: 'WAITING', retries: 1, budget: 4, dueAt: 7 })
    expect(a.state()).toBe('QUEUED')
    const [, lease] = a.task().leases
    expect(executionStatus(a.task(), lease!)).toBe('SUSPENDED')
  })

  it('leaves the newest sixteen leases in mind, however often it continues', () => {
    const a = started()
    for (let i = 0; i < 20; i++) {
      a.must({ type: 'ContinueExecution', input: `${i}` })
      a.must({ type: 'GrantLease', request: i + 2 })
    }
    a.must({ type: 'ContinueExecution', input: '20' })
    expect(a.task().leases).toHaveLength(LIMITS.leasesAfterSuspension)
    expect(a.task()).toMatchObject({ attempt: 21, input: '20' })
  })

  it('takes a token of a rate for its next run: a loop that only continues is bounded by it', () => {
    const limits = [{ key: 'k', concurrency: null, rate: { count: 1, perMs: 1_000 } }]
    const a = started(plain({}, { limits }))
    a.must({ type: 'ContinueExecution', input: '1' })
    expect(a.send({ type: 'GrantLease', request: 2 }).rejection?.code).toBe('LimitReached')
    a.advance(1_000).must({ type: 'GrantLease', request: 2 })
  })

  it('fails for good like any other if the next run fails: only a run that ends gives a budget', () => {
    const a = started(plain({}, { retry: retry({ max: 1, delayMs: 0 }) }))
    a.must({ type: 'ContinueExecution', input: '1' })
    for (const request of [2, 3]) {
      a.must({ type: 'GrantLease', request, started: true })
      const error = { type: 'RETRYABLE', code: 'x', message: '', stack: null } as const
      a.must({ type: 'FailTask', error })
    }
    expect(a.task()).toMatchObject({ state: 'DEAD', retries: 1, budget: 1 })
  })

  it('is answered the same again, and a later lease hears that it is over', () => {
    const a = started()
    a.must({ type: 'ContinueExecution', input: '1' })
    expect(a.send({ type: 'ContinueExecution', input: '1' })).toMatchObject({
      verdict: 'committed',
      entry: null,
    })
    expect(a.send({ type: 'CommitExecution' }).verdict).toBe('cancelled')
    a.must({ type: 'GrantLease', request: 2 })
    expect(a.send({ type: 'ContinueExecution', input: '1', lease: 1 })).toMatchObject({
      verdict: 'committed',
      entry: null,
    })
  })

  it('is refused after the commit, and to a worker of an older version than its input is of', () => {
    const b = started()
    b.must({ type: 'CommitExecution', effects: [promise()] })
    const late = b.send({ type: 'ContinueExecution', input: '1' })
    expect(late.rejection?.code).toBe('AlreadyCommitted')
    const a = started()
    a.must({ type: 'ContinueExecution', input: '1', definitionVersion: 2 })
    a.must({ type: 'GrantLease', request: 2 })
    const old = a.send({ type: 'ContinueExecution', input: '1', definitionVersion: 1 })
    expect(old.rejection?.code).toBe('NewerDefinition')
    expect(a.send({ type: 'RecordStep', name: 's', value: '1' }).rejection?.code).toBe(
      'NewerDefinition',
    )
  })
})
