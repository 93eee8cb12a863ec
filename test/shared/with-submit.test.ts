/**
 * PostgreSQL: workers that are granted jobs with their submit.
 */
import { setTimeout as delay, setImmediate as turn } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { job, typed } from '../../src/index.ts'
import { freshSchema } from '../support/postgres.ts'
import type { SharedPlace } from './places.ts'
import { engineAt } from './places.ts'

async function place(): Promise<SharedPlace> {
  const { url, schema } = await freshSchema()
  return { location: url, options: { schema } }
}

it('a worker never runs more than it has places for, however jobs come to it', async () => {
  const pawl = await engineAt(await place())
  let running = 0
  let most = 0
  const echo = job('echo', {
    input: typed<number>(),
    run: async ({ input }) => {
      running += 1
      most = Math.max(most, running)
      await delay(input % 5)
      running -= 1
      return input
    },
  })
  pawl.work([echo], { concurrency: 3, poll: '1h' })
  const submitted = []
  for (let i = 0; i < 150; i++) {
    submitted.push(pawl.submit(echo, i).then((handle) => handle.result()))
    if (i % 7 === 0) await delay(i % 4)
    else if (i % 3 === 0) await turn()
  }
  expect(await Promise.all(submitted)).toEqual(Array.from({ length: 150 }, (_, i) => i))
  expect(most).toBe(3)
  expect(pawl.errors).toEqual([])
})

it('what is granted to a worker that stops meanwhile is given back at once', async () => {
  const pawl = await engineAt(await place())
  const echo = job('echo', { input: typed<number>(), run: ({ input }) => input })
  const first = pawl.work([echo], { poll: '1h' })
  // It has looked, and found nothing: from here on it is asked for room.
  const handle = await pawl.submit(echo, 1)
  expect(await handle.result()).toBe(1)
  const submitting = pawl.submit(echo, 2)
  await turn()
  const stopping = first.stop()
  const second = await submitting
  await stopping
  const history = await pawl.history(second.id)
  pawl.work([echo], { poll: '1h' })
  expect(await second.result()).toBe(2)
  const types = history.map(({ entry }) => entry.type)
  expect(types).toEqual(['JobSubmitted', 'LeaseGranted', 'LeaseReleased'])
  expect(pawl.errors).toEqual([])
})
