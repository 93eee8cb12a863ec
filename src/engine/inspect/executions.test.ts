/** More attempts than a record remembers, and a history that is no longer whole. */
import { expect, it, onTestFinished } from 'vitest'
import type { HistoryItem } from '../../index.ts'
import { job } from '../../index.ts'
import { LIMITS } from '../../kernel/index.ts'
import { realTiming } from '../../store/clock.ts'
import type { Store } from '../../store/index.ts'
import { MemoryStore } from '../../store/index.ts'
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
