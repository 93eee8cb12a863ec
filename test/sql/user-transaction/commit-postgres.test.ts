/**
 * Writes of the user's in the transaction that commits a job, on PostgreSQL.
 */
import { drizzle } from 'drizzle-orm/node-postgres'
import { pgTable, text } from 'drizzle-orm/pg-core'
import { Kysely, PostgresDialect } from 'kysely'
import type { Client, ClientBase, PoolClient } from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { recorded } from '../../support/history.ts'
import type { JobInfo, Pawl } from '../../../src/index.ts'
import { effect, fromPg, job, open, typed } from '../../../src/index.ts'
import { deferred } from '../../support/engines.ts'
import type { PostgresShop } from './postgres-shop.ts'
import { openShop } from './postgres-shop.ts'

const IN = typed<{ order: string }>()

let shop: PostgresShop
beforeAll(async () => {
  shop = await openShop()
})
beforeEach(async () => {
  await shop.pool.query('truncate orders')
})
afterAll(() => shop.close())

function wait(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

async function ended(pawl: Pawl, id: string): Promise<JobInfo> {
  await pawl
    .handle(id)
    .result()
    .catch(() => undefined)
  return (await pawl.get(id)) as JobInfo
}

describe('a commit that writes, on PostgreSQL', () => {
  it('commits both, in one transaction', async () => {
    const { pawl, orders, schema, app } = shop
    const pay = job('pay', {
      input: IN,
      run: ({ input, job: { id }, commit }) =>
        commit({ paid: input.order }).with(async (client: ClientBase) => {
          await client.query(`insert into ${app}.orders values ($1, 'paid')`, [input.order])
          // What is committed with it is there already, for this transaction.
          const { rows } = await client.query<{ n: number }>(
            `select count(*)::int as n from ${schema}.events where type = 'ExecutionCommitted' and job = $1`,
            [id],
          )
          await client.query(`update ${app}.orders set note = $1`, [`saw ${rows[0]?.n}`])
        }),
    })
    const worker = pawl.work([pay])
    const handle = await pawl.submit(pay, { order: '1' })
    expect(await handle.result()).toEqual({ paid: '1' })
    expect(await orders()).toEqual(['1 saw 1'])
    await worker.stop()
  })

  it('a function that throws commits nothing, and the attempt has failed', async () => {
    const { pawl, orders, app } = shop
    const pay = job('pay', {
      input: IN,
      retry: { max: 2, delay: '1ms' },
      classify: (error) => ((error as Error).message === 'never' ? 'terminal' : undefined),
      run: ({ input, job: { attempt }, commit }) =>
        commit(attempt).with(async (client: ClientBase) => {
          await client.query(`insert into ${app}.orders values ($1, 'paid')`, [input.order])
          if (input.order === 'bad') throw new Error('never')
          if (attempt === 1) throw new Error('not today')
          if (attempt === 2) await client.query('select 1 / 0')
        }),
    })
    const worker = pawl.work([pay])
    const good = await pawl.submit(pay, { order: '1' })
    expect(await good.result()).toBe(3)
    const history = recorded(await pawl.history(good.id))
    const errors = history.flatMap(({ entry }) =>
      entry.type === 'TaskFailed' ? [entry.error] : [],
    )
    expect(errors.map(({ message }) => message)).toEqual(['not today', 'division by zero'])
    const bad = await pawl.submit(pay, { order: 'bad' })
    expect(await ended(pawl, bad.id)).toMatchObject({ state: 'FAILED' })
    expect(await orders()).toEqual(['1 paid'])
    await worker.stop()
  })

  it('a statement that failed is not passed over, and the transaction is not the function’s to end', async () => {
    const { pawl, pool, app } = shop
    const pay = job('pay', {
      input: typed<string>(),
      retry: { max: 0 },
      quarantine: 'never',
      run: ({ input, commit }) =>
        commit(null).with(async (client: ClientBase) => {
          await client.query(`insert into ${app}.orders values ('x')`)
          await client.query(input).catch(() => undefined)
        }),
    })
    const worker = pawl.work([pay])
    for (const wrong of ['select 1 / 0', 'rollback', 'rollback; begin']) {
      const { id } = await pawl.submit(pay, wrong)
      const { state, error } = await ended(pawl, id)
      expect({ state, code: error?.code }).toEqual({ state: 'FAILED', code: 'TransactionFailed' })
      expect(error?.message).toMatch(/could not be committed/)
    }
    expect((await pool.query(`select * from ${app}.orders`)).rows).toEqual([])
    // What it committed itself is in, together with the commit.
    const { id } = await pawl.submit(pay, 'commit')
    expect((await ended(pawl, id)).state).toBe('SUCCEEDED')
    expect((await pool.query(`select id from ${app}.orders`)).rows).toEqual([{ id: 'x' }])
    await worker.stop()
  })

  it('when authority was lost, nothing is written', async () => {
    const { pawl, orders, app } = shop
    let written = 0
    const pay = job('pay', {
      input: IN,
      run: async ({ input, job: { id }, commit }) => {
        await pawl.cancel(id, { reason: 'changed my mind' })
        return commit(null).with(async (client: ClientBase) => {
          written += 1
          await client.query(`insert into ${app}.orders values ($1, 'paid')`, [input.order])
        })
      },
    })
    const worker = pawl.work([pay])
    const { id } = await pawl.submit(pay, { order: '1' })
    expect(await ended(pawl, id)).toMatchObject({ state: 'FAILED' })
    await worker.stop()
    expect({ written, orders: await orders() }).toEqual({ written: 0, orders: [] })
  })

  it('one that takes too long is rolled back, and can do no harm afterwards', async () => {
    const { pawl, pool, orders, app } = shop
    const over = deferred()
    const late = deferred<unknown>()
    const pay = job('pay', {
      input: IN,
      retry: { max: 1, delay: '1ms' },
      run: ({ input, job: { attempt }, commit }) =>
        commit(attempt).with(
          async (client: ClientBase) => {
            await client.query(`insert into ${app}.orders values ($1, $2)`, [input.order, attempt])
            if (attempt === 2) return
            client.query(`select pg_sleep(20)`).catch(() => undefined)
            await over.promise
            try {
              await client.query(`insert into ${app}.orders values ('late', '')`)
            } catch (error) {
              late.resolve(error)
            }
          },
          { within: '300ms' },
        ),
    })
    const worker = pawl.work([pay])
    const { id } = await pawl.submit(pay, { order: '1' })
    expect(await pawl.handle(id).result()).toBe(2)
    const history = recorded(await pawl.history(id))
    const errors = history.flatMap(({ entry }) =>
      entry.type === 'TaskFailed' ? [entry.error] : [],
    )
    expect(errors.map(({ code }) => code)).toEqual(['WritesTooSlow'])
    over.resolve()
    expect(String(await late.promise)).toMatch(/lent to the writes of one commit/)
    expect(await orders()).toEqual(['1 2'])
    const { rows } = await pool.query(
      `select 1 from pg_stat_activity where query like '%pg_sleep(20)%' and state = 'active' and pid <> pg_backend_pid()`,
    )
    expect(rows).toEqual([])
    await worker.stop()
  })

  it('a deadlock with another transaction is done again', async () => {
    const { pawl, pool, orders, app } = shop
    await pool.query(`insert into orders values ('a', ''), ('b', '')`)
    const other = await pool.connect()
    const isWaiting = async (client: PoolClient): Promise<boolean> => {
      const ask = `select wait_event_type = 'Lock' as waits from pg_stat_activity where pid = $1`
      const { processID } = client as PoolClient & { readonly processID: number }
      return (await pool.query<{ waits: boolean }>(ask, [processID])).rows[0]?.waits === true
    }
    let runs = 0
    const pay = job('pay', {
      input: IN,
      run: ({ commit }) =>
        commit(null).with(async (client: ClientBase) => {
          runs += 1
          await client.query(`set local deadlock_timeout = '50ms'`)
          await client.query(`update ${app}.orders set note = 'job' where id = 'b'`)
          if (runs === 1) {
            await other.query('begin')
            await other.query(`set local deadlock_timeout = '10s'`)
            await other.query(`update orders set note = 'other' where id = 'a'`)
            void other
              .query(`update orders set note = 'other' where id = 'b'`)
              .then(() => other.query('commit'))
              .then(() => other.release())
            // The server looks for a deadlock once a wait: BEFORE this one waits, the other must.
            await expect.poll(() => isWaiting(other)).toBe(true)
          }
          await client.query(`update ${app}.orders set note = 'job' where id = 'a'`)
        }),
    })
    const worker = pawl.work([pay])
    const { id } = await pawl.submit(pay, { order: '1' })
    expect(await ended(pawl, id)).toMatchObject({ state: 'SUCCEEDED', executions: [{}] })
    expect(runs).toBe(2)
    expect(await orders()).toEqual(['a job', 'b job'])
    await worker.stop()
  })

  it('Drizzle and Kysely write on the same client; more jobs can be submitted with it', async () => {
    const { pawl, orders, app } = shop
    const table = pgTable('orders', { id: text(), note: text() })
    const next = job('next', { input: IN, run: ({ input }) => input.order })
    const drizzled = job('drizzled', {
      input: IN,
      run: ({ input, commit }) =>
        commit(null).with(async (client: Client) => {
          await client.query(`set local search_path = ${app}`)
          await drizzle({ client }).insert(table).values({ id: input.order, note: 'Drizzle' })
          await pawl.submit(next, input, { tx: fromPg(client), id: `${input.order}-next` })
        }),
    })
    const kyselied = job('kyselied', {
      input: IN,
      run: ({ input, commit }) =>
        commit(null).with(async (client: Client) => {
          const lent = { query: client.query.bind(client), release: () => undefined }
          const pool = { connect: async () => lent, end: async () => undefined }
          const db = new Kysely<{ orders: { id: string; note: string } }>({
            dialect: new PostgresDialect({ pool }),
          }).withSchema(app)
          await db.insertInto('orders').values({ id: input.order, note: 'Kysely' }).execute()
        }),
    })
    const worker = pawl.work([drizzled, kyselied, next])
    const handles = [
      await pawl.submit(drizzled, { order: '1' }),
      await pawl.submit(kyselied, { order: '2' }),
    ]
    await Promise.all(handles.map((one) => one.result()))
    expect(await pawl.handle('1-next', next).result()).toBe('1')
    expect(await orders()).toEqual(['1 Drizzle', '2 Kysely'])
    await worker.stop()
  })

  it('other jobs keep their leases while it writes, here and elsewhere', async () => {
    const { pawl, url, schema } = shop
    const elsewhere = await open(url, { schema })
    onTestFinished(() => elsewhere.close())
    const lease = '1s'
    let isWriting = false
    const writes = job('writes', {
      lease,
      run: ({ commit }) =>
        commit(null).with(() => {
          isWriting = true
          return wait(1_800)
        }),
    })
    const here = job('works-here', { lease, run: () => wait(2_000) })
    const there = job('works-there', { lease, run: () => wait(2_000) })
    const workers = [pawl.work([writes, here]), elsewhere.work([there])]
    const handles = [
      await pawl.submit(writes),
      await pawl.submit(here),
      await pawl.submit(here),
      await pawl.submit(there),
    ]
    await expect.poll(() => isWriting).toBe(true)
    // Who cancels it waits for it, and comes too late; the others do not wait with it.
    await expect(handles[0]?.cancel()).rejects.toMatchObject({ code: 'NothingToCancel' })
    await Promise.all(handles.map((one) => one.result()))
    const infos = await Promise.all(handles.map((one) => one.info()))
    expect(infos.map(({ attempt }) => attempt)).toEqual([1, 1, 1, 1])
    const history = recorded(await pawl.history(handles[0]?.id ?? ''))
    const entries = history.map(({ entry }) => entry.type)
    expect(entries).toEqual(['JobSubmitted', 'LeaseGranted', 'ExecutionCommitted'])
    await Promise.all(workers.map((worker) => worker.stop()))
  })

  it('effects follow it, under a lease that is kept', async () => {
    const { pawl, orders, app } = shop
    const sent: string[] = []
    const mail = effect('mail', {
      idempotent: true,
      input: typed<string>(),
      run: async (to) => {
        await new Promise((resolve) => setTimeout(resolve, 1_800))
        sent.push(to)
      },
    })
    const pay = job('pay', {
      input: IN,
      lease: '1s',
      effects: [mail],
      run: ({ input, commit }) =>
        commit(null, [mail(input.order)]).with((client: ClientBase) =>
          client.query(`insert into ${app}.orders values ($1, '')`, [input.order]),
        ),
    })
    const worker = pawl.work([pay])
    const { id } = await pawl.submit(pay, { order: '1' })
    expect(await ended(pawl, id)).toMatchObject({ state: 'SUCCEEDED', executions: [{}] })
    expect({ sent, orders: await orders() }).toEqual({ sent: ['1'], orders: ['1 '] })
    await worker.stop()
  })
})

describe('a commit that writes, where it cannot', () => {
  it.each(['memory:'])('%s says so when it is asked for', async (place) => {
    const pawl = await open(place)
    onTestFinished(() => pawl.close())
    const pay = job('pay', {
      retry: { max: 0 },
      quarantine: 'never',
      run: ({ commit }) => commit(1).with(() => undefined),
    })
    const worker = pawl.work([pay])
    const { id } = await pawl.submit(pay)
    const { error } = await ended(pawl, id)
    expect(error?.code).toBe('InvalidDefinition')
    expect(error?.message).toMatch(/needs a database/)
    await worker.stop()
  })
})
