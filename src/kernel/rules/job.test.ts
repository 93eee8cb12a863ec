/** Jobs: where children come from, what each may name, and what ends with a cancel. */
import { describe, expect, it } from 'vitest'
import { Authority } from '../../../test/support/authority.ts'
import { child, failure, pipeline, plain, promise, stage } from '../../../test/support/specs.ts'
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
    [
      'of another version than was promised',
      committedWith(child(plain())),
      plain({ version: 2 }),
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

describe('the version of a definition', () => {
  it('is part of what was submitted: with another one the id is used for something else', () => {
    const a = new Authority()
    a.must({ type: 'SubmitJob', spec: plain({ version: 1 }) })
    expect(a.send({ type: 'SubmitJob', spec: plain({ version: 1 }) }).verdict).toBe('committed')
    const { rejection } = a.send({ type: 'SubmitJob', spec: plain({ version: 2 }) })
    expect(rejection?.code).toBe('IdReused')
  })

  it.each([false, true])(
    'makes no other request of one with a known key: a deploy between two submits breaks neither (unique: %s)',
    (unique) => {
      const a = new Authority()
      a.must({ type: 'SubmitJob', spec: plain({ key: 'k', unique, version: 1 }) })
      const again = a.send({
        type: 'SubmitJob',
        job: 'b',
        spec: plain({ key: 'k', unique, version: 2 }),
      })
      expect([again.verdict, again.value]).toEqual(['committed', 'a'])
      expect(a.world.jobs.get('a')?.spec.version).toBe(1)
    },
  )
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

  it('answers for the same properties in another order, and so does an id', () => {
    const a = new Authority()
    a.must({ type: 'SubmitJob', spec: plain({ key: 'k', input: '{"x":1,"y":[{"a":1,"b":2}]}' }) })
    const again = plain({ key: 'k', input: '{"y":[{"b":2,"a":1}],"x":1}' })
    expect(a.send({ type: 'SubmitJob', job: 'b', spec: again }).value).toBe('a')
    expect(a.send({ type: 'SubmitJob', spec: again }).verdict).toBe('committed')
    const other = plain({ key: 'k', input: '{"y":[{"b":1,"a":2}],"x":1}' })
    expect(a.send({ type: 'SubmitJob', job: 'b', spec: other }).rejection?.code).toBe('KeyReused')
    expect(a.send({ type: 'SubmitJob', spec: other }).rejection?.code).toBe('IdReused')
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

  it('that is known does not answer for stages that make no pipeline', () => {
    const a = new Authority()
    a.must({ type: 'SubmitJob', spec: plain({ key: 'k' }) })
    const spec = pipeline([stage('one', { after: ['two'] })], { key: 'k' })
    const { rejection } = a.send({ type: 'SubmitJob', job: 'b', spec })
    expect(rejection?.code).toBe('InvalidShape')
    expect(rejection?.check).toBe('valid-shape')
  })
})

/** The parent is over, its child is there. */
function parentOfChild(promised: JobSpec): Authority {
  const a = committedWith(child(promised))
  a.must({ type: 'StartEffect' })
  submitChild(a, promised)
  a.must({ type: 'FinishEffect' })
  return a
}

/** The same id again, with a commit that promises a child in the same place. */
function secondLife(a: Authority, promised: JobSpec): void {
  a.advance(1).must({ type: 'ForgetJob', endedBefore: a.now })
  a.must({ type: 'SubmitJob', spec: plain() })
  a.must({ type: 'GrantLease', started: true })
  a.must({ type: 'CommitExecution', effects: [child(promised)] })
  a.must({ type: 'StartEffect' })
}

describe('a parent whose id is used again', () => {
  it('does not take the child of its earlier life for another one that it promises', () => {
    const a = parentOfChild(plain({ input: '1' }))
    secondLife(a, plain({ input: '2' }))
    expect(submitChild(a, plain({ input: '2' })).rejection?.code).toBe('IdReused')
    expect(a.send({ type: 'FinishEffect' }).rejection?.code).toBe('ChildNotSubmitted')
    a.must({ type: 'FailEffect', error: failure({ type: 'TERMINAL' }) })
    expect(a.state()).toBe('QUARANTINED')
  })

  it('takes it for the same one', () => {
    const a = parentOfChild(plain({ input: '1' }))
    secondLife(a, plain({ input: '1' }))
    expect(a.send({ type: 'FinishEffect' }).verdict).toBe('committed')
  })

  it('finds it no more once it is forgotten too', () => {
    const a = parentOfChild(plain({ input: '1' }))
    a.must({ type: 'ForceTask', job: childId(parent), to: 'FAILED' })
    a.advance(1).must({ type: 'ForgetJob', job: childId(parent), endedBefore: a.now })
    secondLife(a, plain({ input: '2' }))
    expect(submitChild(a, plain({ input: '2' })).verdict).toBe('committed')
  })
})

/** A whole life. */
function over(a: Authority): void {
  a.must({ type: 'SubmitJob', spec: plain() })
  a.must({ type: 'ForceTask', to: 'FAILED' })
}

describe('forgetting', () => {
  it('takes no time that is still to come', () => {
    const a = new Authority()
    over(a)
    const { rejection } = a.advance(5).send({ type: 'ForgetJob', endedBefore: 6 })
    expect(rejection?.code).toBe('JobTooYoung')
    expect(rejection?.details).toEqual({ endedAt: 0 })
    expect(a.send({ type: 'ForgetJob', endedBefore: 5 }).verdict).toBe('committed')
  })

  it.each([1, 5])('does not reach a second life by a late copy, for a time %i', (endedBefore) => {
    const a = new Authority()
    over(a)
    const forget = { type: 'ForgetJob', endedBefore } as const
    a.advance(5).must(forget)
    expect(a.send(forget)).toMatchObject({ verdict: 'committed', entry: null })
    over(a)
    for (const ms of [0, 1, 1_000]) {
      expect(a.advance(ms).send(forget).rejection?.code).toBe('JobTooYoung')
    }
    expect(a.state()).toBe('FAILED')
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

describe('a job that is ending because of failures', () => {
  it('can be cancelled while on-failure tasks are open, which run on', () => {
    const a = new Authority()
    const stages = [stage('build'), stage('notify', { onFailure: true })]
    a.must({ type: 'SubmitJob', spec: pipeline(stages) })
    a.must({ type: 'OpenStage' })
    a.must({ type: 'ForceTask', to: 'FAILED' })
    a.must({ type: 'OpenStage', stage: 1 })
    a.must({ type: 'CancelJob' })
    expect(a.state()).toBe('RUNNING')
    expect(a.send({ type: 'StopTask', stage: 1 }).rejection?.code).toBe('NothingToStop')
    a.must({ type: 'GrantLease', stage: 1, started: true })
    a.must({ type: 'CommitExecution', stage: 1 })
    expect(a.state()).toBe('FAILED')
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
    expect(a.advance(1).send(forget).verdict).toBe('committed')
  })
})

/** Opens a stage over what another put out, and says what became of it. */
function opened(each: string, output: string) {
  const a = new Authority()
  const spec = pipeline([stage('split'), stage('one', { after: ['split'], each })])
  a.must({ type: 'SubmitJob', spec })
  a.must({ type: 'OpenStage' })
  a.must({ type: 'GrantLease', started: true })
  a.must({ type: 'CommitExecution', output })
  const { entry } = a.must({ type: 'OpenStage', stage: 1 })
  if (entry?.type !== 'StageOpened') throw new Error('No stage was opened')
  return { segments: entry.segments, error: entry.error?.message, state: a.state() }
}

const TOO_MANY = `[${'0,'.repeat(LIMITS.segmentsPerStage)}0]`

describe('each', () => {
  it('counts the elements of what it names, however deep', () => {
    expect(opened('split', '[1,2,3]').segments).toBe(3)
    expect(opened('split.a.b', '{"a":{"b":[1,2]}}').segments).toBe(2)
    expect(opened('split.0', '[[1,2,3,4]]').segments).toBe(4)
  })

  it.each(['"text"', 'this is no JSON'])('fails the stage if the output is %s', (output) => {
    const { segments, error, state } = opened('split', output)
    expect(segments).toBe(1)
    expect(error).toBe("each: 'split' is not an array")
    expect(state).toBe('FAILED')
  })

  it('with more elements than a stage may have fails the stage, and says how many', () => {
    const { error } = opened('split', TOO_MANY)
    expect(error).toBe("each: 'split' has 200001 elements, more than 200000")
  })

  it.each([
    ['{"pages":7}', "each: 'input.pages' is not an array"],
    [`{"pages":${TOO_MANY}}`, "each: 'input.pages' has 200001 elements, more than 200000"],
  ])('over the input is checked at submit', (input, wrong) => {
    const a = new Authority()
    const spec = pipeline([stage('resize', { each: 'input.pages' })], { input })
    const { rejection } = a.send({ type: 'SubmitJob', spec })
    expect(rejection?.code).toBe('InvalidShape')
    expect(rejection?.message).toMatch(`Stage 'resize': ${wrong}; give the job an input`)
    expect(rejection?.details).toEqual({ stage: 'resize' })
  })

  it('that fails the stage counts as one failed task, which may be tolerated', () => {
    const a = new Authority()
    const two = stage('two', { after: ['one'], each: 'one', tolerate: 1 })
    a.must({ type: 'SubmitJob', spec: pipeline([stage('one'), two]) })
    a.must({ type: 'OpenStage' })
    a.must({ type: 'ForceTask', to: 'COMPLETED', output: '7' })
    a.must({ type: 'OpenStage', stage: 1 })
    expect(a.task('a', 1).state).toBe('FAILED')
    expect(a.state()).toBe('SUCCEEDED')
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
