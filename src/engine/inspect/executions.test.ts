/** More attempts than a record remembers, and a history that is no longer whole. */
import { expect, it, onTestFinished } from 'vitest'
import { deferred } from '../../../test/support/engines.ts'
import type { HistoryItem } from '../../index.ts'
import { job, open, pipeline, typed } from '../../index.ts'
import { LIMITS } from '../../kernel/index.ts'
import { realTiming } from '../../store/clock.ts'
import type { Store } from '../../store/index.ts'
import { MemoryStore } from '../../store/index.ts'
import { accessTo } from '../engine-access.ts'
import { Pawl } from '../pawl.ts'

const echo = job('echo', { run: () => undefined })
const CHANNELS = [{ queue: 'default', type: 'echo', stage: null }]

/** A job that was leased and given back so often, a second apart, from the time 1,000 on. */
async function givenBack(times: number): Promise<{ pawl: Pawl; store: Store }> {
  let now = 1_000
  const store = new MemoryStore({ now: () => now })
  const timing = realTiming(() => now)
  const parts = { store, timing, onError: () => undefined, backup: null, onClose: () => undefined }
  const pawl = new Pawl(parts)
  onTestFinished(() => pawl.close())
  await pawl.submit(echo, undefined, { id: 'a' })
  for (let lease = 1; lease <= times; lease++) {
    now += 1_000
    const claim = { worker: 'w', request: lease, channels: CHANNELS, max: 1, started: true }
    expect(await store.claim(claim)).toHaveLength(1)
    const report = { job: 'a', stage: 0, segment: 0, lease, worker: 'w' }
    await store.execute([{ type: 'ReleaseLease', ...report }])
  }
  return { pawl, store }
}

it('all attempts come from the history, also those that the record has forgotten', async () => {
  const most = LIMITS.leasesRemembered
  const { pawl } = await givenBack(most + 2)
  const info = await pawl.get('a')
  expect(info?.executions.map(({ attempt }) => attempt)).toEqual(
    Array.from({ length: 20 }, (_, i) => most - 17 + i),
  )
  // The first lease is no longer in the record.
  expect(info?.startedAt).toEqual(new Date(2_000))
  const { executions, next } = await pawl.executions('a', { limit: 2 })
  expect(executions.map(({ attempt, leasedAt }) => [attempt, leasedAt])).toEqual([
    [1, new Date(2_000)],
    [2, new Date(3_000)],
  ])
  expect(next).toBe(2)
})

it('a history with a gap says nothing of states behind it', async () => {
  const { pawl, store } = await givenBack(3)
  const query = store.query.bind(store)
  store.query = async (asked): Promise<never> => {
    const answer = await query(asked)
    return (asked.kind === 'history' ? (answer as unknown[]).toSpliced(1, 2) : answer) as never
  }
  const states = (await pawl.history('a')).map(({ from, to }) => [from, to])
  expect(states.slice(0, 2)).toEqual([
    [null, 'QUEUED'],
    [null, null],
  ])
  expect((await pawl.executions('a')).executions).toHaveLength(3)
})

it('a history that is no longer whole says nothing of states, and the records have the attempts', async () => {
  const { pawl, store } = await givenBack(3)
  const query = store.query.bind(store)
  store.query = async (asked): Promise<never> => {
    const answer = await query(asked)
    return (asked.kind === 'history' ? (answer as unknown[]).slice(1) : answer) as never
  }
  const [first]: readonly (HistoryItem | undefined)[] = await pawl.history('a')
  expect(first).toMatchObject({ type: 'LeaseGranted', from: null, to: null, by: 'w' })
  const { executions } = await pawl.executions('a')
  expect(executions.map(({ attempt, status }) => [attempt, status])).toEqual([
    [1, 'ABORTED'],
    [2, 'ABORTED'],
    [3, 'ABORTED'],
  ])
})

it('of a task whose history is no longer whole, the newest attempts are found by their numbers', async () => {
  const most = LIMITS.leasesRemembered
  const { pawl, store } = await givenBack(most + 2)
  const query = store.query.bind(store)
  store.query = async (asked): Promise<never> => {
    const answer = await query(asked)
    return (asked.kind === 'history' ? (answer as unknown[]).slice(1) : answer) as never
  }
  const numbers = async (page: { after?: number; limit: number }) => {
    const { executions, next } = await pawl.executions('a', page)
    return [executions.map(({ attempt }) => attempt), next]
  }
  expect(await numbers({ after: most - 1, limit: 50 })).toEqual([[most, most + 1, most + 2], null])
  // The first two are forgotten.
  expect(await numbers({ limit: 2 })).toEqual([[3, 4], 4])
  expect(await numbers({ after: 4, limit: 2 })).toEqual([[5, 6], 6])
})

it('attempts at one segment come from its record, if that has all of them: the history of the others is not read', async () => {
  const pawl = await open('memory:')
  onTestFinished(() => pawl.close())
  const parts = pipeline('parts', { input: typed<number[]>() }).stage('each', {
    each: 'input',
    retry: { max: 0 },
    run: ({ index }) => {
      if (index === 1) throw new Error('odd')
    },
  })
  const { id } = await pawl.submit(parts, [0, 1, 2])
  pawl.work([parts])
  await expect.poll(async () => (await pawl.get(id))?.state).toBe('QUARANTINED')
  const { store } = accessTo(pawl) ?? {}
  const query = store?.query.bind(store) as Store['query']
  let histories = 0
  ;(store as Store).query = async (asked): Promise<never> => {
    if (asked.kind === 'history') histories += 1
    return (await query(asked)) as never
  }
  const one = await pawl.executions(id, { stage: 'each', segment: 1 })
  expect(one).toMatchObject({ executions: [{ attempt: 1, error: { message: 'odd' } }], next: null })
  expect(await pawl.executions(id, { stage: 'each', segment: 1, after: 1 })).toEqual({
    executions: [],
    next: null,
  })
  expect(histories).toBe(0)
  await pawl.force(id, { stage: 'each', segment: 1, to: 'QUEUED' })
  // Of the earlier error the record says nothing any more.
  const errors = async () => {
    const { executions } = await pawl.executions(id, { stage: 'each', segment: 1 })
    return executions.map(({ error }) => error?.message)
  }
  await expect.poll(errors).toEqual(['odd', 'odd'])
  expect(histories).toBeGreaterThan(0)
})

it('of many segments, those that run are shown before those that ended after they began', async () => {
  const gate = deferred()
  const film = pipeline('film', { input: typed<number[]>() }).stage('part', {
    each: 'input',
    run: async ({ index }) => {
      if (index < 3) await gate.promise
      return index
    },
  })
  const pawl = await open('memory:')
  pawl.work([film], { concurrency: 5 })
  const { id } = await pawl.submit(
    film,
    Array.from({ length: 60 }, (_, i) => i),
  )
  await expect.poll(async () => (await pawl.get(id))?.stages[0]?.completed).toBe(57)
  const info = await pawl.get(id)
  expect(info?.executionCount).toBe(60)
  expect(info?.executions).toHaveLength(20)
  const running = info?.executions.filter(({ finishedAt }) => finishedAt === null)
  expect(running?.map(({ segment }) => segment)).toEqual([0, 1, 2])
  const leased = info?.executions.map(({ leasedAt }) => leasedAt.getTime()) ?? []
  expect(leased).toEqual(leased.toSorted((a, b) => a - b))
  gate.resolve()
  await pawl.close()
})

it('the newest page of a history is the end of the whole, with the states that it has there', async () => {
  const { pawl } = await givenBack(10)
  const all = await pawl.history('a')
  const newest = await pawl.history('a', { newest: true, limit: 3 })
  expect(newest).toEqual(all.slice(-newest.length))
  expect(newest.filter(({ entry }) => entry !== null)).toHaveLength(3)
  expect(await pawl.history('a', { newest: true })).toEqual(all)
  await expect(pawl.history('no such', { newest: true })).rejects.toThrow('no such')
})
