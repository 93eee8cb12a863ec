/** `maxWaiting`: submits of clients are refused while a queue is full. */
import { Client } from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import { engineAt, SHARED } from '../../../test/scenarios/shared/places.ts'
import type { SharedPlace } from '../../../test/scenarios/shared/places.ts'
import { EVERY_ENGINE } from '../../../test/support/engines.ts'
import { freshSchema } from '../../../test/support/postgres.ts'
import { child, fromPg, job, open, pipeline } from '../../index.ts'
import type { Pawl } from '../../index.ts'
import { QueueFull } from '../errors.ts'

const SOON = { timeout: 20_000, interval: 100 }
const idle = job('idle', { run: () => null })

function refusal(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    () => null,
    (error: unknown) => error,
  )
}

async function countOf(pawl: Pawl, type = 'idle'): Promise<number> {
  return (await pawl.list({ type, limit: 1_000 })).jobs.length
}

function items(count: number, queue?: string): { options: { queue?: string } }[] {
  return Array.from({ length: count }, () => ({ options: queue === undefined ? {} : { queue } }))
}

async function* slowly(): AsyncGenerator<{ options: object }> {
  for (let i = 0; i < 20; i++) {
    yield { options: {} }
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

describe.each(EVERY_ENGINE)('with maxWaiting, an engine %s', (_, openEngine) => {
  it('refuses what would wait beyond it, says why, and takes more once there is room', async () => {
    const pawl = await openEngine({ maxWaiting: 3 })
    for (let i = 0; i < 3; i++) await pawl.submit(idle)
    const error = await refusal(pawl.submit(idle))
    expect(error).toBeInstanceOf(QueueFull)
    expect(error).toMatchObject({
      code: 'QueueFull',
      kind: 'retryable',
      details: { queue: 'default', maxWaiting: 3, waiting: 3, jobs: 1 },
      message: expect.stringMatching(
        /'default' has no room for one more job: about 3 wait .* 3\. Nothing was submitted\. Submit again later/,
      ),
    })
    expect(await countOf(pawl)).toBe(3)
    pawl.work([idle])
    await expect.poll(() => refusal(pawl.submit(idle)), SOON).toBeNull()
  })

  it('answers a repeat of an id or a key as the first, however full the queue is', async () => {
    const pawl = await openEngine({ maxWaiting: 3 })
    await pawl.submit(idle, undefined, { id: 'known' })
    const first = await pawl.submit(idle, undefined, { key: 'k' })
    await pawl.submit(idle)
    expect((await pawl.submit(idle, undefined, { id: 'known' })).id).toBe('known')
    expect((await pawl.submit(idle, undefined, { key: 'k' })).id).toBe(first.id)
    const repeats = [{ options: { id: 'known' } }, { options: { key: 'k' } }]
    const handles = await pawl.submitMany(idle, repeats)
    expect(handles.map(({ id }) => id)).toEqual(['known', first.id])
    expect(await pawl.submitMany(idle, repeats.values())).toEqual({ submitted: 2 })
    // Only what is new counts, and for that there is no room.
    const mixed = refusal(pawl.submitMany(idle, [...repeats, { options: { id: 'new' } }]))
    expect(await mixed).toMatchObject({ code: 'QueueFull', details: { waiting: 3, jobs: 1 } })
    for (const options of [{ id: 'unknown' }, { key: 'unknown' }]) {
      expect(await refusal(pawl.submit(idle, undefined, options))).toBeInstanceOf(QueueFull)
    }
    expect(await countOf(pawl)).toBe(3)
  })

  it('a unique key of a job that is over is no repeat', async () => {
    const pawl = await openEngine({ maxWaiting: 1 })
    const unique = { key: 'k', unique: true }
    const one = await pawl.submit(idle, undefined, unique)
    expect((await pawl.submit(idle, undefined, unique)).id).toBe(one.id)
    await one.cancel()
    await expect.poll(() => refusal(pawl.submit(idle)), SOON).toBeNull()
    expect(await refusal(pawl.submit(idle, undefined, unique))).toBeInstanceOf(QueueFull)
  })

  it('counts what it has on its way: of many submits at once, as many are taken as there is room for', async () => {
    const pawl = await openEngine({ maxWaiting: 5 })
    const all = await Promise.all(Array.from({ length: 20 }, () => refusal(pawl.submit(idle))))
    expect(all.filter((error) => error === null)).toHaveLength(5)
    expect(all.filter((error) => error instanceof QueueFull)).toHaveLength(15)
    expect(await countOf(pawl)).toBe(5)
  })

  it('takes a list as a whole or not at all, and of an iterable what there is room for', async () => {
    const pawl = await openEngine({ maxWaiting: 10 })
    const error = await refusal(pawl.submitMany(idle, items(11)))
    expect(error).toMatchObject({ code: 'QueueFull', details: { waiting: 0, jobs: 11 } })
    expect(await countOf(pawl)).toBe(0)
    expect(await pawl.submitMany(idle, items(4))).toHaveLength(4)
    const interrupted = await refusal(pawl.submitMany(idle, slowly()))
    expect(interrupted).toMatchObject({ code: 'SubmitInterrupted', cause: { code: 'QueueFull' } })
    const count = await countOf(pawl)
    expect(count).toBeGreaterThan(4)
    expect(count).toBeLessThanOrEqual(10)
  })

  it('bounds only the queues that are named, and a pipeline by the stages that begin with it', async () => {
    const pawl = await openEngine({ maxWaiting: { mail: 1 } })
    await pawl.submitMany(idle, items(20))
    await pawl.submit(idle, undefined, { queue: 'mail' })
    const film = pipeline('film')
      .stage('split', { run: () => null })
      .stage('send', { after: 'split', queue: 'mail', run: () => null })
    await pawl.submit(film)
    const error = await refusal(pawl.submit(film, undefined, { queue: 'mail' }))
    expect(error).toMatchObject({ code: 'QueueFull', details: { queue: 'mail', maxWaiting: 1 } })
  })

  it('does not bind children, jobs of schedules, later stages and reruns', async () => {
    const pawl = await openEngine({ maxWaiting: { full: 1 } })
    const inFull = { queue: 'full' }
    const { id } = await pawl.submit(idle, undefined, inFull)
    expect(await refusal(pawl.submit(idle, undefined, inFull))).toBeInstanceOf(QueueFull)
    const parent = job('parent', {
      run: ({ commit }) =>
        commit(null, [], [child(idle, undefined, inFull), child(idle, undefined, inFull)]),
    })
    const film = pipeline('film')
      .stage('split', { run: () => null })
      .stage('send', { after: 'split', queue: 'full', run: () => null })
    pawl.work([parent, film])
    await (await pawl.submit(parent)).result()
    expect(await countOf(pawl)).toBe(3)
    const handle = await pawl.submit(film)
    await pawl.schedule('often', { job: idle, every: '1s', ...inFull })
    await expect.poll(() => countOf(pawl), SOON).toBeGreaterThan(3)
    await handle.result()
    await pawl.cancel(id)
    const again = await pawl.rerun(id)
    expect((await again.info()).rerunOf).toBe(id)
    expect(await refusal(pawl.submit(idle, undefined, inFull))).toBeInstanceOf(QueueFull)
  })
})

it.each(Object.keys(SHARED))('what other processes submitted counts: %s', async (name) => {
  const place = await (SHARED[name] as () => Promise<SharedPlace>)()
  const bound = await engineAt(place, { maxWaiting: 4 })
  const other = await engineAt(place)
  await bound.submit(idle)
  await other.submitMany(idle, items(10))
  await expect.poll(() => refusal(bound.submit(idle)), SOON).toBeInstanceOf(QueueFull)
  expect(await countOf(other)).toBeLessThanOrEqual(14)
})

it('in a transaction of the user, a refusal leaves the transaction as it was', async () => {
  const { url, schema } = await freshSchema()
  const pawl = await open(url, { schema, maxWaiting: 1 })
  const client = new Client({ connectionString: url })
  await client.connect()
  onTestFinished(async () => {
    await client.end()
    await pawl.close()
  })
  await client.query('begin')
  const tx = fromPg(client)
  await pawl.submit(idle, undefined, { tx, id: 'first' })
  // A count of the store that is read now does not have it.
  await new Promise((resolve) => setTimeout(resolve, 100))
  const error = await refusal(pawl.submit(idle, undefined, { tx, id: 'second' }))
  expect(error).toBeInstanceOf(QueueFull)
  expect(await refusal(pawl.submitMany(idle, items(2), { tx }))).toBeInstanceOf(QueueFull)
  expect((await client.query('select 1 as one')).rows).toEqual([{ one: 1 }])
  await client.query('commit')
  expect((await pawl.list({})).jobs.map(({ id }) => id)).toEqual(['first'])
})

it.each([0, 1.5, -1, '10', null, { mail: 0 }, { mail: '3' }])(
  'maxWaiting %j is refused',
  async (maxWaiting) => {
    await expect(open('memory:', { maxWaiting: maxWaiting as never })).rejects.toThrow(
      '`maxWaiting` is a whole number from 1',
    )
  },
)
