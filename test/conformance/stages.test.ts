/** What every store says about the stages of a pipeline, while it runs and when it is over. */
import { describe, expect, it } from 'vitest'
import type { JobSpec } from '../../src/kernel/index.ts'
import type { Claimed, OutputsPage, SegmentsPage } from '../../src/store/index.ts'
import { failure, pipeline, plain, retry, stage } from '../support/specs.ts'
import type { Bench } from './bench.ts'
import { claim, commit, reportOf, setUp, STORES } from './bench.ts'

const STAGES = ['one', 'many', 'chained', 'last', 'undo']
const CHANNELS = STAGES.map((name) => ({ queue: 'default', type: 'test', stage: name }))
const JOB = { job: 'p' } as const

function fourStages(changes: Partial<JobSpec> = {}): JobSpec {
  return pipeline(
    [
      stage('one', { version: 3 }),
      stage('many', { after: ['one'], each: 'one', tolerate: 1 }),
      stage('chained', { after: ['many'], each: 'many' }),
      stage('last', { after: ['chained', 'one'] }),
    ],
    { input: '{"whole":1}', ...changes },
  )
}

class Runner {
  readonly bench: Bench
  #request = 0

  constructor(bench: Bench) {
    this.bench = bench
  }

  async claimAll(): Promise<Claimed[]> {
    const { store } = this.bench
    await store.execute(await store.query({ kind: 'upkeep', limit: 100 }))
    this.#request += 1
    const request = { request: this.#request, channels: CHANNELS, max: 100 }
    return [...(await store.claim(claim(request)))]
  }

  /** Takes what there is and commits it; what `output` has nothing for fails for good. */
  async step(output: (task: Claimed) => string | null): Promise<Claimed[]> {
    const claimed = await this.claimAll()
    for (const one of claimed) {
      const text = output(one)
      const error = failure({ type: 'TERMINAL', code: 'NO' })
      await this.bench.send(
        text === null ? { type: 'FailTask', ...reportOf(one), error } : commit(one, text),
      )
    }
    return claimed
  }
}

/** To its end: segment 1 of the second stage failed. */
async function finished(bench: Bench, elements: readonly number[]): Promise<Claimed[]> {
  const runner = new Runner(bench)
  await bench.send({ type: 'SubmitJob', job: 'p', spec: fourStages() })
  const seen: Claimed[] = []
  seen.push(...(await runner.step(() => JSON.stringify(elements))))
  seen.push(...(await runner.step(({ segment }) => (segment === 1 ? null : `"many ${segment}"`))))
  seen.push(...(await runner.step(({ segment }) => `"chained ${segment}"`)))
  seen.push(...(await runner.step(() => '"last"')))
  return seen
}

/** Others come and go, so that a store that makes checkpoints has put it aside. */
async function putAside({ store, send }: Bench): Promise<void> {
  for (const job of ['x', 'y', 'z']) {
    await send({ type: 'SubmitJob', job, spec: plain() })
    const [leased] = (await store.claim(claim({ worker: job }))) as [Claimed]
    await send({ ...commit(leased), worker: job } as ReturnType<typeof commit>)
  }
}

const numbers = (one: SegmentsPage | null) => one?.segments.map(({ segment }) => segment)
const at = (segment: number) => ({ segment, output: `"many ${segment}"` })

describe.each(Object.keys(STORES))('one call to the %s store', (kind) => {
  it('may submit a job, open its stage and grant its task, whatever queue and limits that has', async () => {
    const { store } = await setUp(kind)
    const policy = plain({}, { queue: 'right', limits: [{ key: 'k', concurrency: 1, rate: null }] })
      .policy as NonNullable<JobSpec['policy']>
    const grant = { type: 'GrantLease', stage: 0, segment: 0, worker: 'w', started: true } as const
    const answers = await store.execute([
      { type: 'SubmitJob', job: 'p', spec: pipeline([stage('one', { policy })]) },
      { type: 'OpenStage', job: 'p', stage: 0 },
      { ...grant, job: 'p', request: 1 },
      { type: 'SubmitJob', job: 'a', spec: plain({}, { queue: 'left' }) },
      { ...grant, job: 'a', request: 2 },
    ])
    expect(answers.map(({ verdict }) => verdict)).toEqual(answers.map(() => 'committed'))
  })

  it('may submit a job, try to submit another under its id, move it and grant it', async () => {
    const { store } = await setUp(kind)
    const task = { job: 'a', stage: 0, segment: 0 } as const
    const asked = { by: 'ann', reason: 'because' } as const
    const answers = await store.execute([
      { type: 'SubmitJob', job: 'a', spec: plain({}, { queue: 'left' }) },
      { type: 'SubmitJob', job: 'a', spec: plain({ priority: 0.5 }) },
      { type: 'SubmitJob', job: 'b', spec: plain({}, { queue: 'left' }) },
      { type: 'SubmitJob', job: 'b', spec: plain({}, { queue: 'right' }) },
      { type: 'GrantLease', ...task, worker: 'w', request: 1, started: true },
      { type: 'GrantLease', ...task, job: 'b', worker: 'w', request: 2, started: true },
      { type: 'SubmitJob', job: 'c', spec: plain() },
      {
        type: 'RescheduleTask',
        ...task,
        ...asked,
        job: 'c',
        attempt: 0,
        dueAt: null,
        priority: null,
        toQueue: 'middle',
      },
      { type: 'GrantLease', ...task, job: 'c', worker: 'w', request: 3, started: true },
    ])
    expect(answers.map(({ verdict }) => verdict)).toEqual([
      'committed',
      'rejected',
      'committed',
      'rejected',
      'committed',
      'committed',
      'committed',
      'committed',
      'committed',
    ])
  })
})

describe.each(Object.keys(STORES))('the %s store', (kind) => {
  it('hands a segment only what is its own', async () => {
    const bench = await setUp(kind)
    const [one, first, second, , chained, missing, , last] = await finished(bench, [7, 8, 9])
    expect(one).toMatchObject({
      input: '{"whole":1}',
      stageName: 'one',
      stageVersion: 3,
      each: null,
      prior: [],
      ending: null,
      submittedAt: 1_000,
    })
    expect([first?.input, second?.segment]).toEqual([null, 1])
    expect(first?.each).toEqual({ source: 'one', segments: 3, element: null })
    expect(first?.prior).toEqual([{ name: 'one', stage: 0, segments: null }])
    // From segment to segment the element is at hand; of one that failed there is none.
    expect(chained?.each).toEqual({ source: 'many', segments: 3, element: '"many 0"' })
    expect([missing?.segment, missing?.each?.element]).toEqual([1, null])
    expect(last).toMatchObject({
      stageName: 'last',
      input: '{"whole":1}',
      prior: [
        { name: 'one', stage: 0, segments: null },
        { name: 'chained', stage: 2, segments: 3 },
      ],
    })
  })

  it('hands a segment what an operator gave it, and another stage a new input', async () => {
    const bench = await setUp(kind)
    const dead = { policy: { ...stage('x').policy, retry: retry({ max: 0 }) } }
    const spec = pipeline([stage('one', dead), stage('many', { each: 'input', ...dead })], {
      input: '[1,2]',
    })
    await bench.send({ type: 'SubmitJob', job: 'p', spec })
    const runner = new Runner(bench)
    for (const one of await runner.claimAll()) {
      await bench.send({ type: 'FailTask', ...reportOf(one), error: failure() })
    }
    const on = { ...JOB, attempt: 1, by: 'ann', reason: 'because' }
    await bench.send({ type: 'RetryTask', ...on, stage: 0, segment: 0, input: '"new"' })
    await bench.send({ type: 'RetryTask', ...on, stage: 1, segment: 1, input: '22' })
    const [one, many] = await runner.claimAll()
    expect([one?.input, one?.each]).toEqual(['"new"', null])
    expect([many?.input, many?.each?.element]).toEqual([null, '22'])
  })

  it('tells an on-failure stage why', async () => {
    const bench = await setUp(kind)
    const spec = pipeline([stage('one'), stage('undo', { onFailure: true })])
    await bench.send({ type: 'SubmitJob', job: 'p', spec })
    const runner = new Runner(bench)
    await runner.step(() => null)
    const [undo] = await runner.claimAll()
    expect(undo?.ending).toMatchObject({
      cancelled: null,
      at: { stage: 'one', segment: null },
      error: { code: 'NO' },
    })
    expect(undo?.prior).toEqual([{ name: 'one', stage: 0, segments: null }])
  })

  it('gives outputs page by page, while it is live and when it is over', async () => {
    const bench = await setUp(kind)
    const { store } = bench
    await finished(bench, [1, 2, 3, 4, 5])
    const page = (after: number, limit: number): Promise<OutputsPage | null> =>
      store.query({ kind: 'outputs', ...JOB, stage: 1, after, limit })
    for (const isOver of [false, true]) {
      if (isOver) await putAside(bench)
      expect(await page(-1, 100)).toEqual({ outputs: [at(0), at(2), at(3), at(4)], next: null })
      expect(await page(-1, 2)).toEqual({ outputs: [at(0), at(2)], next: 2 })
      expect(await page(2, 2)).toEqual({ outputs: [at(3), at(4)], next: null })
      expect(await page(4, 2)).toEqual({ outputs: [], next: null })
      const none = { outputs: [], next: null }
      expect(await store.query({ kind: 'outputs', ...JOB, stage: 9, after: -1, limit: 9 })).toEqual(
        none,
      )
    }
    const unknown = { kind: 'outputs', job: 'nobody', stage: 0, after: -1, limit: 9 } as const
    expect(await store.query(unknown)).toBeNull()
    const ofPlain = { ...unknown, job: 'x' }
    expect((await store.query(ofPlain))?.outputs).toEqual([{ segment: 0, output: '"out"' }])
  })

  it('lists segments page by page, of one state too, while it is live and when it is over', async () => {
    const bench = await setUp(kind)
    const { store } = bench
    await finished(bench, [1, 2, 3, 4, 5])
    const page = (
      after: number,
      limit: number,
      state?: 'COMPLETED' | 'FAILED' | 'DEAD',
    ): Promise<SegmentsPage | null> => {
      const only = state === undefined ? {} : { state }
      return store.query({ kind: 'segments', ...JOB, stage: 'many', after, limit, ...only })
    }
    for (const isOver of [false, true]) {
      if (isOver) await putAside(bench)
      const all = await page(-1, 100)
      expect(numbers(all)).toEqual([0, 1, 2, 3, 4])
      expect(all?.next).toBe(null)
      expect(all?.segments[1]).toMatchObject({
        state: 'FAILED',
        attempt: 1,
        worker: 'w',
        isSuspended: false,
        error: { code: 'NO', type: 'TERMINAL' },
        effects: [],
        streams: [],
      })
      expect(all?.segments[1]?.error).not.toHaveProperty('stack')
      const two = await page(-1, 2)
      expect([numbers(two), two?.next]).toEqual([[0, 1], 1])
      const rest = await page(2, 2)
      expect([numbers(rest), rest?.next]).toEqual([[3, 4], null])
      const done = await page(0, 2, 'COMPLETED')
      expect([numbers(done), done?.next]).toEqual([[2, 3], 3])
      expect(await page(-1, 9, 'FAILED')).toMatchObject({ segments: [{ segment: 1 }], next: null })
      expect(await page(-1, 9, 'DEAD')).toEqual({ segments: [], next: null })
    }
    const unknown = { kind: 'segments', job: 'nobody', stage: 'many', after: -1, limit: 9 } as const
    expect(await store.query(unknown)).toBeNull()
    expect(await store.query({ ...unknown, ...JOB, stage: 'none' })).toBeNull()
    expect(await store.query({ ...unknown, job: 'x' })).toBeNull()
  })

  it('ends a page early if outputs are large', async () => {
    const bench = await setUp(kind)
    const runner = new Runner(bench)
    const spec = pipeline([stage('many', { each: 'input' })], { input: '[1,2,3,4,5]' })
    await bench.send({ type: 'SubmitJob', job: 'p', spec })
    await runner.step(() => `"${'x'.repeat(400_000)}"`)
    const { store } = bench
    const query = { kind: 'outputs', ...JOB, stage: 0, limit: 100 } as const
    const first = await store.query({ ...query, after: -1 })
    expect([first?.outputs.length, first?.next]).toEqual([3, 2])
    const second = await store.query({ ...query, after: 2 })
    expect([second?.outputs.length, second?.next]).toEqual([2, null])
  })

  it('sums stages up, and shows the tasks that somebody has to look at', async () => {
    const bench = await setUp(kind)
    const { store, clock } = bench
    const runner = new Runner(bench)
    await bench.send({ type: 'SubmitJob', job: 'p', spec: fourStages() })
    await runner.step(() => '[1,2,3]')
    const [first, second] = await runner.claimAll()
    const error = failure({ type: 'TERMINAL', code: 'NO' })
    await bench.send({ type: 'FailTask', ...reportOf(second as Claimed), error })
    await bench.send({ type: 'ReleaseLease', ...reportOf(first as Claimed) })
    clock.time += 5
    const seen = await store.query({ kind: 'overview', ...JOB })
    expect(seen?.state).toBe('RUNNING')
    expect(seen?.stages.map(({ name, state, segments }) => [name, state, segments])).toEqual([
      ['one', 'DONE', 1],
      ['many', 'RUNNING', 3],
      ['chained', 'NEW', null],
      ['last', 'NEW', null],
    ])
    const [, many, chained] = seen?.stages ?? []
    expect(many?.tally).toMatchObject({ waiting: 1, leased: 1, failed: 1 })
    expect(many?.troubled).toMatchObject([{ segment: 1, state: 'FAILED', error: { code: 'NO' } }])
    expect(many?.holders).toEqual([{ ...JOB, stage: 1, segment: 2, worker: 'w', since: 1_000 }])
    expect(many?.next).toMatchObject({ segment: 0, state: 'WAITING' })
    expect(chained).toMatchObject({ troubled: [], holders: [], next: null })
    expect(await store.query({ kind: 'overview', job: 'nobody' })).toBeNull()
  })

  it('says how it ended: what its last stages are, and which task is to blame', async () => {
    const bench = await setUp(kind)
    const { store } = bench
    await finished(bench, [1, 2])
    const last = [{ name: 'last', stage: 3, segments: null }]
    const nothing = { error: null, held: [], endedBy: null, at: null }
    const well = { state: 'SUCCEEDED', output: null, last, ...nothing }
    expect(await store.query({ kind: 'outcome', ...JOB })).toMatchObject(well)
    await putAside(bench)
    expect(await store.query({ kind: 'outcome', ...JOB })).toMatchObject(well)
    const spec = pipeline([stage('one'), stage('many', { after: ['one'], each: 'one' })])
    await bench.send({ type: 'SubmitJob', job: 'q', spec })
    const worker = { request: 50, worker: 'v', channels: CHANNELS, max: 9 }
    await store.execute(await store.query({ kind: 'upkeep', limit: 9 }))
    const [one] = (await store.claim(claim(worker))) as [Claimed]
    await bench.send({ ...commit(one, '[1,2]'), worker: 'v' } as ReturnType<typeof commit>)
    await store.execute(await store.query({ kind: 'upkeep', limit: 9 }))
    const both = await store.claim(claim({ ...worker, request: 51 }))
    const error = failure({ type: 'TERMINAL', code: 'NO' })
    const report = { ...reportOf(both[1] as Claimed), worker: 'v' }
    await bench.send({ type: 'FailTask', ...report, error })
    await store.execute(await store.query({ kind: 'upkeep', limit: 9 }))
    expect(await store.query({ kind: 'outcome', job: 'q' })).toMatchObject({
      state: 'FAILED',
      error: { code: 'NO' },
      at: { stage: 'many', segment: 1 },
      last: [{ name: 'many', stage: 1, segments: 2 }],
    })
  })

  it('gives one task, and the input, by themselves', async () => {
    const bench = await setUp(kind)
    const { store } = bench
    await finished(bench, [1, 2, 3])
    for (const isOver of [false, true]) {
      if (isOver) await putAside(bench)
      const query = { kind: 'task', ...JOB, stage: 1 } as const
      expect(await store.query({ ...query, segment: 2 })).toMatchObject({ output: '"many 2"' })
      expect(await store.query({ ...query, segment: 3 })).toBeNull()
      expect(await store.query({ ...query, stage: 7, segment: 0 })).toBeNull()
      expect(await store.query({ kind: 'input', ...JOB })).toBe('{"whole":1}')
    }
    const nobody = { job: 'nobody' }
    expect(await store.query({ kind: 'task', ...nobody, stage: 0, segment: 0 })).toBeNull()
    expect(await store.query({ kind: 'input', ...nobody })).toBeNull()
  })
})
