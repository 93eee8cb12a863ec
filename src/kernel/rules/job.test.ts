/** Jobs: where children come from, what each may name, and what ends with a cancel. */
import { describe, expect, it } from 'vitest'
import { Authority } from '../../../test/support/authority.ts'
import { child, pipeline, plain, promise, stage } from '../../../test/support/specs.ts'
import type { EffectPromise, Job, JobSpec } from '../index.ts'
import { childId, countTallies, LIMITS, openableStages } from '../index.ts'

const parent = { job: 'a', stage: 0, segment: 0, effect: 0 }

function submitChild(a: Authority, spec: JobSpec, origin = parent) {
  return a.send({ type: 'SubmitJob', job: childId(origin), spec: { ...spec, parent: origin } })
}

function committedWith(...effects: EffectPromise[]): Authority {
  const a = new Authority()
  a.must({ type: 'SubmitJob', spec: plain() })
  a.must({ type: 'GrantLease', started: true })
  a.must({ type: 'CommitExecution', effects })
  return a
}

describe('a child', () => {
  it('is accepted as it was promised', () => {
    const spec = plain({ tags: ['x'] })
    expect(submitChild(committedWith(child(spec)), spec).verdict).toBe('committed')
  })

  it.each([
    ['whose parent is not there', new Authority(), plain(), parent],
    ['of an effect that was not promised', committedWith(), plain(), parent],
    ['of an effect that is no child', committedWith(promise()), plain(), parent],
    [
      'of other content than was promised',
      committedWith(child(plain())),
      plain({ priority: 1 }),
      parent,
    ],
  ])('%s is refused', (_what, a, spec, origin) => {
    const { rejection } = submitChild(a, spec, origin)
    expect(rejection?.code).toBe('UnknownParent')
    expect(rejection?.check).toBe('child-promised')
    expect(rejection?.message).toBe('No commit of job a promised this child.')
  })

  it('must have the id that follows from its parent', () => {
    const a = committedWith(child(plain()))
    const { rejection } = a.send({ type: 'SubmitJob', job: 'mine', spec: plain({ parent }) })
    expect(rejection?.check).toBe('derived-id')
    expect(rejection?.details).toEqual({ expected: 'a/0/0/0' })
  })
})

describe('a key', () => {
  it('held by a unique job that is active is no key for other input', () => {
    const a = new Authority()
    a.must({ type: 'SubmitJob', spec: plain({ key: 'k', unique: true }) })
    const { rejection } = a.send({
      type: 'SubmitJob',
      job: 'b',
      spec: plain({ key: 'k', input: '1' }),
    })
    expect(rejection?.code).toBe('KeyReused')
    expect(rejection?.details).toEqual({ job: 'a', key: 'k' })
  })

  it.each([
    ['a field that is wrong', plain({ key: 'k', priority: 0.5 })],
    ['a field that nobody knows', { ...plain({ key: 'k' }), color: 'red' }],
    ['neither a policy nor stages', plain({ key: 'k', policy: null })],
  ])('that is known does not answer for a spec with %s', (_what, spec) => {
    const a = new Authority()
    a.must({ type: 'SubmitJob', spec: plain({ key: 'k' }) })
    const again = a.send({ type: 'SubmitJob', job: 'b', spec: plain({ key: 'k' }) })
    expect(again.value).toBe('a')
    const { rejection } = a.send({ type: 'SubmitJob', job: 'b', spec })
    expect(rejection?.code).toBe('InvalidSpec')
    expect(rejection?.check).toBe('valid-fields')
  })
})

function heldAndCancelled(): Authority {
  const a = new Authority()
  const stages = [stage('build'), stage('notify', { onFailure: true })]
  a.must({ type: 'SubmitJob', spec: pipeline(stages, { held: true }) })
  a.must({ type: 'CancelJob' })
  return a
}

describe('a held pipeline that is cancelled', () => {
  it('still says that it was held', () => {
    expect(heldAndCancelled().world.jobs.get('a')?.held).toBe(true)
  })

  it('runs what is to run on failure, and is FAILED after that', () => {
    const a = heldAndCancelled()
    expect(a.state()).toBe('RUNNING')
    expect(openable(a)).toEqual([1])
    a.must({ type: 'OpenStage', stage: 1 })
    a.must({ type: 'GrantLease', stage: 1, started: true })
    a.must({ type: 'CommitExecution', stage: 1 })
    expect(a.state()).toBe('FAILED')
  })

  it('opens nothing else', () => {
    const { rejection } = heldAndCancelled().send({ type: 'OpenStage', stage: 0 })
    expect(rejection?.code).toBe('JobEnding')
  })

  it('is not released any more', () => {
    const a = heldAndCancelled()
    expect(a.send({ type: 'ReleaseJob' }).rejection?.code).toBe('JobEnding')
  })

  it('is held as any other until then', () => {
    const a = new Authority()
    a.must({ type: 'SubmitJob', spec: pipeline([stage('build')], { held: true }) })
    expect(openable(a)).toEqual([])
    expect(a.send({ type: 'OpenStage' }).rejection?.code).toBe('JobHeld')
  })
})

function openable(a: Authority): number[] {
  const job = a.world.jobs.get('a') as Job
  return openableStages(job, countTallies(a.world, job))
}

describe('the job of a tick', () => {
  const spec = plain({ schedule: { id: 's', tick: 5 } })

  it('must have the id that follows from schedule and tick', () => {
    const a = new Authority()
    a.must({ type: 'SetSchedule', definition: 'daily' })
    const { rejection } = a.send({ type: 'SubmitJob', job: 'mine', spec })
    expect(rejection?.check).toBe('derived-id')
    expect(rejection?.details).toEqual({ expected: 's@5' })
  })

  it('is refused when its schedule was never set, is removed, or fired the tick', () => {
    const a = new Authority()
    const submit = { type: 'SubmitJob', job: 's@5', spec } as const
    expect(a.send(submit).rejection?.code).toBe('UnknownSchedule')
    a.must({ type: 'SetSchedule', definition: 'daily' })
    a.must({ type: 'FireSchedule', tick: 6, skipped: true })
    expect(a.send(submit).rejection?.code).toBe('TickFired')
    a.must({ type: 'RemoveSchedule' })
    expect(a.send(submit).rejection?.code).toBe('UnknownSchedule')
  })

  it('is kept until the tick is recorded', () => {
    const a = new Authority()
    a.must({ type: 'SetSchedule', definition: 'daily' })
    a.must({ type: 'SubmitJob', job: 's@5', spec })
    a.must({ type: 'CancelJob', job: 's@5' })
    const forget = { type: 'ForgetJob', job: 's@5', endedBefore: 1 } as const
    expect(a.send(forget).rejection?.code).toBe('OriginNotRecorded')
    a.must({ type: 'FireSchedule', tick: 4, skipped: true })
    expect(a.send(forget).rejection?.code).toBe('OriginNotRecorded')
    a.must({ type: 'FireSchedule', tick: 5 })
    expect(a.send(forget).verdict).toBe('committed')
  })
})

/** Opens one stage, and says what became of it. */
function opened(each: string, input: string) {
  const a = new Authority()
  a.must({ type: 'SubmitJob', spec: pipeline([stage('one', { each })], { input }) })
  const { entry } = a.must({ type: 'OpenStage' })
  if (entry?.type !== 'StageOpened') throw new Error('No stage was opened')
  return { segments: entry.segments, error: entry.error?.message, state: a.state() }
}

describe('each', () => {
  it('counts the elements of what it names, however deep', () => {
    expect(opened('input', '[1,2,3]').segments).toBe(3)
    expect(opened('input.a.b', '{"a":{"b":[1,2]}}').segments).toBe(2)
    expect(opened('input.0', '[[1,2,3,4]]').segments).toBe(4)
  })

  it.each([
    ['input', '"text"'],
    ['input', 'null'],
    ['input', 'this is no JSON'],
    ['input.a', '{}'],
    ['input.a.b', '{"a":null}'],
    ['input.a.b', '{"a":7}'],
    ['input.length', '"abc"'],
    ['input.toString', '{}'],
  ])('that names no array fails the stage: %s of %s', (each, input) => {
    const { segments, error, state } = opened(each, input)
    expect(segments).toBe(1)
    expect(error).toBe(`each: '${each}' is not an array`)
    expect(state).toBe('FAILED')
  })

  it('with more elements than a stage may have fails the stage, and says how many', () => {
    const input = `[${'0,'.repeat(LIMITS.segmentsPerStage)}0]`
    expect(opened('input', input).error).toBe("each: 'input' has 200001 elements, more than 200000")
  })

  it('of a task that was forced to COMPLETED without an output is no array', () => {
    const a = new Authority()
    const spec = pipeline([stage('one'), stage('two', { after: ['one'], each: 'one' })])
    a.must({ type: 'SubmitJob', spec })
    a.must({ type: 'OpenStage' })
    a.must({ type: 'ForceTask', to: 'COMPLETED', output: null })
    a.must({ type: 'OpenStage', stage: 1 })
    expect(a.task('a', 1).error?.code).toBe('InvalidEach')
  })

  it('of a stage whose only task was tolerated and never put anything out is no array', () => {
    const a = new Authority()
    const spec = pipeline([
      stage('one', { tolerate: 1 }),
      stage('two', { after: ['one'], each: 'one' }),
    ])
    a.must({ type: 'SubmitJob', spec })
    a.must({ type: 'OpenStage' })
    a.must({ type: 'ForceTask', to: 'FAILED' })
    a.must({ type: 'OpenStage', stage: 1 })
    expect(a.task('a', 1).error?.code).toBe('InvalidEach')
    expect(a.state()).toBe('FAILED')
  })
})
