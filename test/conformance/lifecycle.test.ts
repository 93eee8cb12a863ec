/**
 * The life of a job from its submit to its end, on every store: who may report, what time does, what a
 * repeated or late report is answered, and what can no longer change. The kernel decides all of it; here
 * it is seen that each store keeps to it.
 */
import { describe, expect, it } from 'vitest'
import type { Command, Entry, JobSpec } from '../../src/kernel/index.ts'
import type { Claimed, Clock, JobOverview, Store } from '../../src/store/index.ts'
import { openDirectory } from '../../src/store/index.ts'
import { openPostgres, openSqliteStore } from '../../src/store/sql/open-sql.ts'
import { failure, onRecord, pipeline, plain, promise, retry, stage } from '../support/specs.ts'
import { freshSchema } from '../support/postgres.ts'
import { freshFile } from '../support/sqlite.ts'
import type { Bench } from './bench.ts'
import { CHANNEL, claim, commit, reportOf, setUp, simulated, STORES, TestClock } from './bench.ts'

const AT = { job: 'a', stage: 0, segment: 0 } as const
const MORTAL = { retry: retry({ max: 0 }) }

async function submit({ send }: Bench, spec: JobSpec, job = 'a'): Promise<void> {
  expect((await send({ type: 'SubmitJob', job, spec })).verdict).toBe('committed')
}

async function take({ store }: Bench, request: number, worker = 'w'): Promise<Claimed> {
  const [leased] = await store.claim(claim({ request, worker }))
  if (leased === undefined) throw new Error('Nothing was granted.')
  return leased
}

async function look({ store }: Bench, job = 'a'): Promise<JobOverview> {
  const seen = await store.query({ kind: 'overview', job })
  if (seen === null) throw new Error(`There is no job ${job}.`)
  return seen
}

/** The state of the job, of its task, and the status of each attempt. */
async function states(bench: Bench): Promise<unknown[]> {
  const { state, job, executions } = await look(bench)
  return [state, job.task?.state, ...executions.map(({ status }) => status)]
}

async function entriesOf({ store }: Bench, job = 'a'): Promise<Entry[]> {
  const history = await store.query({ kind: 'history', job, limit: 100 })
  return history.map(({ entry }) => entry)
}

async function typesOf(bench: Bench): Promise<string[]> {
  return (await entriesOf(bench)).map(({ type }) => type)
}

/** What time and the orchestrator have to do, done. */
async function upkeep({ store }: Bench): Promise<readonly Command[]> {
  const due = await store.query({ kind: 'upkeep', limit: 10 })
  for (const answer of await store.execute(due)) expect(answer.verdict).toBe('committed')
  return due
}

describe.each(Object.keys(STORES))('an execution on the %s store', (kind) => {
  it('goes from LEASED over IN_PROGRESS and COMMITTED to DONE, and its job follows it', async () => {
    const bench = await setUp(kind)
    const { store, send } = bench
    await submit(bench, plain())
    expect(await states(bench)).toEqual(['QUEUED', 'WAITING'])
    expect((await look(bench)).attempt).toBe(0)
    const [leased] = (await store.claim(claim({ started: false }))) as [Claimed]
    expect(await states(bench)).toEqual(['RUNNING', 'LEASED', 'LEASED'])
    expect((await look(bench)).executions[0]).toMatchObject({
      attempt: 1,
      worker: 'w',
      grantedAt: 1_000,
      expiresAt: 31_000,
      startedAt: null,
    })
    await send({ type: 'StartExecution', ...reportOf(leased) })
    expect(await states(bench)).toEqual(['RUNNING', 'LEASED', 'IN_PROGRESS'])
    // Nothing may happen outside before the commit promised it.
    const start = { type: 'StartEffect', ...reportOf(leased), effect: 0 } as const
    expect((await send(start)).rejection?.code).toBe('NotCommitted')
    await send({ ...commit(leased), effects: [promise()] } as Command)
    expect(await states(bench)).toEqual(['RUNNING', 'LEASED', 'COMMITTED'])
    expect((await send(start)).verdict).toBe('committed')
    await send({ type: 'FinishEffect', ...reportOf(leased), effect: 0 })
    expect(await states(bench)).toEqual(['SUCCEEDED', 'COMPLETED', 'DONE'])
    expect(await typesOf(bench)).toEqual([
      'JobSubmitted',
      'LeaseGranted',
      'ExecutionStarted',
      'ExecutionCommitted',
      'EffectStarted',
      'EffectFinished',
    ])
  })

  it('is ABORTED when its lease runs out, started or not, and its job is QUEUED again', async () => {
    const bench = await setUp(kind)
    const { store, clock } = bench
    await submit(bench, plain({}, { leaseMs: 50 }))
    for (const [request, started] of [
      [1, false],
      [2, true],
    ] as const) {
      await store.claim(claim({ request, started }))
      clock.time += 49
      expect(await upkeep(bench)).toEqual([])
      clock.time += 1
      expect(await upkeep(bench)).toEqual([{ type: 'ExpireLease', ...AT, lease: request }])
    }
    expect(await states(bench)).toEqual(['QUEUED', 'WAITING', 'ABORTED', 'ABORTED'])
    // Only what was started costs a retry; no lease is left; an operator can read why.
    expect((await look(bench)).job.task).toMatchObject({ attempt: 2, retries: 1, lease: null })
    const expired = (await entriesOf(bench)).find(({ type }) => type === 'LeaseExpired')
    expect(expired).toMatchObject({ lease: 1, diagnostic: expect.stringContaining('w') })
  })

  it('commits once: the late report of another is cancelled, on record once, and changes nothing', async () => {
    const bench = await setUp(kind)
    const { send, clock } = bench
    await submit(bench, plain({}, { leaseMs: 50 }))
    const slow = await take(bench, 1, 'slow')
    clock.time += 50
    // The lease is over, written or not.
    const late = { ...commit(slow, '"slow"'), worker: 'slow' } as Command
    expect((await send(late)).verdict).toBe('cancelled')
    await upkeep(bench)
    const quick = await take(bench, 2, 'quick')
    const inTime = { ...commit(quick, '"quick"'), worker: 'quick' } as Command
    expect((await send(late)).verdict).toBe('cancelled')
    expect((await send(inTime)).verdict).toBe('committed')
    expect((await send(late)).verdict).toBe('cancelled')
    expect((await look(bench)).job.task?.output).toBe('"quick"')
    const types = await typesOf(bench)
    expect(types.filter((type) => type === 'ExecutionCommitted')).toHaveLength(1)
    expect(types.filter((type) => type === 'ReportRefused')).toHaveLength(1)
  })

  it('is reported on by the worker that holds its lease, and by no other', async () => {
    const bench = await setUp(kind)
    const { send } = bench
    await submit(bench, plain())
    const leased = await take(bench, 1)
    const before = await entriesOf(bench)
    const code = async (change: object): Promise<string | undefined> =>
      (await send({ ...commit(leased), ...change })).rejection?.code
    expect(await code({ worker: 'other' })).toBe('NotLeaseHolder')
    expect(await code({ lease: 2 })).toBe('UnknownLease')
    expect(await code({ job: 'b' })).toBe('UnknownTask')
    expect(await entriesOf(bench)).toEqual(before)
    expect((await send(commit(leased))).verdict).toBe('committed')
  })

  it('is finished after its commit by the next worker, which can neither redo nor fail it', async () => {
    const bench = await setUp(kind)
    const { send, clock } = bench
    await submit(bench, plain({}, { leaseMs: 50 }))
    const dies = await take(bench, 1)
    await send({ ...commit(dies, '"first"'), effects: [promise()] } as Command)
    clock.time += 50
    await upkeep(bench)
    const next = await take(bench, 2)
    expect(next.commit).toMatchObject({ lease: 1, output: '"first"' })
    expect((await send(commit(next, '"second"'))).rejection?.code).toBe('AlreadyCommitted')
    const fail = { type: 'FailTask', ...reportOf(next), error: failure() } as const
    expect((await send(fail)).rejection?.code).toBe('AlreadyCommitted')
    await send({ type: 'StartEffect', ...reportOf(next), effect: 0 })
    await send({ type: 'FinishEffect', ...reportOf(next), effect: 0 })
    const { state, job } = await look(bench)
    expect([state, job.task?.output, job.task?.retries]).toEqual(['SUCCEEDED', '"first"', 0])
    const types = await typesOf(bench)
    expect(types.filter((type) => type === 'ExecutionCommitted')).toHaveLength(1)
    expect(types.filter((type) => type === 'EffectFinished')).toHaveLength(1)
  })

  it('keeps its state when its lease is extended, which it is only before its end', async () => {
    const bench = await setUp(kind)
    const { send, clock } = bench
    await submit(bench, plain({}, { leaseMs: 50 }))
    const leased = await take(bench, 1)
    const before = await states(bench)
    clock.time += 49
    const extend = (extension: number): Command => ({
      type: 'ExtendLease',
      ...reportOf(leased),
      extension,
    })
    expect((await send(extend(1))).verdict).toBe('committed')
    expect(await states(bench)).toEqual(before)
    expect((await look(bench)).job.task?.lease?.expiresAt).toBe(1_099)
    clock.time += 50
    expect((await send(extend(2))).verdict).toBe('cancelled')
    expect((await look(bench)).job.task?.lease?.expiresAt).toBe(1_099)
  })
})

describe.each(Object.keys(STORES))('a task on the %s store', (kind) => {
  it('is granted to one of many that claim at the same moment', async () => {
    const bench = await setUp(kind)
    for (let i = 0; i < 12; i++) await submit(bench, plain(), `job ${i}`)
    const claims = Array.from({ length: 8 }, (_, i) =>
      bench.store.claim(claim({ worker: `w${i}`, max: 4 })),
    )
    const granted = (await Promise.all(claims)).flat().map(({ job }) => job)
    let request = 2
    // Those that others had locked are there a moment later.
    for (let none = 0; none < 3; request++) {
      const more = await bench.store.claim(claim({ request, max: 4 }))
      granted.push(...more.map(({ job }) => job))
      none = more.length === 0 ? none + 1 : 0
    }
    expect(granted.toSorted()).toEqual(Array.from({ length: 12 }, (_, i) => `job ${i}`).toSorted())
  })

  it('is not granted while its job is held, nor before it is due', async () => {
    const bench = await setUp(kind)
    const { store, send, clock } = bench
    await submit(bench, plain({ held: true, delayMs: 20 }))
    clock.time += 20
    expect(await store.claim(claim())).toEqual([])
    expect(await states(bench)).toEqual(['CREATED', 'WAITING'])
    await send({ type: 'ReleaseJob', job: 'a', ...onRecord })
    expect(await states(bench)).toEqual(['QUEUED', 'WAITING'])
    await submit(bench, plain({ delayMs: 20 }), 'b')
    expect((await store.claim(claim({ request: 2, max: 9 }))).map(({ job }) => job)).toEqual(['a'])
    clock.time += 20
    expect((await store.claim(claim({ request: 3, max: 9 }))).map(({ job }) => job)).toEqual(['b'])
  })

  it.each([
    ['always', 'QUARANTINED', 'DEAD'],
    ['never', 'FAILED', 'FAILED'],
  ] as const)(
    'is retried three times, a second apart, if nobody says otherwise (quarantine: %s)',
    async (quarantine, end, task) => {
      const bench = await setUp(kind)
      const { store, send, clock } = bench
      await submit(bench, plain({}, { quarantine }))
      for (let attempt = 1; attempt <= 4; attempt++) {
        expect((await look(bench)).state).toBe('QUEUED')
        const leased = await take(bench, attempt)
        await send({ type: 'FailTask', ...reportOf(leased), error: failure() })
        const { job } = await look(bench)
        expect(job.task).toMatchObject({ attempt, retries: Math.min(attempt, 3) })
        if (attempt === 4) break
        expect((await look(bench)).state).toBe('RETRYING')
        clock.time += 999
        expect(await store.claim(claim({ request: 10 + attempt }))).toEqual([])
        clock.time += 1
      }
      expect((await states(bench)).slice(0, 2)).toEqual([end, task])
      clock.time += 60_000
      expect(await store.claim(claim({ request: 20 }))).toEqual([])
    },
  )

  it('is FAILED at once by a terminal error, and by a cancel before it was granted', async () => {
    const bench = await setUp(kind)
    const { send } = bench
    await submit(bench, plain())
    const leased = await take(bench, 1)
    const error = failure({ type: 'TERMINAL' })
    await send({ type: 'FailTask', ...reportOf(leased), error })
    expect(await states(bench)).toEqual(['FAILED', 'FAILED', 'ABORTED'])
    expect((await look(bench)).job.task).toMatchObject({ attempt: 1, retries: 0, error })
    await submit(bench, plain(), 'b')
    await send({ type: 'CancelJob', job: 'b', ...onRecord })
    expect((await look(bench, 'b')).state).toBe('FAILED')
  })

  it('gets a fresh budget from an operator who saw it in quarantine, once', async () => {
    const bench = await setUp(kind)
    const { send } = bench
    await submit(bench, plain({}, MORTAL))
    const again = { type: 'RetryTask', ...AT, attempt: 1, input: null, ...onRecord } as const
    for (const [attempt, retries] of [
      [1, 0],
      [2, 0],
    ] as const) {
      const leased = await take(bench, attempt)
      await send({ type: 'FailTask', ...reportOf(leased), error: failure() })
      expect((await states(bench)).slice(0, 2)).toEqual(['QUARANTINED', 'DEAD'])
      expect((await look(bench)).job.task).toMatchObject({ attempt, retries })
      if (attempt === 2) break
      for (let times = 0; times < 2; times++) {
        expect((await send(again)).verdict).toBe('committed')
        expect((await states(bench)).slice(0, 2)).toEqual(['QUEUED', 'WAITING'])
      }
    }
    // What was decided on an older view is not done to what is there now.
    const other = { ...again, input: '"new"' }
    expect((await send(other)).rejection?.code).toBe('TaskChanged')
    expect((await typesOf(bench)).filter((type) => type === 'TaskRetried')).toHaveLength(1)
  })
})

describe.each(Object.keys(STORES))('a command to the %s store', (kind) => {
  it('that is sent again is answered as the first time, and writes nothing', async () => {
    const bench = await setUp(kind)
    const { store, send } = bench
    const twice = async (command: Command): Promise<void> => {
      const first = await send(command)
      expect(first.verdict).toBe('committed')
      const before = await entriesOf(bench)
      expect(await send(command)).toEqual(first)
      expect(await entriesOf(bench)).toEqual(before)
    }
    await twice({ type: 'SubmitJob', job: 'a', spec: plain({ held: true }) })
    await twice({ type: 'ReleaseJob', job: 'a', ...onRecord })
    const [leased] = (await store.claim(claim({ started: false }))) as [Claimed]
    expect(await store.claim(claim({ started: false }))).toEqual([leased])
    const report = reportOf(leased)
    await twice({ type: 'StartExecution', ...report })
    await twice({ type: 'ExtendLease', ...report, extension: 1 })
    await twice({ type: 'RecordStep', ...report, name: 's', value: '1', definitionVersion: 1 })
    await twice({ type: 'FailTask', ...report, error: failure(), delayMs: 0 })
    const next = await take(bench, 2)
    await twice({ ...commit(next), effects: [promise()] } as Command)
    await twice({ type: 'StartEffect', ...reportOf(next), effect: 0 })
    await twice({ type: 'FinishEffect', ...reportOf(next), effect: 0 })
    expect((await look(bench)).state).toBe('SUCCEEDED')
  })

  it('changes nothing of a job that is over', async () => {
    for (const end of ['SUCCEEDED', 'FAILED']) {
      const bench = await setUp(kind)
      const { store, send } = bench
      await submit(bench, plain())
      const leased = await take(bench, 1)
      const error = failure({ type: 'TERMINAL' })
      const fail = { type: 'FailTask', ...reportOf(leased), error } as const
      await send(end === 'FAILED' ? fail : commit(leased))
      const before = await look(bench)
      expect(before.state).toBe(end)
      const seen = { ...AT, attempt: 1, ...onRecord }
      const commands: Command[] = [
        end === 'FAILED' ? commit(leased) : fail,
        { type: 'ExtendLease', ...reportOf(leased), extension: 1 },
        { type: 'ReleaseLease', ...reportOf(leased) },
        { type: 'ExpireLease', ...AT, lease: 1 },
        { type: 'RevokeLease', ...AT, lease: 1, seen: 0, presence: false, ...onRecord },
        { type: 'CancelJob', job: 'a', ...onRecord },
        { type: 'RetryTask', ...seen, input: null },
        { type: 'ForceTask', ...seen, to: 'WAITING', output: null },
        { type: 'StopTask', ...AT },
        { type: 'RescheduleTask', ...seen, dueAt: 5, priority: null, toQueue: null },
      ]
      for (const command of commands) {
        const { verdict } = await send(command)
        const isSame = end === 'FAILED' && ['CancelJob', 'StopTask'].includes(command.type)
        if (!isSame) expect([command.type, verdict]).not.toEqual([command.type, 'committed'])
      }
      expect(await store.claim(claim({ request: 2 }))).toEqual([])
      const { state, executions, job } = await look(bench)
      expect([state, executions]).toEqual([before.state, before.executions])
      const { output, attempt, retries } = before.job.task ?? {}
      expect(job.task).toMatchObject({ state: before.job.task?.state, output, attempt, retries })
      expect([...new Set((await typesOf(bench)).slice(3))]).toEqual(['ReportRefused'])
    }
  })

  it('that the table of states does not allow is refused with from, to and what is allowed', async () => {
    const bench = await setUp(kind)
    const { store, send } = bench
    const { policy } = plain({}, MORTAL)
    const only = stage('one', { tolerate: 1, policy: policy as NonNullable<typeof policy> })
    await submit(bench, pipeline([only]))
    await upkeep(bench)
    const channels = [{ ...CHANNEL, stage: 'one' }]
    const [leased] = (await store.claim(claim({ channels }))) as [Claimed]
    await send({ type: 'FailTask', ...reportOf(leased), error: failure() })
    expect((await look(bench)).state).toBe('SUCCEEDED')
    const before = await entriesOf(bench)
    expect((await send({ type: 'CancelJob', job: 'a', ...onRecord })).rejection).toMatchObject({
      code: 'InvalidTransition',
      details: { from: 'SUCCEEDED', to: 'FAILED', allowed: [] },
    })
    expect(await entriesOf(bench)).toEqual(before)
  })

  it('that submits a job may say by whom and note more, and both are kept as they were given', async () => {
    const bench = await setUp(kind)
    const noted = { submittedBy: 'ann', metadata: '{"ticket":7}' }
    await submit(bench, plain(noted))
    expect((await look(bench)).job.spec).toMatchObject(noted)
    const [submitted] = await entriesOf(bench)
    expect(submitted).toMatchObject({ type: 'JobSubmitted', spec: noted })
  })

  it('about a job that there is not is refused', async () => {
    const bench = await setUp(kind)
    const code = async (command: Command): Promise<string | undefined> =>
      (await bench.send(command)).rejection?.code
    expect(await code({ type: 'CancelJob', job: 'a', ...onRecord })).toBe('UnknownJob')
    expect(await code({ type: 'ExpireLease', ...AT, lease: 1 })).toBe('UnknownTask')
  })
})

describe.each(Object.keys(STORES))('a stage on the %s store', (kind) => {
  it('goes from NEW over READY and RUNNING to DONE, and only upkeep opens the next', async () => {
    const bench = await setUp(kind)
    const { store, send } = bench
    await submit(bench, pipeline([stage('one'), stage('two', { after: ['one'] })]))
    const channels = [
      { ...CHANNEL, stage: 'one' },
      { ...CHANNEL, stage: 'two' },
    ]
    const seen = async (): Promise<string[]> =>
      (await store.query({ kind: 'job', job: 'a' }))?.stages.map(({ state }) => state) ?? []
    expect(await seen()).toEqual(['NEW', 'NEW'])
    const tooEarly = { type: 'OpenStage', job: 'a', stage: 1 } as const
    expect((await send(tooEarly)).rejection?.code).toBe('PrerequisitesNotDone')
    expect(await upkeep(bench)).toEqual([{ type: 'OpenStage', job: 'a', stage: 0 }])
    expect(await seen()).toEqual(['READY', 'NEW'])
    const [leased] = (await store.claim(claim({ channels }))) as [Claimed]
    expect(await seen()).toEqual(['RUNNING', 'NEW'])
    await send(commit(leased))
    // The commit of a worker opens nothing, and what is not open is not granted.
    expect(await seen()).toEqual(['DONE', 'NEW'])
    expect(await store.claim(claim({ request: 2, channels }))).toEqual([])
    expect(await upkeep(bench)).toEqual([tooEarly])
    expect(await seen()).toEqual(['DONE', 'READY'])
    const [second] = (await store.claim(claim({ request: 3, channels }))) as [Claimed]
    const error = failure({ type: 'TERMINAL' })
    await send({ type: 'FailTask', ...reportOf(second), error })
    expect(await seen()).toEqual(['DONE', 'ERROR'])
    expect((await look(bench)).state).toBe('FAILED')
  })

  it('gets back just the segment whose lease ran out', async () => {
    const bench = await setUp(kind)
    const { store, send, clock } = bench
    const { policy } = plain({}, { leaseMs: 50 })
    const many = stage('many', { each: 'input', policy: policy as NonNullable<typeof policy> })
    await submit(bench, pipeline([many], { input: '[1,2,3]' }))
    await upkeep(bench)
    const channels = [{ ...CHANNEL, stage: 'many' }]
    const leased = await store.claim(claim({ channels, max: 9 }))
    await send(commit(leased[0] as Claimed))
    await send({ type: 'ExtendLease', ...reportOf(leased[2] as Claimed), extension: 1 })
    clock.time += 49
    await send({ type: 'ExtendLease', ...reportOf(leased[2] as Claimed), extension: 2 })
    clock.time += 1
    expect(await upkeep(bench)).toEqual([{ type: 'ExpireLease', ...AT, segment: 1, lease: 1 }])
    const again = await store.claim(claim({ request: 2, channels, max: 9 }))
    expect(again.map(({ segment, attempt }) => [segment, attempt])).toEqual([[1, 2]])
    for (const one of [leased[2], ...again]) {
      expect((await send(commit(one as Claimed))).verdict).toBe('committed')
    }
    expect((await look(bench)).state).toBe('SUCCEEDED')
  })
})

/** Each gives a way to open the same store again. */
const DURABLE: Readonly<Record<string, () => Promise<(clock: Clock) => Promise<Store>>>> = {
  directory: async () => {
    const { disk } = simulated(new TestClock())
    return (clock) => openDirectory('/store', { ...simulated(clock), disk: disk as never })
  },
  sqlite: async () => {
    const path = await freshFile()
    return (clock) => openSqliteStore({ path, clock })
  },
  postgres: async () => {
    const place = await freshSchema()
    return (clock) => openPostgres({ ...place, clock })
  },
}

describe.each(Object.keys(DURABLE))('a %s store that is opened again', (kind) => {
  it('has what it had: a lease that runs on is kept, and one that ran out meanwhile is over', async () => {
    const open = await (DURABLE[kind] as (typeof DURABLE)[string])()
    const clock = new TestClock()
    const benchOf = (store: Store): Bench => ({
      clock,
      store,
      send: async (command) => (await store.execute([command]))[0] as never,
    })
    const first = benchOf(await open(clock))
    await submit(first, plain({}, { leaseMs: 50 }), 'short')
    await submit(first, plain({}, { leaseMs: 5_000 }), 'long')
    await submit(first, plain(), 'waits')
    const [short, long] = (await first.store.claim(claim({ max: 2 }))) as [Claimed, Claimed]
    const before = await Promise.all(['short', 'long', 'waits'].map((id) => look(first, id)))
    await first.store.close()
    clock.time += 60
    const second = benchOf(await open(clock))
    const after = await Promise.all(['short', 'long', 'waits'].map((id) => look(second, id)))
    expect(after).toEqual(before)
    // What ran out is over before anything says so.
    expect((await second.send(commit(short))).verdict).toBe('cancelled')
    expect(await upkeep(second)).toMatchObject([{ type: 'ExpireLease', job: 'short', lease: 1 }])
    expect((await second.send(commit(long))).verdict).toBe('committed')
    const next = await second.store.claim(claim({ request: 2, worker: 'v', max: 9 }))
    expect(next.map(({ job, attempt }) => [job, attempt])).toEqual([
      ['short', 2],
      ['waits', 1],
    ])
    await second.store.close()
  })
})
