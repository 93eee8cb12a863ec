/** Jobs that must end by a time, and errors that say when to try again, on every store. */
import { describe, expect, it } from 'vitest'
import type { Command } from '../../src/kernel/index.ts'
import type { Claimed, Outcome } from '../../src/store/index.ts'
import { failureReason } from '../../src/engine/failure-reason.ts'
import { explain } from '../../src/engine/inspect/explain.ts'
import { HistoryReplays, jobHistory } from '../../src/engine/inspect/history.ts'
import { failure, pipeline, plain, policy, promise, retry, stage } from '../support/specs.ts'
import type { Bench } from './bench.ts'
import { CHANNEL, claim, commit, reportOf, setUp, STORES } from './bench.ts'

const LATE = { type: 'CancelJob', deadline: true, by: 'deadline' } as const

async function due({ store }: Bench): Promise<readonly Command[]> {
  return store.query({ kind: 'upkeep', limit: 10 })
}

async function stateOf({ store }: Bench, job: string): Promise<string | undefined> {
  return (await store.query({ kind: 'job', job }))?.state
}

describe.each(Object.keys(STORES))('of deadlines, the %s store', (kind) => {
  it('asks to cancel jobs that are too late, and grants none of them meanwhile', async () => {
    const bench = await setUp(kind)
    const { store, send, clock } = bench
    await send({ type: 'SubmitJob', job: 'a', spec: plain({ deadlineMs: 50 }) })
    await send({ type: 'SubmitJob', job: 'b', spec: plain({ deadlineMs: 80 }) })
    await send({ type: 'SubmitJob', job: 'c', spec: plain() })
    expect(await due(bench)).toEqual([])
    clock.time += 50
    expect(await due(bench)).toMatchObject([{ ...LATE, job: 'a' }])
    // Written or not, it is too late.
    const asked = { store, workers: [], hasUnknownWorkers: false, now: clock.time, stalled: [] }
    const { isRunnable, reasons } = await explain(asked, 'a')
    expect([isRunnable, reasons[0]?.what]).toEqual([false, 'deadline-passed'])
    expect((await explain(asked, 'b')).reasons.map(({ what }) => what)).toEqual(['no-worker'])
    expect((await store.claim(claim({ max: 9 }))).map(({ job }) => job)).toEqual(['b', 'c'])
    clock.time += 30
    const late = await due(bench)
    expect(late).toMatchObject([
      { ...LATE, job: 'a' },
      { ...LATE, job: 'b' },
    ])
    for (const answer of await store.execute(late)) expect(answer.verdict).toBe('committed')
    expect([await stateOf(bench, 'a'), await stateOf(bench, 'b')]).toEqual(['FAILED', 'FAILED'])
    expect(await due(bench)).toEqual([])
    const outcome = (await store.query({ kind: 'outcome', job: 'a' })) as Outcome
    expect(await failureReason(store, 'a', outcome)).toMatchObject({
      why: 'deadline',
      message: 'Its deadline passed before it was committed.',
    })
    const history = await jobHistory(
      store,
      'a',
      { after: 0, limit: 9 },
      clock.time,
      new HistoryReplays(),
    )
    expect(history.at(-1)).toMatchObject({ type: 'JobCancelled', by: 'time', to: 'FAILED' })
  })

  it('cancels a job that waits in a suspension, and grants it no more', async () => {
    const bench = await setUp(kind)
    const { store, send, clock } = bench
    await send({ type: 'SubmitJob', job: 'a', spec: plain({ deadlineMs: 50 }) })
    const [leased] = (await store.claim(claim())) as [Claimed]
    const wait = {
      name: 'w',
      message: 'go',
      schema: null,
      ask: null,
      delayMs: 50,
      dueAt: null,
      callee: null,
    }
    const report = { ...reportOf(leased), needs: 'any', waits: [wait], unfit: [] } as const
    await send({ type: 'SuspendExecution', ...report, definitionVersion: 1 })
    expect(await stateOf(bench, 'a')).toBe('SUSPENDED')
    clock.time += 50
    expect(await store.claim(claim({ request: 2 }))).toEqual([])
    await store.execute(await due(bench))
    expect(await stateOf(bench, 'a')).toBe('FAILED')
  })

  it('lets a commit that came before time was written count, and finishes it', async () => {
    const bench = await setUp(kind)
    const { store, send, clock } = bench
    await send({ type: 'SubmitJob', job: 'a', spec: plain({ deadlineMs: 50 }) })
    const [leased] = (await store.claim(claim())) as [Claimed]
    clock.time += 60
    const effects = [promise({ idempotent: true })]
    await send({ ...commit(leased), effects } as ReturnType<typeof commit>)
    expect(await due(bench)).toEqual([])
    await send({ type: 'ReleaseLease', ...reportOf(leased) })
    expect(await store.claim(claim({ request: 2 }))).toMatchObject([{ job: 'a', lease: 2 }])
  })

  it('cancels a pipeline that is too late, and runs what is to run on failure', async () => {
    const bench = await setUp(kind)
    const { store, send, clock } = bench
    const stages = [stage('one'), stage('two', { after: ['one'] })]
    const spec = pipeline([...stages, stage('sorry', { onFailure: true })], { deadlineMs: 50 })
    await send({ type: 'SubmitJob', job: 'p', spec })
    await store.execute(await due(bench))
    clock.time += 50
    const channels = [
      { ...CHANNEL, stage: 'one' },
      { ...CHANNEL, stage: 'sorry' },
    ]
    expect(await store.claim(claim({ channels }))).toEqual([])
    for (let round = 0; round < 4; round++) await store.execute(await due(bench))
    const [sorry] = (await store.claim(claim({ request: 2, channels }))) as [Claimed]
    expect(sorry.stage).toBe(2)
    await send(commit(sorry))
    expect(await due(bench)).toEqual([])
    expect(await stateOf(bench, 'p')).toBe('FAILED')
  })

  it('asks nothing of a pipeline in which everything was decided in time', async () => {
    const bench = await setUp(kind)
    const { store, send, clock } = bench
    const spec = pipeline([stage('one')], { deadlineMs: 50 })
    await send({ type: 'SubmitJob', job: 'p', spec })
    await store.execute(await due(bench))
    const channels = [{ ...CHANNEL, stage: 'one' }]
    const [leased] = (await store.claim(claim({ channels }))) as [Claimed]
    await send({ ...commit(leased), effects: [promise()] } as ReturnType<typeof commit>)
    clock.time += 60
    expect(await due(bench)).toEqual([])
    await send({ type: 'StartEffect', ...reportOf(leased), effect: 0 })
    await send({ type: 'FinishEffect', ...reportOf(leased), effect: 0 })
    await due(bench)
    expect(await due(bench)).toEqual([])
    expect(await stateOf(bench, 'p')).toBe('SUCCEEDED')
  })

  it('puts a task off for as long as its error says, and for nothing', async () => {
    const bench = await setUp(kind)
    const { store, send, clock } = bench
    const spec = plain({}, policy({ retry: retry({ max: 0 }) }))
    await send({ type: 'SubmitJob', job: 'a', spec })
    const [leased] = (await store.claim(claim())) as [Claimed]
    const late = { error: failure(), delayMs: 40, free: true }
    await send({ type: 'FailTask', ...reportOf(leased), ...late })
    clock.time += 39
    expect(await store.claim(claim({ request: 2 }))).toEqual([])
    clock.time += 1
    expect(await store.claim(claim({ request: 3 }))).toMatchObject([{ job: 'a', lease: 2 }])
  })

  it('hands a job the steps that it was submitted with', async () => {
    const bench = await setUp(kind)
    const { store, send } = bench
    const steps = [{ name: 'fetch', value: '"kept"' }]
    await send({ type: 'SubmitJob', job: 'a', spec: plain({ steps, metadata: '{"a":1}' }) })
    expect(await store.claim(claim())).toMatchObject([{ steps: [{ name: 'fetch' }] }])
  })
})
