/**
 * Jobs that are submitted in a transaction of the user's, on PostgreSQL: by pg, Kysely, Drizzle, and
 * a library that is unknown.
 */
import { sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/node-postgres'
import { CompiledQuery, Kysely, PostgresDialect } from 'kysely'
import type { ClientBase, Pool } from 'pg'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { recorded } from '../../support/history.ts'
import type { UserTransaction } from '../../../src/index.ts'
import { fromDrizzle, fromKysely, fromPg, job, open, Refused, typed } from '../../../src/index.ts'
import type { PostgresShop } from './postgres-shop.ts'
import { inTransaction, openShop } from './postgres-shop.ts'

const invoice = job('invoice', {
  input: typed<{ order: string }>(),
  run: ({ input }) => input.order,
})

class Rollback extends Error {}

type Write = (text: string) => Promise<unknown>
type Run = (pool: Pool, work: (tx: UserTransaction, write: Write) => Promise<void>) => Promise<void>

/** Texts are left: an unknown library reads those. */
function getTypeParser(oid: number): (text: string) => string {
  return (text) => (oid === 25 ? text : `not ${text}`)
}

function ofGroup(group: string, count: number): { input: string; options: { group: string } }[] {
  return Array.from({ length: count }, (_, i) => ({ input: `${group}${i}`, options: { group } }))
}

function unknownLibrary(client: ClientBase): UserTransaction {
  return { query: async (text, values) => (await client.query<object>(text, [...values])).rows }
}

const LIBRARIES: Readonly<Record<string, Run>> = {
  pg: (pool, work) =>
    inTransaction(pool, (client) => work(fromPg(client), (text) => client.query(text))),
  Kysely: (pool, work) =>
    new Kysely<object>({ dialect: new PostgresDialect({ pool }) })
      .transaction()
      .execute((trx) => work(fromKysely(trx), (text) => trx.executeQuery(CompiledQuery.raw(text)))),
  Drizzle: (pool, work) =>
    drizzle({ client: pool }).transaction((tx) =>
      work(fromDrizzle(tx, sql), async (text) => tx.execute(sql.raw(text))),
    ),
  'another library': (pool, work) =>
    inTransaction(pool, (client) => work(unknownLibrary(client), (text) => client.query(text))),
}

let shop: PostgresShop
beforeAll(async () => {
  shop = await openShop()
})
afterAll(() => shop.close())

describe.each(Object.entries(LIBRARIES))('in a transaction of %s', (name, run) => {
  it('a job is there when it commits, together with what it wrote', async () => {
    const { pawl, pool, orders } = shop
    const id = `${name} committed`
    await run(pool, async (tx, write) => {
      await write(`insert into orders values ('${id}', 'a')`)
      const handle = await pawl.submit(invoice, { order: id }, { tx, id })
      expect(handle.id).toBe(id)
      expect(await pawl.get(id)).toBeNull()
    })
    expect(await orders(id)).toEqual([`${id} a`])
    expect(await pawl.get(id)).toMatchObject({ id, state: 'QUEUED' })
    const worker = pawl.work([invoice])
    expect(await pawl.handle(id, invoice).result()).toBe(id)
    await worker.stop()
  })

  it('it is never there when it rolls back', async () => {
    const { pawl, pool, orders } = shop
    const id = `${name} rolled back`
    const running = run(pool, async (tx, write) => {
      await write(`insert into orders values ('${id}', 'a')`)
      await pawl.submit(invoice, { order: id }, { tx, id, key: id, group: name })
      throw new Rollback()
    })
    await expect(running).rejects.toBeInstanceOf(Rollback)
    expect(await orders(id)).toEqual([])
    expect(await pawl.get(id)).toBeNull()
    expect((await pawl.list({ key: id })).jobs).toEqual([])
  })

  it('a key that is known stands for its job, within the transaction, too', async () => {
    const { pawl, pool } = shop
    const [known, fresh] = [`${name} known`, `${name} fresh`]
    const before = await pawl.submit(invoice, { order: '1' }, { key: known })
    await run(pool, async (tx) => {
      const same = await pawl.submit(invoice, { order: '1' }, { tx, key: known })
      expect(same.id).toBe(before.id)
      const first = await pawl.submit(invoice, { order: '2' }, { tx, key: fresh, group: name })
      const second = await pawl.submit(invoice, { order: '2' }, { tx, key: fresh, group: name })
      expect(second.id).toBe(first.id)
      const other = pawl.submit(invoice, { order: '3' }, { tx, key: fresh, group: name })
      await expect(other).rejects.toBeInstanceOf(Refused)
    })
    expect((await pawl.list({ key: known })).jobs).toHaveLength(1)
    const [listed] = (await pawl.list({ key: fresh })).jobs
    const worker = pawl.work([invoice])
    expect(await pawl.handle(listed?.id ?? '').result()).toBe('2')
    await worker.stop()
  })

  it('a thousand jobs are there at once', async () => {
    const { pawl, pool } = shop
    const queue = `${name} many`
    const jobs = Array.from({ length: 1_000 }, (_, i) => ({
      input: { order: `${i}` },
      options: { key: `${queue}${i}`, queue, group: `${i % 2}`, priority: i % 3 },
    }))
    let first = ''
    await run(pool, async (tx) => {
      const handles = await pawl.submitMany(invoice, jobs, { tx })
      first = handles[0]?.id ?? ''
      expect(new Set(handles.map(({ id }) => id)).size).toBe(1_000)
      expect((await pawl.queue(queue)).ready).toBe(0)
    })
    expect((await pawl.queue(queue)).ready).toBe(1_000)
    const history = recorded(await pawl.history(first))
    expect(history.map(({ entry }) => entry.type)).toEqual(['JobSubmitted'])
  })

  it('that has failed before, nothing is submitted', async () => {
    const { pawl, pool } = shop
    const id = `${name} failed`
    const running = run(pool, async (tx, write) => {
      await write('select 1 / 0').catch(() => undefined)
      await pawl.submit(invoice, { order: '1' }, { tx, id })
    })
    await expect(running).rejects.toThrow(/has failed before.*roll it back/)
    expect(await pawl.get(id)).toBeNull()
  })
})

describe('in a transaction of pg', () => {
  it('that was not begun, nothing is submitted', async () => {
    const { pawl, pool } = shop
    const client = await pool.connect()
    const submitting = pawl.submit(invoice, { order: '1' }, { tx: fromPg(client), id: 'no one' })
    await expect(submitting).rejects.toThrow(/No transaction is under way/)
    await expect(submitting).rejects.toMatchObject({ code: 'TransactionFailed', kind: 'rejected' })
    client.release()
    expect(await pawl.get('no one')).toBeNull()
  })

  it('its search path, and what it has prepared, stay as they are', async () => {
    const { pawl, pool, app } = shop
    await inTransaction(pool, async (client) => {
      await pawl.submit(invoice, { order: '1' }, { tx: fromPg(client), key: 'path', group: 'g' })
      const { rows } = await client.query<{ path: string; prepared: string }>(
        `select current_setting('search_path') as path, (select count(*) from pg_prepared_statements) as prepared`,
      )
      expect(rows).toEqual([{ path: app, prepared: '0' }])
    })
  })

  it.each([
    ['pg', fromPg],
    ['another library', unknownLibrary],
  ])('of %s: how it reads numbers and bytes changes nothing', async (name, from) => {
    const { pawl, url } = shop
    const client = new Client({ connectionString: url, types: { getTypeParser } })
    await client.connect()
    onTestFinished(() => client.end())
    await client.query('begin')
    const key = `types of ${name}`
    const first = await pawl.submit(invoice, { order: '1' }, { tx: from(client), key })
    const second = await pawl.submit(invoice, { order: '1' }, { tx: from(client), key })
    await client.query('commit')
    expect(second.id).toBe(first.id)
    expect((await pawl.list({ key })).jobs).toHaveLength(1)
  })

  it('submits that are asked for at once do not get into each other', async () => {
    const { pawl, pool } = shop
    await inTransaction(pool, async (client) => {
      const orders = Array.from({ length: 20 }, (_, i) => `${i % 10}`)
      const handles = await Promise.all(
        orders.map((order) =>
          pawl.submit(invoice, { order }, { tx: fromPg(client), key: `at once ${order}` }),
        ),
      )
      expect(new Set(handles.map(({ id }) => id)).size).toBe(10)
    })
  })

  it('two that submit one key at once have one job', async () => {
    const { pawl, pool } = shop
    const key = 'two at once'
    const first = await pool.connect()
    await first.query('begin')
    const { id } = await pawl.submit(invoice, { order: '1' }, { tx: fromPg(first), key })
    // They wait for the first, and then take its job.
    const second = inTransaction(pool, async (client) => {
      const handle = await pawl.submit(invoice, { order: '1' }, { tx: fromPg(client), key })
      await client.query(`insert into orders values ('after a conflict', '')`)
      return handle
    })
    const third = pawl.submit(invoice, { order: '1' }, { key })
    await expect
      .poll(async () => {
        const { rows } = await pool.query<{ n: string }>(
          `select count(*) as n from pg_locks where not granted and locktype = 'transactionid'`,
        )
        return Number(rows[0]?.n)
      })
      .toBeGreaterThanOrEqual(2)
    await first.query('commit')
    first.release()
    expect([(await second).id, (await third).id]).toEqual([id, id])
    expect(await shop.orders('after')).toHaveLength(1)
  })

  it('a job that stands for a key is not kept from going on', async () => {
    const { pawl, pool } = shop
    const before = await pawl.submit(invoice, { order: '1' }, { key: 'goes on' })
    await inTransaction(pool, async (client) => {
      const tx = fromPg(client)
      const { id } = await pawl.submit(invoice, { order: '1' }, { tx, key: 'goes on' })
      expect(id).toBe(before.id)
      const worker = pawl.work([invoice])
      expect(await before.result()).toBe('1')
      await worker.stop()
    })
  })

  it('others of its group are not kept waiting', async () => {
    const { pawl, pool } = shop
    await inTransaction(pool, async (client) => {
      const tx = fromPg(client)
      await pawl.submit(invoice, { order: '1' }, { tx, group: 'crowd' })
      await pawl.submit(invoice, { order: '2' }, { group: 'crowd' })
      await inTransaction(pool, (other) =>
        pawl.submit(invoice, { order: '3' }, { tx: fromPg(other), group: 'crowd' }),
      )
    })
  })

  it('that reads what was long ago is told to run again', async () => {
    const { pawl, pool } = shop
    const running = inTransaction(pool, async (client) => {
      await client.query('set transaction isolation level repeatable read')
      await client.query('select * from orders')
      await pawl.submit(invoice, { order: '1' }, { key: 'long ago' })
      await pawl.submit(invoice, { order: '1' }, { tx: fromPg(client), key: 'long ago' })
    })
    await expect(running).rejects.toMatchObject({ code: 'TransactionFailed', kind: 'retryable' })
    await expect(running).rejects.toThrow(/cannot be done again from here: roll it back/)
    expect((await pawl.list({ key: 'long ago' })).jobs).toHaveLength(1)
  })

  it('that is lost says that nothing was committed', async () => {
    const { pawl, pool } = shop
    const running = inTransaction(pool, async (client) => {
      const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
      await pool.query('select pg_terminate_backend($1)', [rows[0]?.pid])
      await pawl.submit(invoice, { order: '1' }, { tx: fromPg(client), id: 'lost' })
    })
    await expect(running).rejects.toMatchObject({ code: 'TransactionFailed', kind: 'retryable' })
    expect(await pawl.get('lost')).toBeNull()
  })

  it('in another database, or without the tables, it is refused', async () => {
    const { pawl, url, schema } = shop
    const server = new Client({ connectionString: url })
    await server.connect()
    const name = `other_${schema}`
    await server.query(`create database ${name}`)
    const address = new URL(url)
    address.pathname = `/${name}`
    const other = new Client({ connectionString: address.href })
    await other.connect()
    onTestFinished(async () => {
      await other.end()
      await server.query(`drop database ${name}`)
      await server.end()
    })
    const submit = async (): Promise<void> => {
      await other.query('begin')
      try {
        await pawl.submit(invoice, { order: '1' }, { tx: fromPg(other), id: 'elsewhere' })
      } finally {
        await other.query('rollback')
      }
    }
    await expect(submit()).rejects.toThrow(/tables of this store are not there/)
    await (await open(address.href, { schema })).close()
    await expect(submit()).rejects.toThrow(/in another database than this store/)
    expect(await pawl.get('elsewhere')).toBeNull()
  })

  it('a pool is no transaction, nor is anything else', async () => {
    const { pawl, pool } = shop
    // @ts-expect-error -- a pool has no transaction
    expect(() => fromPg(pool)).toThrow(/A pool runs each query on a client of its own/)
    const db = new Kysely<object>({ dialect: new PostgresDialect({ pool }) })
    // @ts-expect-error -- not in a transaction
    expect(() => fromKysely(db)).toThrow(/needs a transaction/)
    // @ts-expect-error -- not in a transaction
    expect(() => fromDrizzle(drizzle({ client: pool }), sql)).toThrow(/needs the `tx`/)
    // @ts-expect-error -- nothing that could run a statement
    const submitting = pawl.submit(invoice, { order: '1' }, { tx: {} })
    await expect(submitting).rejects.toThrow(/must be a transaction/)
  })

  it('workers elsewhere hear of it when it is committed', async () => {
    const { pawl, pool, url, schema } = shop
    const elsewhere = await open(url, { schema })
    const ear = new Client({ connectionString: url })
    await ear.connect()
    onTestFinished(async () => {
      await ear.end()
      await elsewhere.close()
    })
    const told: unknown[] = []
    ear.on('notification', ({ payload }) => told.push(payload))
    const { rows } = await ear.query<{ id: string }>(
      `select value as id from ${schema}.meta where name = 'id'`,
    )
    await ear.query(`listen "pawl_${rows[0]?.id}"`)
    const heard = job('heard', { run: () => 'taken' })
    elsewhere.work([heard], { poll: '1h' })
    const handle = await inTransaction(pool, async (client) => {
      const submitted = await pawl.submit(heard, undefined, { tx: fromPg(client) })
      await ear.query('select 1')
      expect(told).not.toContain(' work upkeep')
      return submitted
    })
    await expect.poll(() => told).toContain(' work upkeep')
    expect(await handle.result()).toBe('taken')
  })

  it('a job keeps its place in line: groups take turns', async () => {
    const { pawl, pool } = shop
    const seen: string[] = []
    const turn = job('turn', { input: typed<string>(), run: ({ input }) => void seen.push(input) })
    await pawl.submitMany(turn, ofGroup('a', 3))
    await inTransaction(pool, (client) =>
      pawl.submitMany(turn, ofGroup('b', 2), { tx: fromPg(client) }),
    )
    const worker = pawl.work([turn], { concurrency: 1 })
    await expect.poll(() => seen).toHaveLength(5)
    expect(seen).toEqual(['a0', 'b0', 'a1', 'b1', 'a2'])
    await worker.stop()
  })
})

describe('a store that is on no database', () => {
  it('says that it cannot', async () => {
    const pawl = await open('memory:')
    onTestFinished(() => pawl.close())
    const tx = { query: () => [] }
    const submitting = pawl.submit(invoice, { order: '1' }, { tx })
    await expect(submitting).rejects.toThrow(/cannot be submitted in a transaction/)
    const many = pawl.submitMany(invoice, [], { tx })
    await expect(many).rejects.toMatchObject({ code: 'InvalidDefinition' })
  })
})
