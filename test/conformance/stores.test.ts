import { describe, expect, it } from 'vitest'
import { Dice } from '../model/properties/dice.ts'
import { failure, onRecord, pipeline, plain, promise, retry, stage } from '../support/specs.ts'
import type { Command, JobSpec, JobState } from '../../src/kernel/index.ts'
import { replay } from '../../src/kernel/index.ts'
import type { Claimed, ClaimRequest, PositionedEntry } from '../../src/store/index.ts'
import { BadRequest, StoreClosed, systemClock } from '../../src/store/index.ts'
import { STORES, setUp, claim, reportOf, isAscending, commit } from './bench.ts'

describe.each(Object.keys(STORES))('the %s store', (kind) => {
  describe('execute', () => {
    it('answers each command in order and never throws for a bad one', async () => {
      const { store } = await setUp(kind)
      const submit = { type: 'SubmitJob', job: 'a', spec: plain() } as const
      const bad = [
        null,
        7,
        {},
        { type: 'Nonsense' },
        { ...submit, run: () => 1 },
      ] as unknown as Command[]
      const answers = await store.execute([
        submit,
        ...bad,
        submit,
        { ...submit, spec: plain({ priority: 1 }) },
      ])
      expect(answers.map((answer) => answer.verdict)).toEqual([
        'committed',
        ...bad.map(() => 'rejected'),
        'committed',
        'rejected',
      ])
      expect(answers[0]?.value).toBe('a')
      expect(answers.at(-1)?.rejection?.code).toBe('IdReused')
    })

    it('keeps what it was given, whatever the caller does to it later', async () => {
      const { store, send } = await setUp(kind)
      const spec = plain({ tags: ['one'] })
      await send({ type: 'SubmitJob', job: 'a', spec })
      ;(spec.tags as string[]).push('two')
      const view = await store.query({ kind: 'job', job: 'a' })
      expect(view?.job.spec.tags).toEqual(['one'])
    })
  })

  describe('claim', () => {
    it('hands over what the worker needs, with the time left as a duration', async () => {
      const { clock, store, send } = await setUp(kind)
      await send({
        type: 'SubmitJob',
        job: 'a',
        spec: plain({ input: '{"n":1}', version: 7 }, { leaseMs: 500 }),
      })
      const [leased] = await store.claim(claim())
      expect(leased).toMatchObject({
        job: 'a',
        stage: 0,
        segment: 0,
        type: 'test',
        version: 7,
        stageName: null,
        lease: 1,
        attempt: 1,
        leaseMs: 500,
        input: '{"n":1}',
        each: null,
        steps: [],
        commit: null,
      })
      clock.time += 100
      const [again] = await store.claim(claim())
      expect(again).toEqual({ ...leased, leaseMs: 400 })
    })

    it('that is repeated gets the same leases, those that are still held, and no others', async () => {
      const { store, send } = await setUp(kind)
      for (const job of ['a', 'b', 'c', 'd']) await send({ type: 'SubmitJob', job, spec: plain() })
      const first = await store.claim(claim({ max: 3 }))
      expect(first.map(({ job }) => job)).toEqual(['a', 'b', 'c'])
      await send(commit(first[1] as Claimed))
      const again = await store.claim(claim({ max: 3 }))
      expect(again.map(({ job }) => job)).toEqual(['a', 'c'])
      const next = await store.claim(claim({ max: 3, request: 2 }))
      expect(next.map(({ job }) => job)).toEqual(['d'])
      const before = await store.claim(claim({ max: 3 }))
      expect(before.map(({ job }) => job)).toEqual(['a', 'c'])
      await send(commit(before[0] as Claimed))
      await send(commit(before[1] as Claimed))
      await send({ type: 'SubmitJob', job: 'e', spec: plain() })
      expect(await store.claim(claim({ max: 3 }))).toEqual([])
      await send(commit((await store.claim(claim({ request: 3 })))[0] as Claimed))
      const other = await store.claim(claim({ max: 3, worker: 'other' }))
      expect(other).toEqual([])
    })

    it('that got nothing may get something when it is repeated', async () => {
      const { store, send } = await setUp(kind)
      expect(await store.claim(claim())).toEqual([])
      await send({ type: 'SubmitJob', job: 'a', spec: plain() })
      expect(await store.claim(claim())).toHaveLength(1)
    })

    it("gives the next attempt the recorded steps and the operator's input", async () => {
      const { store, send } = await setUp(kind)
      await send({ type: 'SubmitJob', job: 'a', spec: plain({}, { retry: retry({ max: 0 }) }) })
      const [first] = (await store.claim(claim())) as [Claimed]
      const step = { name: 'render', value: '1' }
      await send({ type: 'RecordStep', ...reportOf(first), ...step, definitionVersion: 1 })
      await send({ type: 'ReleaseLease', ...reportOf(first) })
      const [second] = (await store.claim(claim({ request: 2 }))) as [Claimed]
      expect(second.steps).toEqual([{ ...step, lease: 1 }])
      await send({ type: 'FailTask', ...reportOf(second), error: failure() })
      const at = { job: 'a', stage: 0, segment: 0, attempt: 2 }
      await send({ type: 'RetryTask', ...at, input: '{"new":1}', ...onRecord })
      const [third] = (await store.claim(claim({ request: 3 }))) as [Claimed]
      expect(third).toMatchObject({ attempt: 3, input: '{"new":1}', steps: [] })
    })

    it('that resumes a commit names its unfinished effects', async () => {
      const { store, send } = await setUp(kind)
      await send({ type: 'SubmitJob', job: 'a', spec: plain() })
      const [first] = (await store.claim(claim())) as [Claimed]
      const effects = [promise({ name: 'mail' }), promise({ name: 'bill' })]
      await send({ type: 'CommitExecution', ...reportOf(first), output: '5', effects })
      await send({ type: 'StartEffect', ...reportOf(first), effect: 0 })
      await send({ type: 'FinishEffect', ...reportOf(first), effect: 0 })
      await send({ type: 'ReleaseLease', ...reportOf(first) })
      const [second] = (await store.claim(claim({ request: 2 }))) as [Claimed]
      expect(second.commit).toEqual({
        lease: 1,
        output: '5',
        unfinished: [
          {
            effect: 1,
            key: 'a/0/0/1',
            promise: effects[1],
            state: 'PROMISED',
            starts: [],
            retries: 0,
          },
        ],
      })
    })

    it('of the wrong form is refused', async () => {
      const { store } = await setUp(kind)
      await expect(store.claim(claim({ worker: '' }))).rejects.toThrow(BadRequest)
      await expect(store.claim(claim({ max: -1 }))).rejects.toThrow(BadRequest)
      const channels = 'all' as unknown as ClaimRequest['channels']
      await expect(store.claim(claim({ channels }))).rejects.toThrow(BadRequest)
    })
  })

  describe('upkeep drives a pipeline to its end with nothing but the store', () => {
    const part = { policy: plain({}, { retry: retry({ max: 0 }), quarantine: 'never' }).policy }
    const stages = (tolerate: number): JobSpec =>
      pipeline([
        stage('split', part as object),
        stage('work', { ...(part as object), after: ['split'], each: 'split', tolerate }),
        stage('join', { ...(part as object), after: ['work'] }),
        stage('clean', { ...(part as object), onFailure: true }),
      ])
    const channels = ['split', 'work', 'join', 'clean'].map((name) => ({
      queue: 'default',
      type: 'test',
      stage: name,
    }))

    /** The stages in the order in which their tasks ran. `bad`: segments of `work` that fail. */
    async function run(
      spec: JobSpec,
      bad: readonly number[],
    ): Promise<[string[], JobState | undefined]> {
      const { clock, store, send } = await setUp(kind)
      await send({ type: 'SubmitJob', job: 'a', spec })
      const ran: string[] = []
      for (let request = 1; ; request++) {
        const due = await store.query({ kind: 'upkeep', limit: 10 })
        for (const answer of await store.execute(due)) expect(answer.verdict).toBe('committed')
        const [leased] = await store.claim(claim({ request, channels }))
        if (leased === undefined && due.length === 0) break
        if (leased === undefined) continue
        ran.push(
          leased.each === null ? `${leased.stageName}` : `${leased.stageName} ${leased.segment}`,
        )
        const fails = leased.stageName === 'work' && bad.includes(leased.segment)
        const error = failure()
        await send(
          fails ? { type: 'FailTask', ...reportOf(leased), error } : commit(leased, '[1,2,3]'),
        )
        clock.time += 1
      }
      return [ran, (await store.query({ kind: 'job', job: 'a' }))?.state]
    }

    it('each: one task per element', async () => {
      const order = ['split', 'work 0', 'work 1', 'work 2', 'join']
      expect(await run(stages(0), [])).toEqual([order, 'SUCCEEDED'])
    })

    it('tolerate: a failure that is tolerated does not matter', async () => {
      const order = ['split', 'work 0', 'work 1', 'work 2', 'join']
      expect(await run(stages(1), [1])).toEqual([order, 'SUCCEEDED'])
    })

    it('on-failure: what is left is stopped, then the on-failure stage runs', async () => {
      expect(await run(stages(0), [0])).toEqual([['split', 'work 0', 'clean'], 'FAILED'])
    })

    it('names leases that ran out and tasks that were not taken in time', async () => {
      const { clock, store, send } = await setUp(kind)
      await send({ type: 'SubmitJob', job: 'a', spec: plain({}, { leaseMs: 50 }) })
      await send({ type: 'SubmitJob', job: 'b', spec: plain({ priority: -1, startWithinMs: 80 }) })
      await store.claim(claim())
      clock.time += 40
      await send({
        type: 'ExtendLease',
        job: 'a',
        stage: 0,
        segment: 0,
        lease: 1,
        worker: 'w',
        extension: 1,
      })
      clock.time += 49
      expect(await store.query({ kind: 'upkeep', limit: 10 })).toEqual([
        { type: 'StopTask', job: 'b', stage: 0, segment: 0 },
      ])
      clock.time += 1
      const due = await store.query({ kind: 'upkeep', limit: 10 })
      expect(due).toEqual([
        { type: 'ExpireLease', job: 'a', stage: 0, segment: 0, lease: 1 },
        { type: 'StopTask', job: 'b', stage: 0, segment: 0 },
      ])
      expect(await store.query({ kind: 'upkeep', limit: 1 })).toHaveLength(1)
      await store.execute(due)
      expect(await store.query({ kind: 'upkeep', limit: 10 })).toEqual([])
    })
  })

  describe('query', () => {
    it('job: a snapshot with derived state, stages and tasks; null if there is none', async () => {
      const { store, send } = await setUp(kind)
      await send({ type: 'SubmitJob', job: 'a', spec: plain() })
      await send({ type: 'SubmitJob', job: 'p', spec: pipeline([stage('one')]) })
      const before = await store.query({ kind: 'job', job: 'a' })
      await store.claim(claim())
      expect(before?.state).toBe('QUEUED')
      expect(before?.stages[0]?.tasks[0]?.state).toBe('WAITING')
      const after = await store.query({ kind: 'job', job: 'a' })
      expect(after?.state).toBe('RUNNING')
      expect(after?.stages).toMatchObject([
        { name: null, state: 'RUNNING', tasks: [{ attempt: 1 }] },
      ])
      const piped = await store.query({ kind: 'job', job: 'p' })
      expect(piped?.stages).toEqual([{ name: 'one', state: 'NEW', tasks: [] }])
      expect(await store.query({ kind: 'job', job: 'none' })).toBeNull()
    })

    it('jobs: page by page in order of submission, filtered', async () => {
      const { clock, store, send } = await setUp(kind)
      for (let i = 0; i < 10; i++) {
        const spec = plain(
          { type: i % 2 === 0 ? 'even' : 'odd' },
          { queue: i < 5 ? 'low' : 'high' },
        )
        await send({ type: 'SubmitJob', job: `job ${i}`, spec })
      }
      await send({ type: 'CancelJob', job: 'job 3', ...onRecord })
      clock.time += 5
      await send({ type: 'ForgetJob', job: 'job 3', endedBefore: clock.time })
      await send({ type: 'SubmitJob', job: 'job 3', spec: plain({ held: true }) })
      const seen: string[] = []
      let after: number | null = 0
      while (after !== null) {
        const page: { jobs: readonly { id: string }[]; next: number | null } = await store.query({
          kind: 'jobs',
          limit: 3,
          after,
        })
        expect(page.jobs.length).toBeLessThanOrEqual(3)
        seen.push(...page.jobs.map(({ id }) => id))
        after = page.next
      }
      expect(seen).toEqual([0, 1, 2, 4, 5, 6, 7, 8, 9, 3].map((i) => `job ${i}`))
      const idsOf = async (filter: object): Promise<string[]> =>
        (await store.query({ kind: 'jobs', limit: 99, ...filter })).jobs.map(({ id }) => id)
      expect(await idsOf({ type: 'odd' })).toEqual(['job 1', 'job 5', 'job 7', 'job 9'])
      expect(await idsOf({ type: 'even', queue: 'high' })).toEqual(['job 6', 'job 8'])
      expect(await idsOf({ state: 'CREATED' })).toEqual(['job 3'])
    })

    it('history: the entries of one job, from a position on', async () => {
      const { store, send } = await setUp(kind)
      await send({ type: 'SubmitJob', job: 'a', spec: plain() })
      await send({ type: 'SubmitJob', job: 'b', spec: plain() })
      const [leased] = (await store.claim(claim())) as [Claimed]
      await send(commit(leased))
      const all = await store.query({ kind: 'history', job: 'a', limit: 10 })
      expect(all.map(({ entry }) => entry.type)).toEqual([
        'JobSubmitted',
        'LeaseGranted',
        'ExecutionCommitted',
      ])
      expect(isAscending(all)).toBe(true)
      const after = all[0]?.position as number
      expect(await store.query({ kind: 'history', job: 'a', after, limit: 1 })).toEqual([all[1]])
      const newest = { kind: 'history', job: 'a', newest: true } as const
      expect(await store.query({ ...newest, limit: 2 })).toEqual(all.slice(1))
      expect(await store.query({ ...newest, limit: 9 })).toEqual(all)
      expect(await store.query({ ...newest, after: all[1]?.position ?? 0, limit: 9 })).toEqual(
        all.slice(2),
      )
    })

    it('queue and schedule: what is set, or the defaults', async () => {
      const { store, send } = await setUp(kind)
      await send({ type: 'SubmitJob', job: 'a', spec: plain() })
      await store.claim(claim())
      const usual = await store.query({ kind: 'queue', queue: 'default' })
      expect(usual).toMatchObject({ queue: { name: 'default', paused: false }, held: 1 })
      await send({ type: 'PauseQueue', queue: 'default', ...onRecord })
      expect((await store.query({ kind: 'queue', queue: 'default' })).queue.paused).toBe(true)
      expect(await store.query({ kind: 'schedule', schedule: 's' })).toBeNull()
      await send({
        type: 'SetSchedule',
        schedule: 's',
        definition: 'hourly',
        seen: null,
        ...onRecord,
      })
      expect(await store.query({ kind: 'schedule', schedule: 's' })).toMatchObject({
        definition: 'hourly',
      })
    })

    it('schedules: those that are set, in order of their ids, page by page', async () => {
      const { store, send } = await setUp(kind)
      for (const schedule of ['c', 'a', 'gone', 'b']) {
        await send({
          type: 'SetSchedule',
          schedule,
          definition: `of ${schedule}`,
          seen: null,
          ...onRecord,
        })
      }
      await send({ type: 'RemoveSchedule', schedule: 'gone', ...onRecord })
      await send({ type: 'FireSchedule', schedule: 'b', tick: 5, skipped: true })
      const first = await store.query({ kind: 'schedules', limit: 2 })
      expect(first).toMatchObject([
        { id: 'a', definition: 'of a', firedTick: null },
        { id: 'b', definition: 'of b', firedTick: 5 },
      ])
      const rest = await store.query({ kind: 'schedules', after: 'b', limit: 2 })
      expect(rest.map(({ id }) => id)).toEqual(['c'])
      const named = { kind: 'schedules', ids: ['c', 'gone', 'never', 'a', 'b'] } as const
      expect((await store.query({ ...named, limit: 9 })).map(({ id }) => id)).toEqual([
        'a',
        'b',
        'c',
      ])
      const page = await store.query({ ...named, after: 'a', limit: 1 })
      expect(page.map(({ id }) => id)).toEqual(['b'])
    })

    it('of an unknown kind is refused', async () => {
      const { store } = await setUp(kind)
      const nonsense = { kind: 'nonsense' } as unknown as { kind: 'upkeep'; limit: number }
      await expect(store.query(nonsense)).rejects.toThrow(BadRequest)
    })
  })

  describe('watch', () => {
    it('sees every entry once, in order, wherever it is interrupted and resumed', async () => {
      const { clock, store, send } = await setUp(kind)
      const dice = new Dice(7)
      const seen: PositionedEntry[] = []
      const total = 300
      const watching = (async () => {
        while (seen.length < total) {
          let left = 1 + dice.below(20)
          for await (const one of store.watch(seen.at(-1)?.position ?? 0)) {
            seen.push(one)
            left -= 1
            if (left === 0 || seen.length === total) break
          }
        }
      })()
      for (let i = 0; i < total / 3; i++) {
        clock.time += 1
        await send({ type: 'SubmitJob', job: `job ${i}`, spec: plain() })
        const [leased] = (await store.claim(claim({ request: i + 1 }))) as [Claimed]
        await send(commit(leased))
      }
      await watching
      expect(isAscending(seen)).toBe(true)
      const world = replay(seen.map(({ entry }) => entry))
      expect(world.jobs.size).toBe(total / 3)
      const view = await store.query({ kind: 'job', job: 'job 5' })
      expect(world.jobs.get('job 5')).toEqual({ ...view?.job, firstPosition: 0, lastPosition: 0 })
    })

    it('that waits ends when it is left, and when the store is closed', async () => {
      const { store, send } = await setUp(kind)
      const left = store.watch(0)[Symbol.asyncIterator]()
      const waiting = left.next()
      await left.return?.()
      expect(await waiting).toEqual({ done: true, value: undefined })
      const open = store.watch(0)[Symbol.asyncIterator]()
      const [first, second] = [open.next(), open.next()]
      await send({ type: 'SubmitJob', job: 'a', spec: plain() })
      expect((await first).value).toMatchObject({ entry: { type: 'JobSubmitted', job: 'a' } })
      await store.close()
      expect((await second).done).toBe(true)
      expect((await open.next()).done).toBe(true)
    })
  })

  describe('close', () => {
    it('ends the store: everything else is refused, and closing again is fine', async () => {
      const { store } = await setUp(kind)
      await store.close()
      await store.close()
      await expect(store.execute([])).rejects.toThrow(StoreClosed)
      await expect(store.claim(claim())).rejects.toThrow(StoreClosed)
      await expect(store.query({ kind: 'upkeep', limit: 1 })).rejects.toThrow(StoreClosed)
      expect(() => store.watch(0)).toThrow(StoreClosed)
    })
  })
})

describe('the real clock', () => {
  it('gives whole milliseconds since 1970', () => {
    const now = systemClock.now()
    expect(Number.isInteger(now)).toBe(true)
    expect(now).toBeGreaterThan(Date.UTC(2024, 0, 1))
  })
})
