/**
 * Damage in a SQLite file that no row shows: an index that lacks rows. It is found, named, and put right.
 */
import { DatabaseSync } from '@photostructure/sqlite'
import { beforeEach, describe, expect, it } from 'vitest'
import { repairDatabase, verifyDatabase } from '../../../src/store/index.ts'
import { openSqliteStore } from '../../../src/store/sql/open-sql.ts'
import { reasonOf } from '../databases.ts'
import { plain } from '../../support/specs.ts'
import { freshFile } from '../../support/sqlite.ts'

const JOBS = ['a', 'b', 'c']
let path: string
let location: string

beforeEach(async () => {
  path = await freshFile()
  location = `sqlite:${path}`
  const store = await openSqliteStore({ path })
  const spec = plain({ type: 'red' }, { queue: 'q' })
  await store.execute(JOBS.map((job) => ({ type: 'SubmitJob', job, spec })))
  await store.close()
})

function run(...statements: readonly string[]): void {
  const database = new DatabaseSync(path)
  database.enableDefensive(false)
  for (const sql of statements) database.exec(sql)
  database.close()
}

function valueOf(sql: string): unknown {
  const database = new DatabaseSync(path)
  const { value } = database.prepare(sql).get() as { value: unknown }
  database.close()
  return value
}

function rootOf(name: string): unknown {
  return valueOf(`select rootpage as value from sqlite_master where name = '${name}'`)
}

/** Gives an index the page of one with nothing in it, which gets that of the other. */
function empty(index: string, table: string, column: string): void {
  const other = `empty_${index}`
  run(`create index "${other}" on ${table} (${column}) where ${column} = 'nobody'`)
  const [own, nothing] = [rootOf(index), rootOf(other)]
  run(
    'pragma writable_schema = on',
    `update sqlite_master set rootpage = ${String(nothing)} where name = '${index}'`,
    `update sqlite_master set rootpage = ${String(own)} where name = '${other}'`,
  )
}

async function claim(): Promise<string[]> {
  const store = await openSqliteStore({ path })
  const channels = [{ queue: 'q', type: 'red', stage: null }]
  const given = await store.claim({ worker: 'w', request: 1, channels, max: 5, started: true })
  await store.close()
  return given.map(({ job }) => job)
}

describe('an index that lacks rows', () => {
  it('is named, and a claim by it finds nothing', async () => {
    empty('ready', 'work', 'channel')
    expect(await claim()).toEqual([])
    const { problems } = await verifyDatabase(location)
    const what = expect.stringMatching(/^row \d+ missing from index ready, and \d more/) as string
    expect(problems).toContainEqual({ table: 'indexes', row: 'ready', what, position: null })
    expect(problems.every(({ table }) => table === 'indexes')).toBe(true)
  })

  it('is rebuilt by repair, and a claim finds what waited', async () => {
    empty('ready', 'work', 'channel')
    const planned = await repairDatabase(location, { apply: false })
    expect(planned).toMatchObject({ steps: ['indexes: rebuilt'], applied: false, left: [] })
    expect((await verifyDatabase(location)).problems).toEqual(planned.problems)
    const done = await repairDatabase(location, { apply: true })
    expect(done).toEqual({ ...planned, applied: true })
    expect((await verifyDatabase(location)).problems).toEqual([])
    expect(await claim()).toEqual(JOBS)
  })

  it('is rebuilt BEFORE rows are read by it: none is written twice', async () => {
    empty('sqlite_autoindex_work_1', 'work', 'channel')
    const planned = await repairDatabase(location, { apply: false })
    const row = { table: 'work', row: 'a', what: 'it is missing', position: null }
    expect(planned.problems).toContainEqual(row)
    const { problems, steps, left } = await repairDatabase(location, { apply: true })
    expect(problems.map(({ table }) => table)).not.toContain('work')
    expect([steps, left]).toEqual([['indexes: rebuilt'], []])
    expect(valueOf('select count(*) as value from work not indexed')).toBe(JOBS.length)
    expect((await verifyDatabase(location)).problems).toEqual([])
  })

  it('of events is no damage to events', async () => {
    empty('submits', 'events', 'type')
    const { blocked, left } = await repairDatabase(location, { apply: true })
    expect([blocked, left]).toEqual([[], []])
    expect((await verifyDatabase(location)).problems).toEqual([])
  })

  it('cannot be rebuilt over a row that is there twice, and then nothing is changed', async () => {
    empty('sqlite_autoindex_work_1', 'work', 'channel')
    run(`insert into work select * from work not indexed where job = 'a'`)
    expect((await verifyDatabase(location)).problems).not.toEqual([])
    expect(await reasonOf(repairDatabase(location, { apply: true }))).toBe('conflict')
    expect(valueOf('select count(*) as value from work not indexed')).toBe(JOBS.length + 1)
  })

  it('of the user’s is named, and left to them', async () => {
    run('create table orders (id text, note text)', 'create index by_id on orders (id)')
    run(`insert into orders values ('1', 'nothing')`)
    empty('by_id', 'orders', 'note')
    const { problems } = await verifyDatabase(location)
    expect(problems).not.toEqual([])
    const { steps, left } = await repairDatabase(location, { apply: true })
    expect([steps, left]).toEqual([[], problems])
    expect(new Set(left.map(({ table }) => table))).toEqual(new Set(['file']))
  })
})
