/**
 * Jobs that call jobs: when a callee is submitted, how its end comes to its caller, and how long it stays.
 */
import { describe, expect, it } from 'vitest'
import { Authority } from '../../../test/support/authority.ts'
import {
  call,
  caller,
  child,
  failure,
  pipeline,
  plain,
  promise,
  stage,
} from '../../../test/support/specs.ts'
import type { JobSpec, WaitSpec } from '../index.ts'
import { calleeId, LIMITS, NEVER_DUE } from '../index.ts'

const CALLEE = calleeId(caller())
const callee = plain({ caller: caller() })

function started(spec = plain()): Authority {
  const a = new Authority()
  a.must({ type: 'SubmitJob', spec })
  a.must({ type: 'GrantLease', started: true })
  return a
}

/** The caller waits, and its callee is submitted. */
function called(wait: WaitSpec = call()): Authority {
  const a = started()
  a.must({ type: 'SuspendExecution', waits: [wait] })
  a.must({ type: 'SubmitJob', job: CALLEE, spec: wait.callee! })
  return a
}

function finish(a: Authority, output = '42'): void {
  a.must({ type: 'GrantLease', job: CALLEE, started: true })
  a.must({ type: 'CommitExecution', job: CALLEE, output })
}

describe('a callee', () => {
  it('is submitted after the suspension that carries it, and again changes nothing', () => {
    const a = started()
    const early = a.send({ type: 'SubmitJob', job: CALLEE, spec: callee })
    expect(early.rejection?.code).toBe('UnknownCaller')
    a.must({ type: 'SuspendExecution', waits: [call()] })
    expect(a.task().dueAt).toBe(NEVER_DUE)
    expect(a.send({ type: 'AnswerCall', name: 'call' }).rejection?.code).toBe('CalleeNotOver')
    a.must({ type: 'SubmitJob', job: CALLEE, spec: callee })
    expect(a.send({ type: 'SubmitJob', job: CALLEE, spec: callee })).toMatchObject({
      verdict: 'committed',
      entry: null,
    })
  })

  it('that was erased before its caller was told says so, and no output', () => {
    const a = called()
    finish(a)
    a.must({ type: 'EraseJob', job: CALLEE })
    a.must({ type: 'AnswerCall', name: 'call' })
    expect(a.task().waiting?.waits[0]?.value).toBe('{"state":"SUCCEEDED","erased":true}')
  })

  it('has the id that follows from its caller, its wait and its run, and the spec that was carried', () => {
    const a = started()
    a.must({ type: 'SuspendExecution', waits: [call()] })
    const submit = (job: string, spec: JobSpec): string | undefined =>
      a.send({ type: 'SubmitJob', job, spec }).rejection?.code
    expect(submit('other', callee)).toBe('InvalidSpec')
    expect(submit(CALLEE, { ...callee, priority: 1 })).toBe('UnknownCaller')
    const run = caller({ run: '2' })
    expect(submit(calleeId(run), { ...callee, caller: run })).toBe('UnknownCaller')
    const stranger = caller({ job: 'b' })
    expect(submit(calleeId(stranger), { ...callee, caller: stranger })).toBe('UnknownCaller')
    expect(calleeId(run)).not.toBe(CALLEE)
  })

  it('is not submitted once its caller goes on without it, and is when it waits for it again', () => {
    const a = started()
    const nap: WaitSpec = { ...call(), name: 'nap', callee: null, delayMs: 5 }
    a.must({ type: 'SuspendExecution', waits: [call(), nap] })
    a.advance(5).must({ type: 'GrantLease', request: 2 })
    const submit = { type: 'SubmitJob', job: CALLEE, spec: callee } as const
    expect(a.send(submit).rejection?.code).toBe('UnknownCaller')
    // The run of the wait that is known counts, not that of the attempt that asks again.
    a.must({ type: 'SuspendExecution', waits: [call({ run: '2' })] })
    a.must(submit)
    a.must({ type: 'CancelJob' })
    finish(a)
    expect(a.state(CALLEE)).toBe('SUCCEEDED')
  })

  it('answers its caller when it is over, however it ended', () => {
    const ends: [(a: Authority) => void, unknown][] = [
      [(a) => finish(a), { state: 'SUCCEEDED', output: 42 }],
      [
        (a) => {
          a.must({ type: 'GrantLease', job: CALLEE, started: true })
          a.must({ type: 'FailTask', job: CALLEE, error: failure({ type: 'TERMINAL' }) })
        },
        { state: 'FAILED', cancelled: null, error: failure({ type: 'TERMINAL' }) },
      ],
      [
        (a) => void a.must({ type: 'CancelJob', job: CALLEE }),
        {
          state: 'FAILED',
          cancelled: { at: 0, by: 'ops', reason: 'because', deadline: false },
          error: null,
        },
      ],
    ]
    for (const [end, value] of ends) {
      const a = called()
      const early = a.send({ type: 'AnswerCall', name: 'call' })
      expect(early.rejection?.code).toBe('CalleeNotOver')
      end(a)
      expect(a.must({ type: 'AnswerCall', name: 'call' }).entry).toMatchObject({
        type: 'MessageSent',
        id: CALLEE,
        wait: 'call',
        by: 'callee',
      })
      const [wait] = a.task().waiting!.waits
      expect(wait).toMatchObject({ endedBy: 'callee', endedAt: 0 })
      expect(JSON.parse(wait!.value!)).toEqual(value)
      expect(a.state()).toBe('QUEUED')
      expect(a.send({ type: 'AnswerCall', name: 'call' }).entry).toBeNull()
      expect(a.task().waiting?.messages).toEqual([])
    }
  })

  it('that waits for a person keeps its caller waiting', () => {
    const a = called(call({}, plain({}, { retry: { ...plain().policy!.retry, max: 0 } })))
    a.must({ type: 'GrantLease', job: CALLEE, started: true })
    a.must({ type: 'FailTask', job: CALLEE, error: failure() })
    expect(a.state(CALLEE)).toBe('QUARANTINED')
    const { rejection } = a.send({ type: 'AnswerCall', name: 'call' })
    expect(rejection).toMatchObject({ code: 'CalleeNotOver', details: { state: 'QUARANTINED' } })
    a.must({ type: 'CancelJob', job: CALLEE })
    a.must({ type: 'AnswerCall', name: 'call' })
  })

  it('that is a pipeline says that it is over, and keeps its outputs', () => {
    const a = called(call({}, pipeline([stage('only')])))
    a.must({ type: 'OpenStage', job: CALLEE })
    a.must({ type: 'GrantLease', job: CALLEE, started: true })
    a.must({ type: 'CommitExecution', job: CALLEE })
    a.must({ type: 'AnswerCall', name: 'call' })
    expect(a.task().waiting?.waits[0]?.value).toBe('{"state":"SUCCEEDED"}')
    const b = called(call({}, pipeline([stage('only')])))
    b.must({ type: 'CancelJob', job: CALLEE })
    b.must({ type: 'AnswerCall', name: 'call' })
    expect(b.task().waiting?.waits[0]?.value).toContain('"error":null')
  })

  it('that is over already lets the next attempt end the wait in place', () => {
    const a = started()
    const nap: WaitSpec = { ...call(), name: 'nap', callee: null, delayMs: 5 }
    a.must({ type: 'SuspendExecution', waits: [call(), nap] })
    a.must({ type: 'SubmitJob', job: CALLEE, spec: callee })
    a.advance(5).must({ type: 'GrantLease', request: 2 })
    const wait = call({ run: '2' })
    const open = a.send({ type: 'EndWait', wait, message: CALLEE })
    expect(open.rejection?.code).toBe('MessageNotKept')
    finish(a)
    const passedOver = a.send({ type: 'EndWait', wait })
    expect(passedOver.rejection).toMatchObject({
      code: 'WaitSettled',
      details: { message: { id: CALLEE, value: '{"state":"SUCCEEDED","output":42}' } },
    })
    const ended = a.must({ type: 'EndWait', wait, message: CALLEE })
    expect(ended.value).toBe('{"state":"SUCCEEDED","output":42}')
    expect(a.task().waiting?.waits[0]).toMatchObject({ endedBy: 'callee', value: ended.value })
    expect(a.send({ type: 'EndWait', wait, message: CALLEE }).value).toBe(ended.value)
  })

  it('is kept until its caller is over, or has begun anew', () => {
    const forget = { type: 'ForgetJob', job: CALLEE, endedBefore: 1 } as const
    const a = called()
    finish(a)
    a.advance(1)
    expect(a.send(forget).rejection?.code).toBe('CallerNotOver')
    a.must({ type: 'AnswerCall', name: 'call' })
    expect(a.send(forget).rejection?.code).toBe('CallerNotOver')
    a.must({ type: 'GrantLease', request: 2 })
    a.must({ type: 'ContinueExecution', input: '1' })
    a.must(forget)
    const b = called()
    finish(b)
    b.advance(1).must({ type: 'CancelJob' })
    b.must(forget)
  })
})

describe('a call', () => {
  it('whose time is over is not answered any more', () => {
    const a = called({ ...call(), delayMs: 5 })
    finish(a)
    a.advance(5)
    const late = a.send({ type: 'AnswerCall', name: 'call' })
    expect(late.rejection?.code).toBe('UnknownCall')
    a.must({ type: 'GrantLease', request: 2 })
    expect(a.task().waiting?.waits).toMatchObject([{ endedBy: 'time', value: null }])
    expect(a.send({ type: 'AnswerCall', name: 'call' })).toMatchObject({
      verdict: 'committed',
      entry: null,
    })
  })

  it('is ended by no message, whatever its name', () => {
    const a = called()
    a.must({ type: 'SendMessage', id: CALLEE, name: CALLEE, value: '"forged"' })
    expect(a.task().waiting?.waits[0]?.endedAt).toBeNull()
    finish(a)
    a.must({ type: 'AnswerCall', name: 'call' })
    expect(a.task().waiting?.waits[0]?.value).toContain('42')
  })

  it('of a task that has none by that name is refused', () => {
    const a = started()
    expect(a.send({ type: 'AnswerCall', name: 'call' }).rejection?.code).toBe('UnknownCall')
    for (const nowhere of [{ job: 'none' }, { stage: 1 }]) {
      const unknown = a.send({ type: 'AnswerCall', name: 'call', ...nowhere })
      expect(unknown.rejection?.code).toBe('UnknownTask')
    }
    const wait: WaitSpec = { ...call(), callee: null, message: 'go' }
    a.must({ type: 'SuspendExecution', waits: [wait] })
    expect(a.send({ type: 'AnswerCall', name: 'call' }).rejection?.code).toBe('UnknownCall')
  })

  it('of a job whose id another job has is not answered by it', () => {
    const a = started()
    a.must({ type: 'SubmitJob', job: CALLEE, spec: plain() })
    a.must({ type: 'SuspendExecution', waits: [call()] })
    expect(a.send({ type: 'SubmitJob', job: CALLEE, spec: callee }).rejection?.code).toBe(
      'IdReused',
    )
    finish(a)
    expect(a.send({ type: 'AnswerCall', name: 'call' }).rejection?.code).toBe('CalleeNotOver')
  })

  it('stays a call: what else is waited for has another name', () => {
    const a = started()
    const nap: WaitSpec = { ...call(), name: 'nap', callee: null, delayMs: 5 }
    a.must({ type: 'SuspendExecution', waits: [call(), nap] })
    a.advance(5).must({ type: 'GrantLease', request: 2 })
    const waits = [{ ...call(), callee: null, message: 'go' }]
    const { rejection } = a.send({ type: 'SuspendExecution', waits })
    expect(rejection).toMatchObject({ code: 'InvalidWait', message: /calls a job/ })
  })

  const wrong: [string, WaitSpec, string, RegExp][] = [
    ['a message, too', { ...call(), message: 'go' }, 'InvalidWait', /wait for one of them/],
    ['a question', { ...call(), ask: '"?"' }, 'InvalidWait', /names no message/],
    ['no caller', { ...call(), callee: plain() }, 'InvalidSpec', /must name as its caller/],
    ['another caller', call({ segment: 1 }), 'InvalidSpec', /task a\/0\/0, wait 'call'/],
    ['a wrong depth', call({ depth: 2 }), 'InvalidSpec', /depth 1/],
    ['a key', call({}, plain({ key: 'k' })), 'InvalidSpec', /no key, parent or schedule/],
    ['a wrong field', call({}, plain({ priority: 1e9 })), 'InvalidSpec', /callee of wait 'call'/],
    ['no stage to run', call({}, pipeline([])), 'InvalidShape', /no stage to run/],
  ]
  it.each(wrong)('with %s is refused', (_what, wait, code, why) => {
    const { rejection } = started().send({ type: 'SuspendExecution', waits: [wait] })
    expect(rejection).toMatchObject({ code, message: why })
  })

  it('below too many callers is refused', () => {
    const a = started()
    let job = 'a'
    for (let depth = 1; depth <= LIMITS.callDepth; depth++) {
      const wait = call({ job, depth })
      a.must({ type: 'SuspendExecution', job, waits: [wait] })
      job = calleeId(wait.callee!.caller!)
      a.must({ type: 'SubmitJob', job, spec: wait.callee! })
      a.must({ type: 'GrantLease', job, started: true })
    }
    const waits = [call({ job, depth: LIMITS.callDepth + 1 })]
    const { rejection } = a.send({ type: 'SuspendExecution', job, waits })
    expect(rejection).toMatchObject({ code: 'LimitExceeded', details: { limit: 'callDepth' } })
  })

  it('counts towards what a suspension may carry', () => {
    const input = `"${'x'.repeat(LIMITS.payloadChars - 2)}"`
    const waits = Array.from({ length: 9 }, (_, i) => call({ name: `c${i}` }, plain({ input })))
    const { rejection } = started().send({ type: 'SuspendExecution', waits })
    expect(rejection).toMatchObject({ code: 'LimitExceeded', details: { limit: 'commitChars' } })
  })
})

it('a child names no caller', () => {
  const a = started()
  const effects = [{ ...child(plain({ caller: caller() })) }, promise()]
  expect(a.send({ type: 'CommitExecution', effects }).rejection?.message).toContain('or caller')
})
