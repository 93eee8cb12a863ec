/** Streams of a task: offsets, attempts, and what a repeat is. */
import { describe, expect, it } from 'vitest'
import { Authority } from '../../../test/support/authority.ts'
import { failure, plain, retry } from '../../../test/support/specs.ts'
import { LIMITS } from '../index.ts'

function leased(): Authority {
  const a = new Authority()
  a.must({ type: 'SubmitJob', spec: plain({}, { retry: retry({ max: 0 }) }) })
  a.must({ type: 'GrantLease' })
  return a
}

const nap = {
  name: 'nap',
  message: null,
  schema: null,
  ask: null,
  delayMs: 5,
  dueAt: null,
  callee: null,
}

describe('a stream', () => {
  it('gives each value the next offset, from 0 on, and the task keeps offsets only', () => {
    const a = leased()
    a.must({ type: 'AppendStream', name: 'log', values: ['"one"', '"two"'] })
    a.must({ type: 'AppendStream', name: 'other', values: ['"three"'] })
    const { value } = a.must({ type: 'AppendStream', name: 'log', offset: 2, values: ['4'] })
    expect(value).toBe(3)
    expect(a.task().streams).toEqual([
      { name: 'log', next: 3, lease: 1, since: 0 },
      { name: 'other', next: 1, lease: 1, since: 0 },
    ])
    expect(JSON.stringify(a.task())).not.toContain('one')
  })

  it('shows that work began: the first append counts as the start', () => {
    const a = leased()
    expect(a.task().lease?.startedAt).toBeNull()
    a.must({ type: 'AppendStream', name: 'log', values: ['1'] })
    expect(a.task().lease?.startedAt).toBe(0)
  })

  it('goes on at its next offset after a suspension, a failure, and new input', () => {
    const a = leased()
    a.must({ type: 'AppendStream', name: 'log', values: ['1'] })
    a.must({ type: 'SuspendExecution', waits: [nap] })
    a.advance(5).must({ type: 'GrantLease', request: 2 })
    const again = { type: 'AppendStream', lease: 2, name: 'log' } as const
    expect(a.send({ ...again, values: ['1'] }).rejection?.details).toEqual({ next: 1 })
    a.must({ ...again, offset: 1, values: ['2'] })
    a.must({ type: 'FailTask', lease: 2, error: failure({ type: 'RETRYABLE' }) })
    a.must({ type: 'RetryTask', attempt: 2, input: '"new"' })
    a.must({ type: 'GrantLease', request: 3 })
    a.must({ ...again, lease: 3, offset: 2, values: ['3', '4'] })
    expect(a.task().streams).toEqual([{ name: 'log', next: 4, lease: 3, since: 2 }])
    // What an earlier attempt appended is not to be repeated by this one.
    const before = a.send({ ...again, lease: 3, offset: 1, values: ['2', '3'] })
    expect(before.rejection).toMatchObject({ code: 'WrongOffset', details: { next: 4 } })
  })

  it('takes no more values than an append, a stream and a task may have', () => {
    const a = leased()
    const values = Array.from({ length: LIMITS.streamValues }, () => '1')
    const append = { type: 'AppendStream', name: 'log' } as const
    expect(a.send({ ...append, values: [...values, '1'] }).rejection?.code).toBe('MalformedCommand')
    expect(a.send({ ...append, values: [] }).rejection?.message).toContain('a list of at least 1')
    const large = '1'.repeat(LIMITS.payloadChars)
    const nine = Array.from({ length: 9 }, () => large)
    expect(a.send({ ...append, values: nine }).rejection?.details).toMatchObject({
      limit: 'commitChars',
    })
    for (let offset = 0; offset + values.length <= LIMITS.streamLength;) {
      a.must({ ...append, offset, values })
      offset += values.length
    }
    const [stream] = a.task().streams
    const full = { ...append, offset: stream?.next ?? 0, values }
    expect(a.send(full).rejection?.details).toEqual({ limit: 'streamLength' })
  })
})
