/**
 * PostgreSQL: workers that are granted jobs with their submit.
 */
import { setTimeout as delay, setImmediate as turn } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { recorded } from '../../support/history.ts'
import { effect, job, typed } from '../../../src/index.ts'
import { freshSchema } from '../../support/postgres.ts'
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
  const history = recorded(await pawl.history(second.id))
  pawl.work([echo], { poll: '1h' })
  expect(await second.result()).toBe(2)
  const types = history.map(({ entry }) => entry.type)
  expect(types).toEqual(['JobSubmitted', 'LeaseGranted', 'LeaseReleased'])
  expect(pawl.errors).toEqual([])
})

it('a job that is submitted several times at once runs once, and so do its effects', async () => {
  const pawl = await engineAt(await place())
  let runs = 0
  let mails = 0
  const mail = effect('mail', {
    run: () => {
      mails += 1
    },
  })
  const once = job('once', {
    input: typed<number>(),
    effects: [mail],
    run: async ({ input, commit }) => {
      runs += 1
      await delay(5)
      return commit(input, [mail()])
    },
  })
  const worker = pawl.work([once], { concurrency: 4, poll: '1h' })
  await (await pawl.submit(once, 0)).result()
  const handles = await Promise.all([1, 2, 3].map(() => pawl.submit(once, 7, { id: 'x' })))
  for (const handle of handles) expect(await handle.result()).toBe(7)
  await worker.stop()
  expect({ runs, mails }).toEqual({ runs: 2, mails: 2 })
})

it('what stands in line is taken while others are submitted without end', async () => {
  const shared = await place()
  const pawl = await engineAt(shared)
  const other = await engineAt(shared)
  const echo = job('echo', { input: typed<number>(), run: ({ input }) => input })
  const waiting = await other.submitMany(
    echo,
    Array.from({ length: 100 }, (_, input) => ({ input })),
  )
  pawl.work([echo], { concurrency: 1, poll: '1h' })
  const submitting = { isOver: false }
  const loop = (async () => {
    for (let i = 0; i < 5_000 && !submitting.isOver; i++) await pawl.submit(echo, i)
  })()
  await Promise.all(waiting.map((handle) => handle.result()))
  submitting.isOver = true
  await loop
  const submitted = await pawl.list({ type: 'echo', limit: 1_000 })
  // It did not wait for all of them.
  expect(submitted.jobs.length).toBeLessThan(1_000)
})
