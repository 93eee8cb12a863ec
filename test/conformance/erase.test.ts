/** Jobs that are erased: what every store says of them, before and after it is compacted. */
import { describe, expect, it } from 'vitest'
import type { Command, JobSpec } from '../../src/kernel/index.ts'
import { childId } from '../../src/kernel/index.ts'
import type { Claimed } from '../../src/store/index.ts'
import { child, failure, onRecord, pipeline, plain, promise, stage } from '../support/specs.ts'
import type { Bench } from './bench.ts'
import { CHANNEL, claim, commit, reportOf, setUp, STORES } from './bench.ts'

const SECRET = '"a-secret"'
const STAGES = ['one', 'each'].map((name) => ({ ...CHANNEL, stage: name }))

const SPEC: Partial<JobSpec> = {
  input: SECRET,
  metadata: SECRET,
  key: 'k',
  asked: { by: 'ops', reason: SECRET },
}

/** Takes the next lease. */
async function leased({ store, clock }: Bench, request: number): Promise<Claimed> {
  clock.time += 5_000
  const [found] = await store.claim(claim({ request, channels: [CHANNEL, ...STAGES] }))
  if (found === undefined) throw new Error('Nothing is ready')
  return found
}

/** A job that has a secret in everything that it can have one in, and that has ended. */
async function endPlain(bench: Bench, id = 'a', spec: Partial<JobSpec> = {}): Promise<void> {
  const { send } = bench
  await send({ type: 'SubmitJob', job: id, spec: plain({ ...SPEC, ...spec }) })
  const first = reportOf(await leased(bench, 1))
  const step = { type: 'RecordStep', ...first, definitionVersion: 1 } as const
  await send({ ...step, name: 'one', value: SECRET })
  await send({ ...step, name: 'two', value: `"${'x'.repeat(3_000)} a-secret"` })
  const message = { id: 'm', name: 'go', value: SECRET, checked: null, by: 'app', reason: SECRET }
  await send({ type: 'SendMessage', job: id, stage: 0, segment: 0, ...message })
  const error = failure({ message: SECRET, stack: SECRET })
  await send({ type: 'FailTask', ...first, error })
  const last = reportOf(await leased(bench, 2))
  const effects = [
    promise({ name: 'mail', input: SECRET, idempotent: true }),
    child(plain({ type: 'other', input: SECRET })),
  ]
  await send({ type: 'CommitExecution', ...last, output: SECRET, effects })
  for (const effect of [0, 1]) {
    await send({ type: 'StartEffect', ...last, effect })
    if (effect === 1) await send(childOf(id, effects[1]?.child as JobSpec))
    expect((await send({ type: 'FinishEffect', ...last, effect })).verdict).toBe('committed')
  }
  expect(await stateOf(bench, id)).toBe('SUCCEEDED')
}

function childOf(id: string, spec: JobSpec): Command {
  const parent = { job: id, stage: 0, segment: 0, effect: 1 }
  return { type: 'SubmitJob', job: childId(parent), spec: { ...spec, parent } }
}

async function endPipeline(bench: Bench): Promise<void> {
  const { send } = bench
  const stages = [stage('one'), stage('each', { after: ['one'], each: 'one', tolerate: 1 })]
  await send({ type: 'SubmitJob', job: 'p', spec: pipeline(stages, SPEC) })
  await send({ type: 'OpenStage', job: 'p', stage: 0 })
  await send(commit(await leased(bench, 1), '["a-secret","a-secret","a-secret"]'))
  await send({ type: 'OpenStage', job: 'p', stage: 1 })
  await send(commit(await leased(bench, 2), SECRET))
  const second = reportOf(await leased(bench, 3))
  const value = SECRET
  await send({ type: 'RecordStep', ...second, name: 's', value, definitionVersion: 1 })
  await send({ type: 'CommitExecution', ...second, output: SECRET, effects: [] })
  const error = failure({ type: 'TERMINAL', message: SECRET })
  await send({ type: 'FailTask', ...reportOf(await leased(bench, 4)), error })
  expect(await stateOf(bench, 'p')).toBe('SUCCEEDED')
}

async function stateOf({ store }: Bench, job: string): Promise<string | undefined> {
  return (await store.query({ kind: 'job', job }))?.state
}

/** Everything that can be asked about a job, as text. */
async function saidOf({ store }: Bench, job: string): Promise<string> {
  const answers = [
    await store.query({ kind: 'job', job }),
    await store.query({ kind: 'overview', job }),
    await store.query({ kind: 'outputs', job, stage: 0, after: -1, limit: 9 }),
    await store.query({ kind: 'jobs', key: 'k', limit: 9 }),
    await store.query({ kind: 'history', job, limit: 99 }),
  ]
  return JSON.stringify(answers)
}

const erase = (job: string): Command => {
  return { type: 'EraseJob', job, by: 'dpo', reason: 'asked for' }
}

describe.each(Object.keys(STORES))('of a job that was erased, the %s store', (kind) => {
  it('has nothing of what it was given and made, and knows that it ran', async () => {
    const bench = await setUp(kind)
    const { store, send, clock } = bench
    await endPlain(bench)
    expect(await saidOf(bench, 'a')).toContain('a-secret')
    expect((await send(erase('a'))).verdict).toBe('committed')
    expect(await saidOf(bench, 'a')).not.toContain('a-secret')
    const view = await store.query({ kind: 'job', job: 'a' })
    expect(view?.state).toBe('SUCCEEDED')
    expect(view?.job.erased).toMatchObject({ at: clock.time, by: 'dpo', reason: 'asked for' })
    await store.compact?.()
    expect(await saidOf(bench, 'a')).not.toContain('a-secret')
    const history = await store.query({ kind: 'history', job: 'a', limit: 99 })
    // A directory gives up the history before it.
    const types = kind.startsWith('directory') ? [] : ['JobErased']
    expect(history.slice(-1).map(({ entry }) => entry.type)).toEqual(types)
    await store.close()
  })

  it('answers as before: erased again, its id, its key, a late report, and forgotten', async () => {
    const bench = await setUp(kind)
    const { store, send, clock } = bench
    await endPlain(bench)
    const [first, again, other] = await store.execute([
      erase('a'),
      erase('a'),
      { type: 'SubmitJob', job: 'z', spec: plain({ key: 'k', input: '"other"' }) },
    ])
    expect([first, again, other].map((answer) => answer?.verdict)).toEqual(
      Array.from({ length: 3 }, () => 'committed'),
    )
    expect(other?.value).toBe('a')
    const byId = await send({ type: 'SubmitJob', job: 'a', spec: plain({ input: '"other"' }) })
    expect(byId).toMatchObject({ verdict: 'committed', value: 'a' })
    const late = { job: 'a', stage: 0, segment: 0, lease: 1, worker: 'w' }
    const report = { ...late, name: 'late', value: SECRET, definitionVersion: 1 }
    expect((await send({ type: 'RecordStep', ...report })).verdict).toBe('cancelled')
    clock.time += 10
    const forgotten = await send({ type: 'ForgetJob', job: 'a', endedBefore: clock.time })
    expect(forgotten.verdict).toBe('committed')
    expect(await stateOf(bench, 'a')).toBeUndefined()
    await store.close()
  })

  it('has nothing in any task of a pipeline', async () => {
    const bench = await setUp(kind)
    const { store, send } = bench
    await endPipeline(bench)
    const before = await store.query({ kind: 'overview', job: 'p' })
    expect(await saidOf(bench, 'p')).toContain('a-secret')
    expect((await send(erase('p'))).verdict).toBe('committed')
    await store.compact?.()
    expect(await saidOf(bench, 'p')).not.toContain('a-secret')
    expect(await stateOf(bench, 'p')).toBe('SUCCEEDED')
    const after = await store.query({ kind: 'overview', job: 'p' })
    const states = (view: typeof before) => view?.stages.map(({ name, state }) => [name, state])
    expect(states(after)).toEqual(states(before))
    await store.close()
  })

  it('refuses it while it is not over', async () => {
    const { store, send } = await setUp(kind)
    await send({ type: 'SubmitJob', job: 'a', spec: plain() })
    expect((await send(erase('a'))).rejection?.code).toBe('JobNotFinal')
    expect((await send(erase('b'))).rejection?.code).toBe('UnknownJob')
    await send({ type: 'CancelJob', job: 'a', ...onRecord })
    expect((await send(erase('a'))).verdict).toBe('committed')
    await store.close()
  })
})
