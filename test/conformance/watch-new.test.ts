/** A watch from now on: what becomes durable after it began, all of it and nothing else. */
import { Client } from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { PositionedEntry } from '../../src/store/index.ts'
import { fromPg } from '../../src/store/index.ts'
import { openPostgres } from '../../src/store/sql/open-sql.ts'
import { freshSchema } from '../support/postgres.ts'
import { plain } from '../support/specs.ts'
import { setUp, STORES, TestClock } from './bench.ts'

async function shown(watched: AsyncIterable<PositionedEntry>, count: number): Promise<string[]> {
  const jobs: string[] = []
  for await (const { entry } of watched) {
    jobs.push('job' in entry ? entry.job : entry.type)
    if (jobs.length === count) break
  }
  return jobs
}

describe.each(Object.keys(STORES))('a watch from now on, on the %s store', (kind) => {
  it('shows what comes, with entries before it and without', async () => {
    const { store, send } = await setUp(kind)
    const all = await store.watchNew()
    for (const job of ['a', 'b']) await send({ type: 'SubmitJob', job, spec: plain() })
    const later = await store.watchNew()
    for (const job of ['c', 'd']) await send({ type: 'SubmitJob', job, spec: plain() })
    expect(await shown(all, 4)).toEqual(['a', 'b', 'c', 'd'])
    expect(await shown(later, 2)).toEqual(['c', 'd'])
    await store.close()
  })
})

it('on PostgreSQL it begins once transactions are over that may still write before it', async () => {
  const [place, clock] = [await freshSchema(), new TestClock()]
  const store = await openPostgres({ ...place, clock })
  onTestFinished(() => store.close())
  const client = new Client(place.url)
  await client.connect()
  onTestFinished(() => client.end())
  await client.query('begin')
  await store.executeIn(fromPg(client), [{ type: 'SubmitJob', job: 'late', spec: plain() }])
  await store.execute([{ type: 'SubmitJob', job: 'b', spec: plain() }])
  let hasBegun = false
  const begun = store.watchNew().then((watched) => {
    hasBegun = true
    return watched
  })
  await new Promise((resolve) => setTimeout(resolve, 150))
  expect(hasBegun).toBe(false)
  await client.query('commit')
  const watched = await begun
  await store.execute([{ type: 'SubmitJob', job: 'c', spec: plain() }])
  expect(await shown(watched, 1)).toEqual(['c'])
})
