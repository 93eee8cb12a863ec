/**
 * Jobs that become due between two checks: the transaction that submits them is still under way, or
 * another process gave them their turns. Listeners are told of them all the same.
 */
import { expect, it } from 'vitest'
import type { Command } from '../../../src/kernel/index.ts'
import type { Statement } from '../../../src/store/sql/connection.ts'
import { plain } from '../../support/specs.ts'
import type { Wrap } from './addresses.ts'
import { dialectOf, openAt } from './addresses.ts'
import { DATABASE_NAMES, freshAddress } from './stores.ts'

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

function submit(job: string, delayMs: number): Command {
  return { type: 'SubmitJob', job, spec: plain({ delayMs }) }
}

it('is news when it is durable, although a check before it has passed its time', async () => {
  const address = await freshAddress('PostgreSQL')
  const { insertEvents } = dialectOf(address).statements
  let isSlow = false
  let savedAt = Infinity
  const slowly: Wrap = (connection) => ({
    run: async (asks: readonly Statement[]) => {
      if (isSlow && asks.some(({ sql }) => sql === insertEvents)) {
        isSlow = false
        await pause(200)
        const answers = await connection.run(asks)
        savedAt = performance.now()
        return answers
      }
      return connection.run(asks)
    },
    close: () => connection.close(),
  })
  const store = await openAt(address, {}, slowly)
  let toldAt = 0
  store.onNews((news) => {
    if (news.has('work')) toldAt = performance.now()
  })
  await pause(700)
  // For its sake it is looked after 60 ms.
  await store.execute([submit('a', 60)])
  isSlow = true
  const submitting = store.execute([submit('b', 10)])
  await pause(100)
  // From here on it is known that nothing stops the queue.
  const channels = [{ queue: 'default', type: 'test', stage: null }]
  await store.claim({ worker: 'w', request: 1, channels, max: 1, started: true })
  await submitting
  await expect.poll(() => toldAt, { interval: 5, timeout: 5_000 }).toBeGreaterThanOrEqual(savedAt)
  expect(toldAt - savedAt).toBeLessThan(200)
  await store.close()
})

it.each(DATABASE_NAMES)(
  'is told when a claim of other jobs put it in line, on %s',
  async (name) => {
    let now = 1_000_000
    const store = await openAt(await freshAddress(name), { clock: { now: () => now } })
    let told = 0
    store.onNews((news) => {
      if (news.has('work')) told += 1
    })
    await store.execute([submit('a', 10_000)])
    await pause(100)
    told = 0
    now += 10_000
    const channels = [{ queue: 'default', type: 'another', stage: null }]
    const claimed = store.claim({ worker: 'w', request: 1, channels, max: 1, started: true })
    expect(await claimed).toEqual([])
    // It is in line by now, and no look at what becomes due finds it any more.
    await expect.poll(() => told).toBeGreaterThan(0)
    await store.close()
  },
)

it.each(DATABASE_NAMES)('is news on time right behind another one, on %s', async (name) => {
  const store = await openAt(await freshAddress(name))
  let toldAt = 0
  store.onNews((news) => {
    if (news.has('work')) toldAt = store.now()
  })
  const late: number[] = []
  for (let i = 0; i < 5; i++) {
    await pause(120)
    const submittedAt = store.now()
    await store.execute([submit(`a${i}`, 150), submit(`b${i}`, 153), submit(`c${i}`, 180)])
    await expect.poll(() => toldAt - submittedAt, { interval: 5 }).toBeGreaterThanOrEqual(180)
    late.push(toldAt - submittedAt - 180)
  }
  expect(late.toSorted((a, b) => a - b)[2]).toBeLessThan(100)
  await store.close()
})
