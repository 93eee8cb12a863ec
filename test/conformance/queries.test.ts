/** What every store says when it is asked: lists of jobs, and who holds leases. */
import { describe, expect, it } from 'vitest'
import type { JobSpec } from '../../src/kernel/index.ts'
import type {
  Claimed,
  Holder,
  JobSummary,
  LimitsPage,
  PositionedEntry,
  QueryOf,
  Store,
} from '../../src/store/index.ts'
import {
  failure,
  onRecord,
  pipeline,
  plain,
  policy,
  promise,
  retry,
  stage,
} from '../support/specs.ts'
import type { Bench } from './bench.ts'
import { CHANNEL, claim, commit, reportOf, setUp, STORES } from './bench.ts'

const limit = (key: string, perMs: number | null = null) => ({
  key,
  concurrency: 30,
  rate: perMs === null ? null : { count: 2, perMs },
})

/** From its submission to its end; with checkpoints it stands in a file of finished jobs soon after. */
async function finished({ store, send }: Bench, job: string, spec: JobSpec): Promise<void> {
  await send({ type: 'SubmitJob', job, spec })
  const [leased] = (await store.claim(claim({ request: 1, worker: `of ${job}` }))) as [Claimed]
  await send({ ...commit(leased), worker: `of ${job}` } as ReturnType<typeof commit>)
}

async function list(store: Store, asked: Partial<QueryOf<'jobs'>> = {}): Promise<JobSummary[]> {
  return [...(await store.query({ kind: 'jobs', limit: 99, ...asked })).jobs]
}

async function idsOf(store: Store, asked: Partial<QueryOf<'jobs'>>): Promise<string[]> {
  return (await list(store, asked)).map(({ id }) => id)
}

const jobOf = ({ job }: Holder): string => job

const used = (page: LimitsPage): unknown => page.limits.map(({ key, held }) => [key, held])

/** More than a list looks at in one step. */
const SEGMENTS = 250

describe.each(Object.keys(STORES))('the %s store lists jobs', (kind) => {
  /** Over and not over, plain and pipelines. */
  async function several(): Promise<Bench> {
    const bench = await setUp(kind)
    const { store, send } = bench
    await finished(bench, 'a', plain({ tags: ['red', 'big'], group: 'one', key: 'k' }))
    await finished(bench, 'b', plain({ tags: ['blue'], group: 'two', key: 'u', unique: true }))
    await send({
      type: 'SubmitJob',
      job: 'c',
      spec: plain({ tags: ['red'], group: 'two', key: 'u', unique: true }),
    })
    await send({
      type: 'SubmitJob',
      job: 'd',
      spec: pipeline([stage('one')], { tags: ['big'], group: 'one', key: 'k', type: 'other' }),
    })
    await send({ type: 'SubmitJob', job: 'e', spec: plain() })
    // Only looked at, or a guest: what has left memory is listed all the same.
    await store.query({ kind: 'job', job: 'a' })
    return bench
  }

  it('by tag', async () => {
    const { store } = await several()
    expect(await idsOf(store, { tag: 'red' })).toEqual(['a', 'c'])
    expect(await idsOf(store, { tag: 'big' })).toEqual(['a', 'd'])
    expect(await idsOf(store, { tag: 're' })).toEqual([])
  })

  it('by group', async () => {
    const { store } = await several()
    expect(await idsOf(store, { group: 'one' })).toEqual(['a', 'd'])
    expect(await idsOf(store, { group: 'two' })).toEqual(['b', 'c'])
  })

  it('by key, whatever has the key now', async () => {
    const { store } = await several()
    expect(await idsOf(store, { key: 'u' })).toEqual(['b', 'c'])
    expect(await idsOf(store, { key: 'k' })).toEqual(['a', 'd'])
    expect(await idsOf(store, { key: 'k', type: 'other' })).toEqual(['d'])
  })

  it('by all of them together, page by page', async () => {
    const { store } = await several()
    expect(await idsOf(store, { tag: 'red', group: 'two', state: 'QUEUED' })).toEqual(['c'])
    expect(await idsOf(store, { tag: 'red', group: 'two', state: 'SUCCEEDED' })).toEqual([])
    const first = await store.query({ kind: 'jobs', tag: 'red', limit: 1 })
    expect(first.jobs.map(({ id }) => id)).toEqual(['a'])
    const after = first.next as number
    const second = await store.query({ kind: 'jobs', tag: 'red', limit: 1, after })
    expect([second.jobs.map(({ id }) => id), second.next]).toEqual([['c'], null])
  })

  it('that run: those behind a pipeline with very many segments under way, too', async () => {
    const { store, send } = await setUp(kind)
    const channel = { queue: 'default', type: 'pipe', stage: 'one' }
    const stages = [stage('one', { each: 'input' })]
    const spec = pipeline(stages, { type: 'pipe', input: `[${'0,'.repeat(SEGMENTS - 1)}0]` })
    await send({ type: 'SubmitJob', job: 'wide', spec })
    await send({ type: 'OpenStage', job: 'wide', stage: 0 })
    for (const job of ['first', 'second']) await send({ type: 'SubmitJob', job, spec: plain() })
    const channels = [channel, CHANNEL]
    const most = SEGMENTS + 2
    for (let held = 0, request = 1; held < most; request += 1) {
      const claimed = await store.claim(claim({ request, channels, max: most - held }))
      expect(claimed).not.toEqual([])
      held += claimed.length
    }
    expect(await idsOf(store, { state: 'RUNNING' })).toContain('second')
    expect(await idsOf(store, { state: 'RUNNING', type: 'test' })).toEqual(['first', 'second'])
    expect(await idsOf(store, { type: 'test' })).toEqual(['first', 'second'])
  })

  it('with what was submitted', async () => {
    const { store, send } = await setUp(kind)
    const spec = plain({ priority: 7, tags: ['x', 'y'], group: 'g' }, { queue: 'mail' })
    await send({ type: 'SubmitJob', job: 'a', spec })
    await send({ type: 'SubmitJob', job: 'p', spec: pipeline([stage('one')], { priority: -2 }) })
    const times = { submittedAt: 1_000, endedAt: null, erasedAt: null }
    const usual = { type: 'test', state: 'QUEUED', ...times, error: null, rerunOf: null }
    expect(await list(store)).toEqual([
      { id: 'a', ...usual, queue: 'mail', priority: 7, tags: ['x', 'y'], group: 'g', attempt: 0 },
      { id: 'p', ...usual, queue: null, priority: -2, tags: [], group: null, attempt: 0 },
    ])
  })

  it('with the attempt, the newest error, and the end', async () => {
    const bench = await setUp(kind)
    const { clock, store, send } = bench
    await send({ type: 'SubmitJob', job: 'a', spec: plain({}, { retry: retry({ delayMs: 0 }) }) })
    const [first] = (await store.claim(claim())) as [Claimed]
    await send({ type: 'FailTask', ...reportOf(first), error: failure({ code: 'EBAD' }) })
    const error = { code: 'EBAD', message: 'it did not work' }
    expect(await list(store)).toMatchObject([{ attempt: 1, error, endedAt: null }])
    clock.time = 2_000
    const [second] = (await store.claim(claim({ request: 2 }))) as [Claimed]
    clock.time = 3_000
    await send(commit(second))
    const over = { state: 'SUCCEEDED', attempt: 2, error, endedAt: 3_000 }
    expect(await list(store)).toMatchObject([over])
    // Others end, so that a store that makes checkpoints has put it aside.
    for (const job of ['b', 'c', 'd']) await finished(bench, job, plain())
    expect((await list(store))[0]).toMatchObject(over)
  })

  it('with the end of a pipeline, and none of a job that waits for a person', async () => {
    const { clock, store, send } = await setUp(kind)
    await send({ type: 'SubmitJob', job: 'p', spec: pipeline([stage('one')]) })
    await send({ type: 'SubmitJob', job: 'q', spec: plain({}, { retry: retry({ max: 0 }) }) })
    const [leased] = (await store.claim(claim())) as [Claimed]
    await send({ type: 'FailTask', ...reportOf(leased), error: failure() })
    clock.time = 5_000
    await send({ type: 'CancelJob', job: 'p', ...onRecord })
    expect(await list(store)).toMatchObject([
      { id: 'p', state: 'FAILED', endedAt: 5_000, attempt: 0, error: null },
      { id: 'q', state: 'QUARANTINED', endedAt: null, attempt: 1, error: { code: 'E' } },
    ])
  })
})

async function failAll({ store, send }: Bench, request: number): Promise<void> {
  const leases = await store.claim(claim({ request, max: 99 }))
  for (const leased of leases) {
    const error = failure({ code: `E-${leased.job}` })
    await send({ type: 'FailTask', ...reportOf(leased), error })
  }
}

describe.each(Object.keys(STORES))('the %s store lists what is in quarantine', (kind) => {
  const once = { retry: retry({ max: 0 }) }

  it('in order of submission, page by page, whatever came in first', async () => {
    const bench = await setUp(kind)
    const { clock, store, send } = bench
    await send({ type: 'SubmitJob', job: 'late', spec: plain({ delayMs: 500 }, once) })
    await send({ type: 'SubmitJob', job: 'b', spec: plain({ tags: ['red'] }, once) })
    await send({ type: 'SubmitJob', job: 'c', spec: plain({ group: 'g' }, once) })
    await failAll(bench, 1)
    clock.time = 2_000
    await failAll(bench, 2)
    await send({ type: 'SubmitJob', job: 'waits', spec: plain({}, once) })
    const ids = await idsOf(store, { state: 'QUARANTINED' })
    expect(ids).toEqual(['late', 'b', 'c'])
    const first = await store.query({ kind: 'quarantine', limit: 2 })
    expect(first.jobs.map(({ id }) => id)).toEqual(['late', 'b'])
    expect(first.now).toBe(2_000)
    const after = first.next as number
    const second = await store.query({ kind: 'quarantine', limit: 2, after })
    expect([second.jobs.map(({ id }) => id), second.next]).toEqual([['c'], null])
    const red = await store.query({ kind: 'quarantine', limit: 9, tag: 'red' })
    expect(red.jobs).toEqual([
      {
        id: 'b',
        type: 'test',
        version: 1,
        queue: 'default',
        group: null,
        tags: ['red'],
        submittedAt: 1_000,
        tasks: [
          {
            stage: 0,
            stageName: null,
            segment: 0,
            attempt: 1,
            since: 1_000,
            error: failure({ code: 'E-b' }),
            endedBy: 'TaskFailed',
            held: [],
          },
        ],
      },
    ])
  })

  it('also behind a pipeline with very many segments in it', async () => {
    const bench = await setUp(kind)
    const { store, send } = bench
    const stages = [stage('cut', { each: 'input', policy: policy(once) })]
    const spec = pipeline(stages, { input: `[${'0,'.repeat(SEGMENTS - 1)}0]` })
    await send({ type: 'SubmitJob', job: 'wide', spec })
    await send({ type: 'OpenStage', job: 'wide', stage: 0 })
    await send({ type: 'SubmitJob', job: 'last', spec: plain({}, once) })
    const channels = [{ ...CHANNEL, stage: 'cut' }, CHANNEL]
    for (let request = 1; ; request += 1) {
      const claimed = await store.claim(claim({ request, channels, max: SEGMENTS }))
      if (claimed.length === 0) break
      for (const one of claimed) {
        await send({ type: 'FailTask', ...reportOf(one), error: failure() })
      }
    }
    expect(await idsOf(store, { state: 'QUARANTINED' })).toEqual(['wide', 'last'])
  })

  it('and no longer once a person has retried or discarded it', async () => {
    const bench = await setUp(kind)
    const { store, send } = bench
    for (const job of ['a', 'b', 'c']) {
      await send({ type: 'SubmitJob', job, spec: plain({}, once) })
    }
    await failAll(bench, 1)
    const address = { stage: 0, segment: 0, attempt: 1, input: null }
    await send({ type: 'RetryTask', job: 'b', ...address, ...onRecord })
    await send({ type: 'CancelJob', job: 'c', ...onRecord })
    expect(await idsOf(store, { state: 'QUARANTINED' })).toEqual(['a'])
    await failAll(bench, 2)
    expect(await idsOf(store, { state: 'QUARANTINED' })).toEqual(['a', 'b'])
  })

  it('pipelines alone, page by page, among plain jobs', async () => {
    const bench = await setUp(kind)
    const { store, send } = bench
    const spec = pipeline([stage('cut', { policy: policy(once) })])
    for (const job of ['a', 'p', 'b', 'q', 'c']) {
      await send({ type: 'SubmitJob', job, spec: job < 'd' ? plain({}, once) : spec })
    }
    for (const job of ['p', 'q']) await send({ type: 'OpenStage', job, stage: 0 })
    await failAll(bench, 1)
    const channels = [{ ...CHANNEL, stage: 'cut' }]
    for (const one of await store.claim(claim({ request: 2, channels, max: 2 }))) {
      await send({ type: 'FailTask', ...reportOf(one), error: failure() })
    }
    const asked = { kind: 'quarantine', pipelines: true } as const
    const first = await store.query({ ...asked, limit: 1 })
    expect(first.jobs).toMatchObject([{ id: 'p', queue: null, tasks: [{ stageName: 'cut' }] }])
    const after = first.next as number
    const second = await store.query({ ...asked, limit: 2, after })
    expect([second.jobs.map(({ id }) => id), second.next]).toEqual([['q'], null])
    const named = await store.query({ ...asked, limit: 2, jobs: ['a', 'q'] })
    expect(named.jobs.map(({ id }) => id)).toEqual(['q'])
  })

  it('a pipeline with every task that keeps it there', async () => {
    const bench = await setUp(kind)
    const { store, send } = bench
    const stages = [stage('cut', { each: 'input', policy: policy(once) })]
    const spec = pipeline(stages, { input: '[1,2,3]' })
    await send({ type: 'SubmitJob', job: 'p', spec })
    for (const command of await store.query({ kind: 'upkeep', limit: 9 })) await send(command)
    const channels = [{ ...CHANNEL, stage: 'cut' }]
    const [one, two, three] = (await store.claim(claim({ channels, max: 3 }))) as Claimed[]
    await send({ type: 'FailTask', ...reportOf(one as Claimed), error: failure() })
    await send(commit(two as Claimed))
    expect(await idsOf(store, { state: 'QUARANTINED' })).toEqual([])
    await send({ type: 'FailTask', ...reportOf(three as Claimed), error: failure() })
    const { jobs } = await store.query({ kind: 'quarantine', limit: 9 })
    expect(jobs.map(({ id, queue, tasks }) => [id, queue, tasks.length])).toEqual([['p', null, 2]])
    expect(jobs[0]?.tasks.map(({ stageName, segment }) => `${stageName} ${segment}`)).toEqual([
      'cut 0',
      'cut 2',
    ])
    await send({ type: 'CancelJob', job: 'p', ...onRecord })
    expect(await idsOf(store, { state: 'QUARANTINED' })).toEqual([])
  })
})

describe.each(Object.keys(STORES))('the %s store counts', (kind) => {
  it('each transition under the type and the queue of its job, wherever the job is kept', async () => {
    const bench = await setUp(kind)
    const { store } = bench
    for (const job of ['a', 'b', 'c']) await finished(bench, job, plain({}, { queue: 'default' }))
    const { entries, traffic } = await store.query({ kind: 'metrics' })
    expect(entries).toEqual({ JobSubmitted: 3, LeaseGranted: 3, ExecutionCommitted: 3 })
    expect(traffic).toMatchObject([
      { type: 'test', queue: 'default', submitted: 3, granted: 3, committed: 3 },
    ])
  })
})

describe.each(Object.keys(STORES))('the %s store lists limits', (kind) => {
  it('of which something is used now, in order of their keys, with what bounds them', async () => {
    const { clock, store, send } = await setUp(kind)
    const rated = limit('rated', 1_000)
    const wide = { key: 'wide', concurrency: 9, rate: null }
    await send({ type: 'SubmitJob', job: 'a', spec: plain({}, { limits: [wide, rated] }) })
    await send({ type: 'SubmitJob', job: 'b', spec: plain({}, { limits: [wide] }) })
    await send({ type: 'SubmitJob', job: 'c', spec: plain({}, { limits: [limit('early')] }) })
    await send({
      type: 'SubmitJob',
      job: 'd',
      spec: plain({ delayMs: 9_000 }, { limits: [limit('later')] }),
    })
    const all = { kind: 'limits', limit: 9 } as const
    expect(await store.query(all)).toEqual({ limits: [], next: null })
    const [first] = (await store.claim(claim({ max: 3 }))) as [Claimed]
    const { key: _, ...bounds } = rated
    expect(await store.query(all)).toEqual({
      limits: [
        { key: 'early', held: 1, fullAt: 0, bounds: { concurrency: 30, rate: null } },
        { key: 'rated', held: 1, fullAt: 1_500, bounds },
        { key: 'wide', held: 2, fullAt: 0, bounds: { concurrency: 9, rate: null } },
      ],
      next: null,
    })
    await send(commit(first))
    // The place is free, and the bucket is not full yet.
    expect(used(await store.query(all))).toEqual([
      ['early', 1],
      ['rated', 0],
      ['wide', 1],
    ])
    clock.time = 1_500
    expect(used(await store.query(all))).toEqual([
      ['early', 1],
      ['wide', 1],
    ])
  })

  it('page by page, by the beginning of their keys, and past those that are not used any more', async () => {
    const { store, send } = await setUp(kind)
    const keys = Array.from({ length: 460 }, (_, i) => `tenant ${1_000 + i}`)
    for (const [i, key] of [...keys, 'a', 'tenant', 'tenanu', 'z'].entries()) {
      await send({ type: 'SubmitJob', job: `job ${i}`, spec: plain({}, { limits: [limit(key)] }) })
    }
    const claimed = await store.claim(claim({ max: 464 }))
    expect(claimed).toHaveLength(464)
    for (const one of claimed) {
      const number = Number(one.job.slice(4))
      if (number !== 3 && number < 450) await send(commit(one))
    }
    const seen: string[] = []
    let pages = 0
    for (let after: string | null = ''; after !== null; pages++) {
      const page: LimitsPage = await store.query({
        kind: 'limits',
        prefix: 'tenant',
        after,
        limit: 4,
      })
      expect(page.limits.length).toBeLessThanOrEqual(4)
      seen.push(...page.limits.map(({ key }) => key))
      after = page.next
    }
    expect(seen).toEqual(['tenant', 'tenant 1003', ...keys.slice(450)])
    expect(pages).toBe(3)
    const none = await store.query({ kind: 'limits', prefix: 'tenant 2', limit: 4 })
    expect(none).toEqual({ limits: [], next: null })
    expect(await store.query({ kind: 'limits', limit: 0 })).toEqual({ limits: [], next: null })
  })
})

describe.each(Object.keys(STORES))('the %s store says who holds', (kind) => {
  it('a limit: those that are charged to it, the oldest grant first', async () => {
    const { clock, store, send } = await setUp(kind)
    const limits = [limit('gpu'), limit('api')]
    await send({ type: 'SubmitJob', job: 'a', spec: plain({}, { limits }) })
    await send({ type: 'SubmitJob', job: 'b', spec: plain({}, { limits: [limit('gpu')] }) })
    await send({ type: 'SubmitJob', job: 'c', spec: plain({}, { limits: [limit('disk')] }) })
    await send({ type: 'SubmitJob', job: 'waits', spec: plain({}, { limits }) })
    const [first] = (await store.claim(claim({ worker: 'w' }))) as [Claimed]
    clock.time += 10
    await store.claim(claim({ worker: 'v', max: 2 }))
    const a = { job: 'a', stage: 0, segment: 0, worker: 'w', since: 1_000 }
    const b = { job: 'b', stage: 0, segment: 0, worker: 'v', since: 1_010 }
    const gpu = await store.query({ kind: 'limit', key: 'gpu' })
    expect(gpu).toEqual({ key: 'gpu', held: 2, fullAt: 0, holders: [a, b] })
    const api = await store.query({ kind: 'limit', key: 'api' })
    expect(api).toEqual({ key: 'api', held: 1, fullAt: 0, holders: [a] })
    await send(commit(first))
    expect(await store.query({ kind: 'limit', key: 'gpu' })).toMatchObject({
      held: 1,
      holders: [b],
    })
    const none = await store.query({ kind: 'limit', key: 'nobody knows it' })
    expect(none).toEqual({ key: 'nobody knows it', held: 0, fullAt: 0, holders: [] })
  })

  it('a limit: one that only finishes its commit too', async () => {
    const { store, send } = await setUp(kind)
    await send({ type: 'SubmitJob', job: 'a', spec: plain({}, { limits: [limit('gpu')] }) })
    const [first] = (await store.claim(claim())) as [Claimed]
    const effects = [promise()]
    await send({ type: 'CommitExecution', ...reportOf(first), output: '1', effects })
    await send({ type: 'ReleaseLease', ...reportOf(first) })
    expect(await store.query({ kind: 'limit', key: 'gpu' })).toMatchObject({ held: 0, holders: [] })
    await store.claim(claim({ request: 2 }))
    const { held, holders } = await store.query({ kind: 'limit', key: 'gpu' })
    expect([held, holders.map(jobOf)]).toEqual([1, ['a']])
  })

  it('a limit: each once, though it was granted twice within a millisecond', async () => {
    const { store, send } = await setUp(kind)
    await send({ type: 'SubmitJob', job: 'z', spec: plain({}, { limits: [limit('gpu')] }) })
    await send({ type: 'SubmitJob', job: 'a', spec: plain({}, { limits: [limit('gpu')] }) })
    const [, second] = (await store.claim(claim({ max: 2 }))) as [Claimed, Claimed]
    expect(second.job).toBe('a')
    await send({ type: 'ReleaseLease', ...reportOf(second) })
    await store.claim(claim({ request: 2 }))
    const { held, holders } = await store.query({ kind: 'limit', key: 'gpu' })
    expect([held, holders.map(jobOf)]).toEqual([2, ['a', 'z']])
    const view = await store.query({ kind: 'worker-leases', worker: 'w' })
    expect([view.held, view.holders]).toEqual([2, holders])
  })

  it('a limit: no more than 20 of many, with when its rate has recovered', async () => {
    const { clock, store, send } = await setUp(kind)
    for (let i = 0; i < 25; i++) {
      const spec = plain({}, { limits: [limit('api', 1_000)] })
      await send({ type: 'SubmitJob', job: `job ${100 + i}`, spec })
    }
    for (let request = 1; request <= 25; request++) {
      expect(await store.claim(claim({ request }))).toHaveLength(1)
      clock.time += 500
    }
    const { held, fullAt, holders } = await store.query({ kind: 'limit', key: 'api' })
    // One token is 500 ms, and the last one was taken 500 ms ago.
    expect([held, fullAt]).toEqual([25, 0])
    expect(holders.map(jobOf)).toEqual(Array.from({ length: 20 }, (_, i) => `job ${100 + i}`))
    expect(holders.map(({ since }) => since)).toEqual(holders.map((_, i) => 1_000 + 500 * i))
    // Extended: it expires after all others, and was granted first all the same.
    const at = { job: 'job 100', stage: 0, segment: 0, lease: 1, worker: 'w', extension: 1 }
    await send({ type: 'ExtendLease', ...at })
    expect((await store.query({ kind: 'limit', key: 'api' })).holders).toEqual(holders)
  })

  it('a limit: its bucket is full when the time has come', async () => {
    const { clock, store, send } = await setUp(kind)
    await send({ type: 'SubmitJob', job: 'a', spec: plain({}, { limits: [limit('api', 1_000)] }) })
    await store.claim(claim())
    expect((await store.query({ kind: 'limit', key: 'api' })).fullAt).toBe(1_500)
    clock.time = 1_500
    expect((await store.query({ kind: 'limit', key: 'api' })).fullAt).toBe(0)
  })

  it('a queue: its tasks, and what is used of its own limit', async () => {
    const { clock, store, send } = await setUp(kind)
    const rate = { count: 4, perMs: 2_000 }
    await send({
      type: 'ConfigureQueue',
      queue: 'mail',
      concurrency: 3,
      rate,
      ageingMs: null,
      ...onRecord,
    })
    const channels = [{ ...CHANNEL, queue: 'mail' }, CHANNEL]
    for (const job of ['a', 'b', 'c']) {
      await send({ type: 'SubmitJob', job, spec: plain({}, { queue: 'mail' }) })
    }
    await send({ type: 'SubmitJob', job: 'other', spec: plain({ priority: 1 }) })
    await store.claim(claim({ channels }))
    clock.time += 1
    await store.claim(claim({ channels, request: 2, max: 2 }))
    const { queue, ...use } = await store.query({ kind: 'queue', queue: 'mail' })
    expect(queue).toMatchObject({ name: 'mail', concurrency: 3, rate })
    const at = { stage: 0, segment: 0, worker: 'w', since: 1_001 }
    const holders = [
      { ...at, job: 'a' },
      { ...at, job: 'b' },
    ]
    expect(use).toEqual({ ready: 1, held: 2, fullAt: 2_001, holders })
    const usual = await store.query({ kind: 'queue', queue: 'default' })
    expect([usual.held, usual.fullAt, usual.holders.map(jobOf)]).toEqual([1, 0, ['other']])
  })

  it('the leases of a worker', async () => {
    const { clock, store, send } = await setUp(kind)
    for (const job of ['a', 'b', 'c']) await send({ type: 'SubmitJob', job, spec: plain() })
    await store.claim(claim({ worker: 'w' }))
    await store.claim(claim({ worker: 'v' }))
    clock.time += 1
    await store.claim(claim({ worker: 'w', request: 2 }))
    const view = await store.query({ kind: 'worker-leases', worker: 'w' })
    expect(view).toEqual({
      worker: 'w',
      held: 2,
      holders: [
        { job: 'a', stage: 0, segment: 0, worker: 'w', since: 1_000 },
        { job: 'c', stage: 0, segment: 0, worker: 'w', since: 1_001 },
      ],
    })
    const none = await store.query({ kind: 'worker-leases', worker: 'nobody' })
    expect(none).toEqual({ worker: 'nobody', held: 0, holders: [] })
  })

  it('segments of a pipeline, by stage and segment', async () => {
    const { store, send } = await setUp(kind)
    const many = stage('many', {
      each: 'input',
      policy: plain({}, { limits: [limit('gpu')] }).policy!,
    })
    await send({ type: 'SubmitJob', job: 'p', spec: pipeline([many], { input: '[1,2,3]' }) })
    await send({ type: 'OpenStage', job: 'p', stage: 0 })
    await store.claim(claim({ channels: [{ ...CHANNEL, stage: 'many' }], max: 2 }))
    const { holders } = await store.query({ kind: 'limit', key: 'gpu' })
    expect(holders.map(({ job, stage: index, segment }) => [job, index, segment])).toEqual([
      ['p', 0, 0],
      ['p', 0, 1],
    ])
  })
})

async function oldestIn(store: Store, name: string): Promise<number | null | undefined> {
  const queues = await store.query({ kind: 'queues' })
  return queues.find(({ queue }) => queue.name === name)?.oldestDueAt
}

describe.each(Object.keys(STORES))('the oldest task that waits in a queue of %s', (kind) => {
  it('is the one that was due first, whatever its priority is and whatever stops it', async () => {
    const { clock, store, send } = await setUp(kind)
    const submit = async (job: string, at: number, spec: JobSpec): Promise<void> => {
      clock.time = at
      await send({ type: 'SubmitJob', job, spec })
    }
    await submit('low', 1_000, plain({ priority: -5 }))
    const stopped = { queue: 'mail', limits: [{ ...limit('k'), concurrency: 1 }] }
    await submit('holder', 1_400, plain({}, stopped))
    const channels = [{ ...CHANNEL, queue: 'mail' }]
    expect(await store.claim(claim({ channels, worker: 'one' }))).toHaveLength(1)
    await submit('stopped', 1_500, plain({}, stopped))
    await submit('mail', 2_000, plain({}, { queue: 'mail' }))
    for (let i = 0; i < 30; i++) await submit(`high-${i}`, 3_000 + i, plain({ priority: 5 }))
    await submit('later', 4_000, plain({ delayMs: 60_000 }))
    expect(await oldestIn(store, 'default')).toBe(1_000)
    expect(await oldestIn(store, 'mail')).toBe(1_500)
    const claimed = await store.claim(claim({ channels, max: 5 }))
    expect(claimed.map(({ job }) => job)).toEqual(['mail'])
    expect(await oldestIn(store, 'mail')).toBe(1_500)
  })

  it('is none once a worker has all of them, and one that is due again by its new time', async () => {
    const { clock, store, send } = await setUp(kind)
    await send({ type: 'SubmitJob', job: 'a', spec: plain({}, { retry: retry({ delayMs: 500 }) }) })
    const [leased] = (await store.claim(claim())) as [Claimed]
    expect(await oldestIn(store, 'default')).toBe(null)
    clock.time = 5_000
    await send({ type: 'FailTask', ...reportOf(leased), error: failure() })
    expect(await oldestIn(store, 'default')).toBe(null)
    clock.time = 7_000
    expect(await oldestIn(store, 'default')).toBe(5_500)
  })
})

describe.each(Object.keys(STORES))('the %s store shows entries of the log', (kind) => {
  it('behind a place and up to one, where no entry has to stand: the first or the newest of them', async () => {
    const { store, send } = await setUp(kind)
    for (const job of ['a', 'b', 'c', 'd', 'e']) {
      await send({ type: 'SubmitJob', job, spec: plain({ input: `"${job}"` }) })
    }
    const watched: PositionedEntry[] = []
    for await (const one of store.watch(0)) {
      watched.push(one)
      if (watched.length === 5) break
    }
    const end = Number.MAX_SAFE_INTEGER
    const ask = (asked: Omit<QueryOf<'entries'>, 'kind'>): Promise<readonly PositionedEntry[]> =>
      store.query({ kind: 'entries', ...asked })
    expect(await ask({ after: 0, through: end, limit: 99 })).toEqual(watched)
    expect(await ask({ after: 0, through: end, limit: 99, newest: true })).toEqual(watched)
    const [, second = 0, third = 0, fourth = 0] = watched.map(({ position }) => position)
    // Between the places of two entries there may be others, which are of none.
    for (const at of [second, third - 1]) {
      expect(await ask({ after: at, through: end, limit: 2 })).toEqual(watched.slice(2, 4))
      expect(await ask({ after: at, through: fourth, limit: 99 })).toEqual(watched.slice(2, 4))
      expect(await ask({ after: 0, through: at, limit: 1, newest: true })).toEqual([watched[1]])
      expect(await ask({ after: at, through: at, limit: 9 })).toEqual([])
    }
    expect(await ask({ after: 0, through: end, limit: 0 })).toEqual([])
    expect(await ask({ after: end - 1, through: end, limit: 9, newest: true })).toEqual([])
    expect(await ask({ after: second, through: end, limit: 2, newest: true })).toEqual(
      watched.slice(3),
    )
  })
})
