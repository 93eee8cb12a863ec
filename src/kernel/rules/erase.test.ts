/** Erasing: what is left of a job, and how it answers from then on. */
import { describe, expect, it } from 'vitest'
import { Authority } from '../../../test/support/authority.ts'
import { child, failure, pipeline, plain, promise, stage } from '../../../test/support/specs.ts'
import type { JobSpec } from '../index.ts'
import { childId, jobEndedAt, redactEntry, replay } from '../index.ts'

const SECRET = '"secret"'

const secretive: Partial<JobSpec> = {
  input: SECRET,
  metadata: SECRET,
  key: 'k',
  submittedBy: 'app',
  asked: { by: 'ops', reason: SECRET },
  steps: [{ name: 'before', value: SECRET }],
}

function ended(): Authority {
  const a = new Authority()
  a.must({ type: 'SubmitJob', spec: plain({ ...secretive }) })
  a.must({ type: 'GrantLease', started: true })
  a.must({ type: 'RecordStep', name: 'step', value: SECRET })
  a.must({ type: 'SendMessage', id: 'm', name: 'go', value: SECRET, reason: SECRET })
  const error = failure({ message: SECRET, stack: SECRET })
  a.must({ type: 'FailTask', error })
  a.advance(1_000).must({ type: 'GrantLease', started: true, request: 2 })
  const effect = promise({ name: 'mail', input: SECRET, idempotent: true })
  a.must({ type: 'CommitExecution', output: SECRET, effects: [effect] })
  a.must({ type: 'StartEffect' })
  a.must({ type: 'FinishEffect' })
  return a
}

describe('an erased job', () => {
  it('has nothing of what it was given and made, and says that it ran, and who erased it', () => {
    const a = ended()
    expect(JSON.stringify([...a.world.jobs])).toContain('secret')
    a.advance(5).must({ type: 'EraseJob', by: 'dpo', reason: 'asked for' })
    expect(JSON.stringify([...a.world.jobs])).not.toContain('secret')
    const job = a.world.jobs.get('a')
    expect(job?.erased).toEqual({ at: a.now, by: 'dpo', reason: 'asked for', timeBefore: 0 })
    expect(a.state()).toBe('SUCCEEDED')
    expect(a.task()).toMatchObject({ attempt: 2, output: 'null', steps: [], endedAt: a.now - 5 })
    expect(a.task().commit?.effects).toMatchObject([
      { state: 'FINISHED', promise: { name: 'mail', input: 'null' } },
    ])
    expect(job?.spec).toMatchObject({ key: 'k', submittedBy: 'app', input: 'null', steps: [] })
    expect(replay(a.log)).toEqual(a.world)
    const redacted = a.log.map((entry) => redactEntry(entry))
    expect(JSON.stringify(redacted)).not.toContain('secret')
    expect(replay(redacted)).toEqual(a.world)
  })

  it('is erased once: asking again is answered as the first', () => {
    const a = ended()
    a.must({ type: 'EraseJob', by: 'dpo' })
    const again = a.advance(9).send({ type: 'EraseJob', by: 'someone else' })
    expect(again).toMatchObject({ verdict: 'committed', entry: null })
    expect(a.world.jobs.get('a')?.erased?.by).toBe('dpo')
  })

  it('answers for its id and its key, whatever comes with them', () => {
    const a = ended()
    a.must({ type: 'EraseJob' })
    const other = plain({ key: 'k', input: '"other"' })
    const byId = a.send({ type: 'SubmitJob', job: 'a', spec: other })
    expect(byId).toMatchObject({ verdict: 'committed', value: 'a', entry: null })
    const byKey = a.send({ type: 'SubmitJob', job: 'b', spec: other })
    expect(byKey).toMatchObject({ verdict: 'committed', value: 'a', entry: null })
  })

  it('can be forgotten, and then its id and key are free', () => {
    const a = ended()
    a.must({ type: 'EraseJob' })
    a.advance(1).must({ type: 'ForgetJob', endedBefore: a.now })
    const spec = plain({ key: 'k', input: '"other"' })
    expect(a.must({ type: 'SubmitJob', spec }).value).toBe('a')
  })

  it('notes a late report as any job that is over does', () => {
    const a = ended()
    a.must({ type: 'EraseJob' })
    const late = a.send({ type: 'RecordStep', name: 'other', value: SECRET, lease: 1 })
    expect(late).toMatchObject({ verdict: 'cancelled', entry: { type: 'ReportRefused' } })
    expect(JSON.stringify([...a.world.jobs])).not.toContain('secret')
  })

  it('must be over', () => {
    const a = new Authority()
    a.must({ type: 'SubmitJob', spec: plain() })
    const { rejection } = a.send({ type: 'EraseJob' })
    expect(rejection?.code).toBe('JobNotFinal')
    expect(rejection?.message).toMatch(/a is QUEUED: only a job that is over can be erased/)
  })
})

describe('an erased pipeline', () => {
  it('has nothing in any of its tasks, and ended when it ended', () => {
    const a = new Authority()
    const spec = pipeline([stage('one'), stage('sorry', { onFailure: true })], {
      ...secretive,
      steps: [],
    })
    a.must({ type: 'SubmitJob', spec })
    a.must({ type: 'SendMessage', stage: 1, id: 'm', name: 'go', value: SECRET, reason: SECRET })
    a.advance(3).must({ type: 'OpenStage' })
    a.must({ type: 'ForceTask', to: 'COMPLETED', output: SECRET, reason: SECRET })
    expect(a.state()).toBe('SUCCEEDED')
    const job = a.world.jobs.get('a') ?? null
    if (job === null) throw new Error('It is not there')
    a.advance(10).must({ type: 'EraseJob' })
    expect(JSON.stringify([[...a.world.jobs], [...a.world.tasks]])).not.toContain('secret')
    expect(jobEndedAt(job, [])).toBe(a.now - 10)
    expect(replay(a.log.map((entry) => redactEntry(entry)))).toEqual(a.world)
  })
})

describe('a child that was erased', () => {
  it('still counts as submitted for the effect that stands for it', () => {
    const a = new Authority()
    a.must({ type: 'SubmitJob', spec: plain() })
    a.must({ type: 'GrantLease', started: true })
    const spec = plain({ input: SECRET })
    a.must({ type: 'CommitExecution', effects: [child(spec)] })
    a.must({ type: 'StartEffect' })
    const parent = { job: 'a', stage: 0, segment: 0, effect: 0 }
    const id = childId(parent)
    a.must({ type: 'SubmitJob', job: id, spec: { ...spec, parent } })
    a.must({ type: 'CancelJob', job: id })
    a.must({ type: 'EraseJob', job: id })
    expect(a.send({ type: 'SubmitJob', job: id, spec: { ...spec, parent } }).value).toBe(id)
    a.must({ type: 'FinishEffect' })
    expect(a.state()).toBe('SUCCEEDED')
  })
})
