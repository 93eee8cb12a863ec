/** Jobs: where children come from, what each may name, and what ends with a cancel. */
import { describe, expect, it } from 'vitest'
import { Authority } from '../../../test/support/authority.ts'
import { child, pipeline, plain, promise, stage } from '../../../test/support/specs.ts'
import type { EffectPromise, JobSpec } from '../index.ts'
import { childId, LIMITS } from '../index.ts'

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
