/**
 * Waiting: what a suspension leaves behind, which wait a message ends, and what is kept.
 */
import { describe, expect, it } from 'vitest'
import { Authority } from '../../../test/support/authority.ts'
import { pipeline, plain, promise, stage } from '../../../test/support/specs.ts'
import type { WaitSpec } from '../index.ts'
import { LATEST_TIME_MS, LIMITS, NEVER_DUE } from '../index.ts'

function sleep(name: string, delayMs: number): WaitSpec {
  return { name, message: null, schema: null, ask: null, delayMs, dueAt: null, callee: null }
}

function message(name: string, delayMs: number | null = null): WaitSpec {
  return { ...sleep(name, 0), message: 'go', delayMs }
}

function started(spec = plain()): Authority {
  const a = new Authority()
  a.must({ type: 'SubmitJob', spec })
  a.must({ type: 'GrantLease', started: true })
  return a
}

function send(a: Authority, id: string): void {
  a.must({ type: 'SendMessage', id, name: 'go', value: `"${id}"` })
}

describe('a suspension', () => {
  it('ends the lease, costs nothing and gives a fresh budget', () => {
    const a = started()
    a.must({ type: 'RevokeLease' })
    a.must({ type: 'GrantLease', request: 2, started: true })
    expect(a.task().retries).toBe(1)
    a.must({ type: 'SuspendExecution', waits: [sleep('nap', 5)] })
    expect(a.task()).toMatchObject({ state: 'WAITING', retries: 1, budget: 4, dueAt: 5 })
    expect(a.state()).toBe('SUSPENDED')
    a.advance(5)
    expect(a.state()).toBe('QUEUED')
  })

  it('leaves the newest sixteen leases in mind', () => {
    const a = started()
    for (let i = 0; i < 20; i++) {
      a.must({ type: 'SuspendExecution', waits: [sleep(`nap ${i}`, 1)] })
      a.advance(1).must({ type: 'GrantLease', request: i + 2 })
    }
    a.must({ type: 'SuspendExecution', waits: [sleep('last', 1)] })
    expect(a.task().leases.map(({ number }) => number)).toEqual(
      Array.from({ length: LIMITS.leasesAfterSuspension }, (_, i) => i + 6),
    )
    expect(a.send({ type: 'StartExecution', lease: 2 }).verdict).toBe('cancelled')
  })

  it('stands in line by its first due time, and has it back when it is granted', () => {
    const a = started(plain({ delayMs: 0 }))
    a.advance(7).must({ type: 'SuspendExecution', waits: [sleep('nap', 5)] })
    a.advance(5).must({ type: 'GrantLease', request: 2 })
    expect(a.task()).toMatchObject({ dueAt: 0, waiting: { firstDueAt: 0, suspended: null } })
  })

  it('that waits for messages alone has no time', () => {
    const a = started()
    a.must({ type: 'SuspendExecution', waits: [message('one'), message('two')], needs: 'all' })
    expect(a.task().dueAt).toBe(NEVER_DUE)
    send(a, 'm1')
    expect(a.task().dueAt).toBe(NEVER_DUE)
    send(a, 'm2')
    expect(a.task().waiting?.waits.map(({ value }) => value)).toEqual(['"m1"', '"m2"'])
    expect(a.state()).toBe('QUEUED')
  })

  it('keeps the time of a wait that it names again', () => {
    const a = started()
    a.must({ type: 'SuspendExecution', waits: [sleep('nap', 9), message('answer')] })
    send(a, 'm1')
    a.advance(3).must({ type: 'GrantLease', request: 2 })
    a.must({ type: 'SuspendExecution', waits: [sleep('nap', 9)] })
    expect(a.task().dueAt).toBe(9)
  })

  it('goes by the later of a delay and a time', () => {
    const a = started()
    a.must({ type: 'SuspendExecution', waits: [{ ...sleep('nap', 2), dueAt: 30 }] })
    expect(a.task().dueAt).toBe(30)
  })

  it.each<[string, WaitSpec[], RegExp]>([
    ['nothing', [], /names at least one wait/],
    ['what asks without a message', [{ ...sleep('nap', 1), ask: '"?"' }], /names no message/],
    ['a time that never comes', [{ ...sleep('nap', 1), dueAt: LATEST_TIME_MS }], /too far ahead/],
  ])('for %s is refused', (_what, waits, why) => {
    const { rejection } = started().send({ type: 'SuspendExecution', waits })
    expect(rejection).toMatchObject({ code: 'InvalidWait', message: why })
  })

  it('that carries too much is refused', () => {
    const schema = 'x'.repeat(LIMITS.payloadChars)
    const waits = Array.from({ length: 9 }, (_, i) => ({ ...message(`w${i}`), schema }))
    const { rejection } = started().send({ type: 'SuspendExecution', waits })
    expect(rejection).toMatchObject({ code: 'LimitExceeded', details: { limit: 'commitChars' } })
  })
})

describe('a wait', () => {
  it('that a lease suspended for is told to the next lease, and never to that one', () => {
    const a = started()
    const wait = message('go')
    a.must({ type: 'SuspendExecution', waits: [wait] })
    const late = { type: 'EndWait', lease: 1, wait, message: 'm1' } as const
    expect(a.send(late).verdict).toBe('cancelled')
    send(a, 'm1')
    expect(a.send(late).verdict).toBe('cancelled')
    a.must({ type: 'GrantLease', request: 2, started: true })
    const told = a.send({ ...late, lease: 2 })
    expect(told).toMatchObject({ verdict: 'committed', value: '"m1"', entry: null })
    expect(a.send(late).verdict).toBe('cancelled')
  })

  it('that an earlier suspension named, and the newest does not, is not ended by a message', () => {
    const a = started()
    a.must({ type: 'SuspendExecution', waits: [message('first'), sleep('nap', 1)] })
    a.advance(1).must({ type: 'GrantLease', request: 2 })
    a.must({ type: 'SuspendExecution', waits: [message('second')] })
    send(a, 'm1')
    expect(a.task().waiting?.waits.map(({ name, endedBy }) => `${name} ${endedBy}`)).toEqual([
      'first null',
      'nap time',
      'second message',
    ])
  })

  it('is not ended by a message that comes at its time', () => {
    const a = started()
    a.must({ type: 'SuspendExecution', waits: [message('answer', 5)] })
    a.advance(5)
    send(a, 'm1')
    expect(a.task().waiting?.messages).toMatchObject([{ id: 'm1', state: 'KEPT' }])
    a.must({ type: 'GrantLease', request: 2 })
    expect(a.task().waiting?.waits).toMatchObject([{ name: 'answer', endedBy: 'time' }])
  })

  it('takes messages in order, and tells which is first', () => {
    const a = started()
    send(a, 'm1')
    send(a, 'm2')
    const wait = message('answer')
    const refused = a.send({ type: 'EndWait', wait, message: 'm2' }).rejection
    expect(refused).toMatchObject({
      code: 'WaitSettled',
      details: { message: { id: 'm1', value: '"m1"' } },
    })
    expect(a.must({ type: 'EndWait', wait, message: 'm1' }).value).toBe('"m1"')
    expect(a.send({ type: 'EndWait', wait, message: 'm1' }).value).toBe('"m1"')
    const other = message('other')
    expect(a.must({ type: 'EndWait', wait: other, message: 'm2' }).value).toBe('"m2"')
    expect(a.send({ type: 'EndWait', wait: message('more'), message: 'm2' }).rejection?.code).toBe(
      'MessageNotKept',
    )
  })

  it.each<[string, WaitSpec, RegExp]>([
    ['its message has not come', message('answer'), /its message has not come/],
    ['its time is not over', sleep('nap', 9), /it has 9 ms left/],
  ])('does not end in place while %s', (_why, wait, why) => {
    const { rejection } = started().send({ type: 'EndWait', wait })
    expect(rejection).toMatchObject({ code: 'WaitNotSettled', message: why })
  })

  it('that has ended is not waited for again', () => {
    const a = started()
    a.must({ type: 'EndWait', wait: sleep('nap', 0) })
    expect(a.send({ type: 'SuspendExecution', waits: [sleep('nap', 5)] }).rejection?.code).toBe(
      'WaitOver',
    )
    expect(a.send({ type: 'SuspendExecution', waits: [sleep('no', 0)] }).rejection).toMatchObject({
      code: 'WaitSettled',
      message: /its time is over/,
    })
  })

  it('is dropped by new input, with the steps, what was taken and the version that recorded them', () => {
    const a = started(plain({}, { retry: { ...plain().policy!.retry, max: 0 } }))
    send(a, 'm1')
    a.must({ type: 'RecordStep', name: 's', value: '1', definitionVersion: 3 })
    const wait = message('answer')
    a.must({ type: 'EndWait', wait, message: 'm1', definitionVersion: 3 })
    send(a, 'm2')
    a.must({ type: 'FailTask', error: { type: 'RETRYABLE', code: 'x', message: '', stack: null } })
    a.must({ type: 'RetryTask', input: '"new"' })
    expect(a.task()).toMatchObject({ steps: [], definitionVersion: 0, input: '"new"' })
    const { waits, messages, firstDueAt } = a.task().waiting!
    expect({ waits, firstDueAt }).toEqual({ waits: [], firstDueAt: null })
    expect(messages).toMatchObject([{ id: 'm2', state: 'KEPT' }])
    expect(a.send({ type: 'SendMessage', id: 'm1', name: 'go', value: '2' }).entry).not.toBeNull()
  })
})

describe('a message', () => {
  it('that does not fit is skipped, once', () => {
    const a = started()
    send(a, 'm1')
    const waits = [message('answer')]
    a.must({ type: 'SuspendExecution', waits, unfit: ['m1'] })
    expect(a.task().waiting?.messages).toMatchObject([{ id: 'm1', state: 'SKIPPED', value: null }])
    send(a, 'm2')
    a.must({ type: 'GrantLease', request: 2 })
    const again = { waits: [message('more')], unfit: ['m1'] }
    expect(a.send({ type: 'SuspendExecution', ...again }).rejection?.code).toBe('MessageNotKept')
  })

  it('is remembered after many others, until they are too many', () => {
    const a = started()
    const few = LIMITS.messagesRemembered / 4
    for (let i = 0; i < 5 * few; i++) {
      a.must({ type: 'SendMessage', id: `m${i}`, name: 'go', value: '1' })
      if (i >= few) a.must({ type: 'SendMessage', id: `m${i}`, name: 'go', value: '1' })
      if (i % 100 === 99) {
        const kept = a.task().waiting?.messages.filter(({ state }) => state === 'KEPT') ?? []
        a.must({
          type: 'EndWait',
          wait: sleep(`nap ${i}`, 0),
          unfit: kept.map(({ id }) => id),
        })
      }
    }
    expect(a.task().waiting?.messages.length).toBe(LIMITS.messagesRemembered)
    expect(a.task().waiting?.messages[0]?.id).toBe(`m${few}`)
  })

  it('is refused once the task is committed, or over', () => {
    const a = started()
    a.must({ type: 'CommitExecution', effects: [promise({ idempotent: true })] })
    const late = { type: 'SendMessage', id: 'm', name: 'go', value: '1' } as const
    expect(a.send(late).rejection?.code).toBe('AlreadyCommitted')
    a.must({ type: 'StartEffect' })
    a.must({ type: 'FinishEffect' })
    expect(a.send(late).rejection?.code).toBe('TaskFinal')
  })
})

function toStage(a: Authority, at: number, segment = 0, id = 'm'): ReturnType<Authority['send']> {
  return a.send({ type: 'SendMessage', stage: at, segment, id, name: 'go', value: '1' })
}

describe('a message to a stage that is not open', () => {
  const twoStages = pipeline([
    stage('first'),
    stage('then', { after: ['first'] }),
    stage('each', { after: ['first'], each: 'first' }),
  ])

  it('is kept by the job once, and handed over to the segment that it names', () => {
    const a = new Authority()
    a.must({ type: 'SubmitJob', spec: twoStages })
    expect(toStage(a, 1).entry?.type).toBe('MessageKept')
    expect(toStage(a, 1)).toMatchObject({ verdict: 'committed', entry: null })
    toStage(a, 2, 1)
    toStage(a, 2, 7)
    a.must({ type: 'OpenStage' })
    a.must({ type: 'GrantLease', started: true })
    a.must({ type: 'CommitExecution', output: '[1,2]' })
    a.must({ type: 'OpenStage', stage: 1 })
    expect(a.world.jobs.get('a')?.messages).toHaveLength(2)
    a.must({ type: 'OpenStage', stage: 2 })
    expect(a.world.jobs.get('a')?.messages).toEqual([])
    expect(a.task('a', 1).waiting?.messages).toMatchObject([{ id: 'm', state: 'KEPT' }])
    expect(a.task('a', 2, 0).waiting).toBeNull()
    expect(a.task('a', 2, 1).waiting?.messages).toMatchObject([{ id: 'm' }])
  })

  it('is dropped if the stage opens with nothing but a failure', () => {
    const a = new Authority()
    a.must({ type: 'SubmitJob', spec: twoStages })
    toStage(a, 2)
    a.must({ type: 'OpenStage' })
    a.must({ type: 'GrantLease', started: true })
    a.must({ type: 'CommitExecution', output: '"no list"' })
    a.must({ type: 'OpenStage', stage: 2 })
    expect(a.task('a', 2)).toMatchObject({ state: 'FAILED', waiting: null })
  })

  it('is refused if there is no such segment or stage, or too many are kept, or the job is ending', () => {
    const a = new Authority()
    a.must({ type: 'SubmitJob', spec: twoStages })
    expect(toStage(a, 1, 1).rejection?.code).toBe('UnknownTask')
    expect(toStage(a, 5).rejection?.code).toBe('UnknownTask')
    for (let i = 0; i < LIMITS.messages; i++) toStage(a, 1, 0, `m${i}`)
    expect(toStage(a, 1, 0, 'more').rejection).toMatchObject({ code: 'LimitExceeded' })
    a.must({ type: 'CancelJob' })
    expect(toStage(a, 1, 0, 'late').rejection?.code).toBe('JobEnding')
  })

  it('is none for a plain job', () => {
    const a = started()
    expect(toStage(a, 1).rejection?.code).toBe('UnknownTask')
  })
})
