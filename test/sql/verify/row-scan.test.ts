/**
 * The quick pass through all rows: what somebody changed in the tables by hand is found in a large store within
 * a few calls, in each of which only a few jobs are folded, and in jobs that are too large to be folded.
 */
import { afterEach, describe, expect, it } from 'vitest'
import type { Command } from '../../../src/kernel/index.ts'
import type { Store } from '../../../src/store/index.ts'
import { Records } from '../../../src/store/sql/rows/records.ts'
import { RowScan } from '../../../src/store/sql/upkeep/row-scan.ts'
import { pipeline, plain, stage } from '../../support/specs.ts'
import { RandomStore } from './random-store.ts'
import { SampleStore } from './sample-store.ts'
import type { Run, TestDatabase } from './test-databases.ts'
import { DATABASES } from './test-databases.ts'

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

async function placeIn(name: string): Promise<TestDatabase> {
  const place = await (DATABASES[name] as (typeof DATABASES)[string])()
  closing.push(() => place.close())
  return place
}

/** One whole pass, by itself: nothing of what it finds is folded. */
async function scanned(place: TestDatabase): Promise<string[]> {
  const scan = new RowScan(place.dialect, new Records())
  const connection = await place.dialect.connect()
  const found: string[] = []
  do {
    for (const { what } of await scan.next(connection)) found.push(what)
  } while (scan.passes === 0)
  await connection.close()
  return found
}

const MANY = 2_500
/** A call folds 50 jobs: 200 of them in these. */
const CALLS = 5
/** With few jobs, and the calls between two passes of the rows. */
const A_ROUND = 20

/** Jobs that wait, and jobs that were given up, in a store of which a round folds a small part. */
async function manyJobs(place: TestDatabase): Promise<Store> {
  const store = await place.open({ now: () => 1_000 })
  closing.unshift(() => store.close())
  const spec = plain()
  for (let from = 0; from < MANY; from += 500) {
    const ids = Array.from({ length: 500 }, (_, i) => `job ${from + i}`)
    await store.execute(ids.map((job): Command => ({ type: 'SubmitJob', job, spec })))
    const given = ids.filter((_, i) => i % 2 === 0)
    await store.execute(
      given.map((job): Command => ({ type: 'CancelJob', job, by: 'ops', reason: 'because' })),
    )
  }
  return store
}

/** A segment of the wide pipeline. */
function row(segment: number): string {
  return `job = 'wide' and stage = 0 and segment = ${segment}`
}

/** What some calls say, with the jobs' names. */
async function saidIn(store: Store, calls: number): Promise<string[]> {
  const said = new Set<string>()
  for (let call = 1; call <= calls; call++) {
    const query = { kind: 'examination', limit: 200, waitedMs: 1e9 } as const
    for (const { what } of (await store.query(query)).violations) said.add(what)
  }
  return [...said]
}

const DAMAGES: Readonly<Record<string, { plant: (run: Run) => Promise<unknown>; says: RegExp }>> = {
  'a row deleted': {
    plant: (run) => run(`delete from work where job = 'job 1701'`),
    says: /^job 1701: it was submitted at position \d+ and not forgotten, and its row is missing$/,
  },
  'a state changed': {
    plant: (run) => run(`update work set state = 'COMPLETED' where job = 'job 1702'`),
    says: /^job 1702: state is 'COMPLETED', and must be 'FAILED'$/,
  },
  'a state changed, of a job that has no record yet': {
    plant: (run) => run(`update work set state = 'DEAD' where job = 'job 1703'`),
    says: /^job 1703: state is 'DEAD', and must be 'WAITING'$/,
  },
  'an attempt changed': {
    plant: (run) => run(`update work set attempt = 3 where job = 'job 1704'`),
    says: /^job 1704: attempt is 3, and must be 0$/,
  },
  'a record taken from another row': {
    plant: (run) =>
      run(`
        update work set record = (select record from work where job = 'late') where job = 'job 1706'`),
    says: /^job 1706: its record is not what the events say/,
  },
  'a row that leads to an event of another job': {
    plant: (run) =>
      run(`
        update work set last_position = (select last_position from work where job = 'late')
        where job = 'job 1708'`),
    says: /^job 1708: it leads to an event of late/,
  },
}

describe.each(Object.keys(DATABASES))('the pass through the rows of a store on %s', (name) => {
  it('finds nothing where nothing is wrong, whatever happened to the jobs', async () => {
    const sample = await placeIn(name)
    const told = await new SampleStore().tell((clock) => sample.open(clock))
    closing.unshift(() => told.close())
    expect(await scanned(sample)).toEqual([])
    for (const seed of [1, 2, 3]) {
      const place = await placeIn(name)
      const { store } = await RandomStore.in((clock) => place.open(clock), seed, 200)
      closing.unshift(() => store.close())
      expect(await scanned(place)).toEqual([])
    }
  })

  it('finds damage among 2,500 jobs in five calls of the examination, and says no more once it is put right', async () => {
    const place = await placeIn(name)
    const store = await manyJobs(place)
    const later = await place.open({ now: () => 2_000 })
    closing.unshift(() => later.close())
    await later.execute([{ type: 'SubmitJob', job: 'late', spec: plain() }])
    await later.execute([{ type: 'CancelJob', job: 'late', by: 'ops', reason: 'because' }])
    expect(await saidIn(store, 3 * CALLS)).toEqual([])
    await place.plant((run) => run(`create table kept as select * from work`))
    await place.plant(async (run) => {
      for (const { plant } of Object.values(DAMAGES)) await plant(run)
    })
    // As by a process that begins its first pass.
    const other = await place.open({ now: () => 3_000 })
    closing.unshift(() => other.close())
    const said = await saidIn(other, CALLS)
    for (const [what, { says }] of Object.entries(DAMAGES)) {
      expect([what, said]).toEqual([what, expect.arrayContaining([expect.stringMatching(says)])])
    }
    const jobs = new Set(said.map((what) => what.replace(/:.*/, '')))
    expect(jobs.size).toBe(Object.keys(DAMAGES).length)
    await place.plant(async (run) => {
      await run(`delete from work`)
      await run(`insert into work select * from kept`)
    })
    await saidIn(other, 1)
    expect(await saidIn(other, 3 * CALLS)).toEqual([])
  }, 120_000)

  it('finds damage in a job that is too large to be folded', async () => {
    const place = await placeIn(name)
    const store = await place.open({ now: () => 1_000 })
    closing.unshift(() => store.close())
    const input = JSON.stringify(Array.from({ length: 1_300 }, (_, i) => i))
    const spec = pipeline([stage('each', { each: 'input' })], { type: 'wide', input })
    await store.execute([{ type: 'SubmitJob', job: 'wide', spec }])
    await store.execute([{ type: 'OpenStage', job: 'wide', stage: 0 }])
    expect(await saidIn(store, 3)).toEqual([])
    const planted: readonly (readonly [string, RegExp])[] = [
      [
        `delete from work where ${row(1_250)}`,
        /^wide: it has 1299 rows of tasks, and its stages have 1300$/,
      ],
      [
        `update work set state = 'DEAD' where ${row(1_200)}`,
        /^wide\/0\/1200: state is DEAD, and by its record WAITING$/,
      ],
      [
        `update work set attempt = 5 where ${row(700)}`,
        /^wide\/0\/700: attempt is 5, and by its record 0$/,
      ],
    ]
    await place.plant((run) => run(`create table kept as select * from work`))
    for (const [sql, says] of planted) {
      await place.plant((run) => run(sql))
      expect(await saidIn(store, A_ROUND)).toEqual([expect.stringMatching(says)])
      await place.plant(async (run) => {
        await run(`delete from work`)
        await run(`insert into work select * from kept`)
      })
      await saidIn(store, A_ROUND)
      expect(await saidIn(store, 2)).toEqual([])
    }
  })
})
