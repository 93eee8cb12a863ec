/**
 * Jobs that become due while the transaction that they came with is still under way: whoever waits
 * for work hears of them when it is over.
 */
import { expect, it } from 'vitest'
import type { Command } from '../../src/kernel/index.ts'
import type { Ask } from '../../src/store/sql/connection.ts'
import { plain } from '../support/specs.ts'
import type { Wrap } from './addresses.ts'
import { dialectOf, openAt } from './addresses.ts'
import { freshAddress } from './stores.ts'

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

function submit(job: string, delayMs: number): Command {
  return { type: 'SubmitJob', job, spec: plain({ delayMs }) }
}

it('is told when it is there, although a look before has passed its time', async () => {
  const address = await freshAddress('PostgreSQL')
  const { insertEvents } = dialectOf(address).statements
  let isSlow = false
  const slowly: Wrap = (connection) => ({
    run: async (asks: readonly Ask[]) => {
      if (isSlow && asks.some(({ sql }) => sql === insertEvents)) {
        isSlow = false
        await pause(200)
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
  const answeredAt = performance.now()
  await expect.poll(() => toldAt, { interval: 5, timeout: 5_000 }).toBeGreaterThan(answeredAt - 5)
  expect(toldAt - answeredAt).toBeLessThan(200)
  await store.close()
})
