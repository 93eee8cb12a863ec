/** A job that is replaced before it begins: what it keeps, what counts anew, and who is second. */
import { describe, expect, it } from 'vitest'
import { Authority } from '../../../test/support/authority.ts'
import { child, pipeline, plain, promise, stage } from '../../../test/support/specs.ts'
import type { Job, JobSpec } from '../index.ts'
import { inputOf, inputVersionOf, LIMITS } from '../index.ts'

function submitted(spec: JobSpec): Authority {
  const a = new Authority()
  a.must({ type: 'SubmitJob', spec })
  return a
}

function jobOf(a: Authority): Job {
  return a.world.jobs.get('a') as Job
}

describe('a job that is replaced', () => {
  it('has the input and the version of the newest submit, and keeps its key', () => {
    const a = submitted(plain({ input: '1', key: 'k' }))
    expect([inputOf(jobOf(a)), inputVersionOf(jobOf(a))]).toEqual(['1', 1])
    a.must({ type: 'ReplaceJob', input: '2', definitionVersion: 3 })
    expect(inputOf(jobOf(a))).toBe('2')
    expect(inputVersionOf(jobOf(a))).toBe(3)
    const spec = plain({ input: '2', key: 'k' })
    expect(a.send({ type: 'SubmitJob', job: 'b', spec }).value).toBe('a')
    const first = plain({ input: '1', key: 'k' })
    expect(a.send({ type: 'SubmitJob', job: 'b', spec: first }).rejection?.code).toBe('KeyReused')
    expect(a.send({ type: 'SubmitJob', spec: first }).value).toBe('a')
  })

  it('is due, starts and ends as if it were submitted now; a fixed deadline stays', () => {
    const spec = { delayMs: 10, startWithinMs: 5, deadlineMs: 100, deadlineAt: 120 }
    const a = submitted(plain(spec))
    a.advance(8).must({ type: 'ReplaceJob', input: '2', delayMs: 10 })
    expect(jobOf(a)).toMatchObject({ dueAt: 18, deadlineAt: 108 })
    expect(a.task()).toMatchObject({ dueAt: 18, startBy: 23 })
    a.advance(10).must({ type: 'ReplaceJob', replacement: 'r2', input: '3', dueAt: 50 })
    expect(a.task()).toMatchObject({ dueAt: 50, startBy: 55 })
    a.advance(20).must({ type: 'ReplaceJob', replacement: 'r3', input: '4', dueAt: 50 })
    expect(jobOf(a).deadlineAt).toBe(120)
  })

  it('has none of the steps that it began with: they were made of the old input', () => {
    const a = submitted(plain({ steps: [{ name: 'one', value: '1' }], rerunOf: 'z' }))
    expect(a.task().steps).toHaveLength(1)
    a.must({ type: 'ReplaceJob', input: '2' })
    expect(a.task().steps).toEqual([])
  })

  it('keeps the priority and the queue that it was rescheduled to, and what was sent to it', () => {
    const a = submitted(plain())
    a.must({ type: 'RescheduleTask', attempt: 0, priority: 7, toQueue: 'other' })
    a.must({ type: 'SendMessage', id: 'm', name: 'go', value: '1', stage: 0, segment: 0 })
    a.must({ type: 'ReplaceJob', input: '2' })
    expect(a.task()).toMatchObject({ priority: 7, policy: { queue: 'other' } })
    expect(a.task().waiting?.messages).toHaveLength(1)
  })

  it('stays held', () => {
    const a = submitted(plain({ held: true }))
    a.must({ type: 'ReplaceJob', input: '2' })
    expect(a.state()).toBe('CREATED')
    expect(a.send({ type: 'GrantLease' }).rejection?.code).toBe('JobHeld')
  })

  it('remembers the newest submits that replaced it, also when it is over', () => {
    const a = submitted(plain())
    for (let i = 0; i <= LIMITS.replacements; i++) {
      a.must({ type: 'ReplaceJob', replacement: `r${i}`, input: `${i}` })
    }
    const entries = a.log.length
    expect(a.send({ type: 'ReplaceJob', replacement: 'r1', input: '1' }).value).toBe('a')
    a.must({ type: 'CancelJob' })
    expect(a.send({ type: 'ReplaceJob', replacement: 'r1', input: '1' }).value).toBe('a')
    expect(a.log.length).toBe(entries + 1)
    // So many came after it that it is out of mind.
    const forgotten = a.send({ type: 'ReplaceJob', replacement: 'r0', input: '0' })
    expect(forgotten.rejection?.code).toBe('JobEnding')
  })

  it('is the job that a child with its key is answered with only while it has the input', () => {
    const a = new Authority()
    const spec = plain({ key: 'k', input: '1' })
    a.must({ type: 'SubmitJob', job: 'holder', spec })
    a.must({ type: 'SubmitJob', spec: plain() })
    a.must({ type: 'GrantLease', started: true })
    a.must({ type: 'CommitExecution', effects: [child(spec)] })
    a.must({ type: 'StartEffect' })
    a.must({ type: 'ReplaceJob', job: 'holder', input: '2' })
    // Said aloud, and not recorded as done: no job runs with that input.
    expect(a.send({ type: 'FinishEffect' }).rejection?.code).toBe('ChildNotSubmitted')
    a.must({ type: 'ReplaceJob', job: 'holder', replacement: 'r2', input: '1' })
    a.must({ type: 'FinishEffect' })
  })
})

describe('a job that has begun is not replaced', () => {
  it('whether its task is a worker’s, waits for a retry, or was settled by an operator', () => {
    const a = submitted(plain())
    a.must({ type: 'GrantLease', started: true })
    const refusal = (): unknown => a.send({ type: 'ReplaceJob', input: '2' }).rejection?.code
    expect(refusal()).toBe('JobBegun')
    a.must({ type: 'ReleaseLease' })
    expect(refusal()).toBe('JobBegun')
    const b = submitted(plain())
    b.must({ type: 'ForceTask', attempt: 0, to: 'COMPLETED', output: '1' })
    const { rejection } = b.send({ type: 'ReplaceJob', input: '2' })
    expect(rejection?.code).toBe('JobBegun')
    expect(rejection?.message).toContain('is COMPLETED')
  })

  it('and a grant that is second sees the new input and time', () => {
    const a = submitted(plain())
    a.must({ type: 'ReplaceJob', input: '2', delayMs: 5 })
    expect(a.send({ type: 'GrantLease' }).rejection?.code).toBe('TaskNotDue')
  })

  it('once its deadline has passed, although the cancel is not written', () => {
    const a = submitted(plain({ deadlineMs: 5 }))
    a.advance(5)
    expect(a.send({ type: 'ReplaceJob', input: '2' }).rejection?.code).toBe('DeadlinePassed')
  })
})

describe('a pipeline that is replaced', () => {
  const stages = [stage('work', { each: 'input' })]

  it('opens with as many segments as the new input has', () => {
    const a = submitted(pipeline(stages, { input: '[1,2]', delayMs: 5 }))
    a.must({ type: 'ReplaceJob', input: '[1,2,3]', delayMs: 9 })
    a.must({ type: 'OpenStage' })
    expect(a.world.tasks.get('a')?.[0]).toHaveLength(3)
    expect(a.task('a', 0, 2).dueAt).toBe(9)
  })

  it('is refused once a stage is open, whatever its `each`: tasks have their own due times', () => {
    const a = submitted(pipeline([stage('first'), stage('then', { after: ['first'] })]))
    a.must({ type: 'OpenStage' })
    const { rejection } = a.send({ type: 'ReplaceJob', input: '2' })
    expect(rejection?.code).toBe('JobBegun')
    expect(rejection?.message).toContain("Stage 'first' of job a is open")
  })

  it('is refused while it is ending, before any stage was opened', () => {
    const sorry = stage('sorry', { onFailure: true })
    const a = submitted(pipeline([...stages, sorry], { input: '[1]', held: true }))
    a.must({ type: 'CancelJob' })
    expect(a.send({ type: 'ReplaceJob', input: '[2]' }).rejection?.code).toBe('JobEnding')
  })
})

describe('a commit', () => {
  it('of a job that was replaced is a commit like any other', () => {
    const a = submitted(plain())
    a.must({ type: 'ReplaceJob', input: '2' })
    a.must({ type: 'GrantLease', started: true })
    a.must({ type: 'CommitExecution', effects: [promise()] })
    expect(a.state()).toBe('RUNNING')
  })
})
