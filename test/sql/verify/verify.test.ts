/**
 * Verify and repair of stores on a database: everything that can be wrong in the tables is planted
 * with plain SQL, found, named with its place, and put right where the events say what is right.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { repairIn, repairSql } from '../../../src/store/sql/verify/repair-database.ts'
import type { SqlStore } from '../../../src/store/sql/sql-store.ts'
import { verifyIn, verifySql } from '../../../src/store/sql/verify/verify-database.ts'
import {
  DatabaseDamaged,
  EventsDamaged,
  repairDatabase,
  verifyDatabase,
} from '../../../src/store/index.ts'
import { Dice } from '../../model/properties/dice.ts'
import { EVENT_DAMAGES } from './event-damages.ts'
import { RandomStore } from './random-store.ts'
import type { TestDatabase } from './test-databases.ts'
import { DATABASES } from './test-databases.ts'
import { flip, ROW_DAMAGES } from './row-damages.ts'
import { SampleStore } from './sample-store.ts'
import { IS_LONG } from '../../support/campaign.ts'

describe.each(Object.keys(DATABASES))('a store on %s', (name) => {
  let place: TestDatabase
  let store: SqlStore
  beforeAll(async () => {
    place = await (DATABASES[name] as (typeof DATABASES)[string])()
    store = await new SampleStore().tell((clock) => place.open(clock))
  })
  afterAll(async () => {
    await store.close()
    await place.close()
  })

  it('has nothing wrong', async () => {
    const seen: number[] = []
    const report = await verifySql(place.dialect, { onProgress: (done) => seen.push(done) })
    expect(report.problems).toEqual([])
    expect(report).toMatchObject({ events: seen.at(-1), jobs: 13 })
    const { steps, applied } = await repairSql(place.dialect, { apply: true })
    expect([steps, applied]).toEqual([[], false])
  })

  it.each(Object.keys(ROW_DAMAGES))('with %s is found out, and repaired', async (kind) => {
    const { plant, table, row, what } = ROW_DAMAGES[kind] as (typeof ROW_DAMAGES)[string]
    await place.inside(async (run, connection) => {
      await plant(run)
      const { problems } = await verifyIn(connection, place.dialect)
      expect(problems).toContainEqual(
        expect.objectContaining({ table, row, what: expect.stringMatching(what) as string }),
      )
      const planned = await repairIn(connection, place.dialect, { apply: false })
      expect(planned).toMatchObject({ applied: false, blocked: [] })
      const done = await repairIn(connection, place.dialect, { apply: true })
      expect(done).toEqual({ ...planned, applied: true })
      // All triggers are off while damage is planted.
      expect(done.left.filter((one) => one.row !== 'triggers')).toEqual([])
      const after = await verifyIn(connection, place.dialect)
      expect(after.problems).toEqual(done.left)
    })
  })

  it.each(Object.keys(EVENT_DAMAGES))('with %s among its events is found out', async (kind) => {
    const { plant, job, what, givenUp } = EVENT_DAMAGES[kind] as (typeof EVENT_DAMAGES)[string]
    await place.inside(async (run, connection) => {
      await plant(run)
      const { problems } = await verifyIn(connection, place.dialect)
      const named = expect.stringMatching(what) as string
      expect(problems).toContainEqual(
        expect.objectContaining({ table: 'events', row: job, what: named }),
      )
      const events = problems.filter(({ table }) => table === 'events')
      expect(events.every(({ position }) => position !== null)).toBe(true)
      const refused = await repairIn(connection, place.dialect, { apply: false })
      expect(refused).toMatchObject({ blocked: events, givenUp: [] })
      if (givenUp === null) return
      const giveUp = [...new Set(events.flatMap(({ row }) => row ?? []))]
      const done = await repairIn(connection, place.dialect, { apply: true, giveUp })
      expect(done).toMatchObject({ applied: true, blocked: [] })
      expect(done.givenUp.find((one) => one.job === job)).toMatchObject({
        isKept: givenUp === 'kept',
      })
      const after = await verifyIn(connection, place.dialect)
      expect(after.problems.filter(({ row }) => row !== 'triggers')).toEqual([])
      const rows = await run('select 1 from work where job = ?', job)
      expect(rows.length > 0).toBe(givenUp === 'kept')
    })
  })

  it('is found out wherever a bit of a record is another', async () => {
    const dice = new Dice(7)
    await place.inside(async (run, connection) => {
      for (const [table, column] of [...RECORDS, ...RECORDS, ...RECORDS]) {
        const isWork = table === 'work' ? ' and stage = -1' : ''
        const rows = await run(`select ${column} from ${table} where record is not null${isWork}`)
        const [picked] = dice.pick(rows)
        const where = `${column} = '${String(picked)}'${isWork}`
        const at = dice.below(1_000)
        const bit = dice.below(8)
        const before = (await verifyIn(connection, place.dialect)).problems
        await flip(run, table, where, at, bit)
        const { problems } = await verifyIn(connection, place.dialect)
        const fresh = problems.filter((one) => !before.some((two) => two.what === one.what))
        expect([table, where, at, bit, fresh.map((one) => one.table)]).toEqual([
          table,
          where,
          at,
          bit,
          expect.arrayContaining([table]),
        ])
        await flip(run, table, where, at, bit)
      }
    })
  })
})

describe.each(Object.keys(DATABASES))('a store on %s, from outside', (name) => {
  let place: TestDatabase
  let location: Parameters<typeof verifyDatabase>
  const clock = { now: () => 2_000 }
  beforeAll(async () => {
    place = await (DATABASES[name] as (typeof DATABASES)[string])()
    await (await new SampleStore().tell((told) => place.open(told))).close()
    location = [place.location, place.schema === undefined ? {} : { schema: place.schema }]
  })
  afterAll(() => place.close())

  it('is verified and repaired by its location', async () => {
    await place.plant((run) => run(`update work set state = 'LOST' where job = 'done'`))
    expect((await verifyDatabase(...location)).problems).toHaveLength(1)
    const report = await repairDatabase(location[0], { ...location[1], apply: true })
    expect(report).toMatchObject({ applied: true, steps: ['work done: written anew'] })
    expect((await verifyDatabase(...location)).problems).toEqual([])
    await (await place.open(clock)).close()
  })

  it('is not repaired from events that do not check, and stays as it is', async () => {
    await place.plant(async (run) => {
      await run(`update work set state = 'LOST' where job = 'waiting'`)
      await flip(run, 'events', `job = 'done' and type = 'LeaseGranted'`, 5, 5)
    })
    const repaired = repairDatabase(location[0], { ...location[1], apply: true })
    await expect(repaired).rejects.toThrow(EventsDamaged)
    await expect(repaired).rejects.toThrow(
      /LeaseGranted: its checksum is wrong at position .* done/,
    )
    expect((await verifyDatabase(...location)).problems).toHaveLength(2)
    const giveUp = ['done', 'held']
    const { givenUp } = await repairDatabase(location[0], { ...location[1], apply: true, giveUp })
    expect(givenUp).toMatchObject([{ job: 'done', isKept: true }])
    expect((await verifyDatabase(...location)).problems).toEqual([])
    const store = await place.open(clock)
    expect(await store.query({ kind: 'outcome', job: 'done' })).toMatchObject({
      state: 'SUCCEEDED',
    })
    expect(await store.query({ kind: 'history', job: 'done', limit: 9 })).toHaveLength(1)
    await store.close()
  })

  it('does not open if its newest events or their jobs are damaged', async () => {
    const newest = `position = (select max(position) from events)`
    for (const table of ['events', 'work'] as const) {
      const where = table === 'events' ? newest : `job = 'parent'`
      await place.plant((run) => flip(run, table, where, 2, 1))
      await expect(place.open(clock)).rejects.toThrow(DatabaseDamaged)
      await place.plant((run) => flip(run, table, where, 2, 1))
    }
    await (await place.open(clock)).close()
  })

  it('opens with a damaged event among the newest, once its job was given up', async () => {
    const own = await (DATABASES[name] as (typeof DATABASES)[string])()
    await (await new SampleStore().tell((told) => own.open(told))).close()
    await own.plant((run) =>
      flip(run, 'events', `job = 'parent' and type = 'EffectFinished'`, 5, 2),
    )
    await expect(own.open(clock)).rejects.toThrow(/EffectFinished: its checksum is wrong/)
    const { givenUp } = await repairSql(own.dialect, { apply: true, giveUp: ['parent'] })
    expect(givenUp).toMatchObject([{ job: 'parent', isKept: true }])
    await (await own.open(clock)).close()
    // Another one is not forgiven for that.
    await own.plant((run) => flip(run, 'events', `job = 'again' and type = 'JobForgotten'`, 5, 2))
    await expect(own.open(clock)).rejects.toThrow(/JobForgotten: its checksum is wrong/)
    await own.close()
  })

  it('does not open if the database lets events be changed', async () => {
    const off =
      name === 'SQLite'
        ? 'drop trigger no_update'
        : 'alter table events disable trigger append_only_update'
    const connection = await place.dialect.connect()
    await connection.run([{ sql: off, values: [] }])
    await connection.close()
    await expect(place.open(clock)).rejects.toThrow(/triggers: 1 triggers|1 triggers that keep/)
    expect((await verifyDatabase(...location)).problems).toMatchObject([{ row: 'triggers' }])
  })
})

describe('a store on PostgreSQL', () => {
  it('whose positions begin anew is found out, does not open, and is repaired', async () => {
    const place = await (DATABASES['PostgreSQL'] as (typeof DATABASES)[string])()
    const clock = { now: () => 2_000 }
    await (await new SampleStore().tell((told) => place.open(told))).close()
    await place.plant((run) => run(`select setval('positions', 3)`))
    await expect(place.open(clock)).rejects.toThrow(/positions.*4 would be next/)
    const { problems } = await verifySql(place.dialect)
    expect(problems).toMatchObject([{ table: 'meta', row: 'positions' }])
    await repairSql(place.dialect, { apply: true })
    expect((await verifySql(place.dialect)).problems).toEqual([])
    await (await place.open(clock)).close()
    await place.close()
  })

  it('with a row that is there twice is found out, and repaired', async () => {
    const place = await (DATABASES['PostgreSQL'] as (typeof DATABASES)[string])()
    await (await new SampleStore().tell((told) => place.open(told))).close()
    await place.plant(async (run) => {
      await run('alter table work drop constraint work_pkey')
      await run(`insert into work select * from work where job = 'done'`)
      await run('drop index key_held')
      await run(`update work set key_held = '["test","k"]' where job = 'later'`)
    })
    const { problems } = await verifySql(place.dialect)
    expect(problems.map(({ row, what }) => `${row}: ${what}`)).toEqual([
      'done: it is there 2 times',
      `later: key_held is '["test","k"]', and must be missing`,
      '["test","k"]: it is there 2 times',
    ])
    await repairSql(place.dialect, { apply: true })
    expect((await verifySql(place.dialect)).problems).toEqual([])
    await place.close()
  })
})

describe.each(Object.keys(DATABASES))('a random store on %s', (name) => {
  it.each(IS_LONG ? [1, 2] : [1])(
    'has nothing wrong, while work goes on and after it (seed %i)',
    async (seed) => {
      const place = await (DATABASES[name] as (typeof DATABASES)[string])()
      const work = { isOver: false }
      const looking = (async () => {
        // On SQLite no other connection can write while the tables are made.
        await place.open({ now: () => 0 }).then((store) => store.close())
        while (!work.isOver) expect((await verifySql(place.dialect)).problems).toEqual([])
      })()
      const random = await RandomStore.in((clock) => place.open(clock), seed, 100)
      work.isOver = true
      await looking
      const { problems, events } = await verifySql(place.dialect)
      expect(problems).toEqual([])
      expect(events).toBeGreaterThan(50)
      await random.store.close()
    },
  )
})

const RECORDS = [
  ['events', 'position'],
  ['events', 'position'],
  ['work', 'job'],
  ['queues', 'queue'],
  ['schedules', 'schedule'],
] as const
