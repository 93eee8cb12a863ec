/**
 * The user's transaction at both ends of a job, in a SQLite file: by the driver itself, Kysely and
 * Drizzle.
 */
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import type { DatabaseSyncInstance } from '@photostructure/sqlite'
import { sql } from 'drizzle-orm'
import { sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { drizzle } from 'drizzle-orm/sqlite-proxy'
import { Kysely, SqliteDialect } from 'kysely'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { JobInfo, Pawl, UserTransaction } from '../../../src/index.ts'
import {
  fromDrizzle,
  fromKysely,
  fromSqlite,
  job,
  open,
  openSqlite,
  typed,
} from '../../../src/index.ts'
import { freshFile } from '../../support/sqlite.ts'
import { inSqlite, openSqliteShop } from './sqlite-shop.ts'

const IN = typed<{ order: string }>()
const invoice = job('invoice', { input: IN, run: ({ input }) => input.order })

class Rollback extends Error {}

/** As Drizzle wants it of a driver that it does not know. */
function drizzled(database: DatabaseSyncInstance): ReturnType<typeof drizzle> {
  return drizzle(async (query, values, method) => {
    const statement = database.prepare(query)
    if (method === 'run') {
      statement.run(...(values as never[]))
      return { rows: [] }
    }
    const rows = statement.all(...(values as never[])) as object[]
    return { rows: rows.map((row) => Object.values(row)) }
  })
}

/** As Kysely wants it of a driver that is like better-sqlite3. */
function kyselied<T>(database: DatabaseSyncInstance): Kysely<T> {
  const prepare = (query: string): object => {
    const statement = database.prepare(query)
    return {
      reader: /^\s*(?:select|with|pragma)|returning/i.test(query),
      all: (values: never[]) => statement.all(...values),
      run: (values: never[]) => {
        const { changes, lastInsertRowid } = statement.run(...values)
        return { changes, lastInsertRowid }
      },
    }
  }
  return new Kysely<T>({
    dialect: new SqliteDialect({ database: { prepare, close: () => undefined } as never }),
  })
}

type Run = (
  database: DatabaseSyncInstance,
  work: (tx: UserTransaction, write: (text: string) => unknown) => Promise<void>,
) => Promise<void>

const LIBRARIES: Readonly<Record<string, Run>> = {
  'the driver': (database, work) =>
    inSqlite(database, () => work(fromSqlite(database), (query) => database.exec(query))),
  Kysely: async (database, work) => {
    await kyselied<object>(database)
      .transaction()
      .execute((trx) => work(fromKysely(trx), (query) => database.exec(query)))
  },
  Drizzle: async (database, work) => {
    await drizzled(database).transaction((tx) =>
      work(fromDrizzle(tx, sql), async (query) => tx.run(sql.raw(query))),
    )
  },
  'another library': (database, work) =>
    inSqlite(database, () => {
      const tx: UserTransaction = {
        query: async (query, values) =>
          database.prepare(query).all(...(values as never[])) as object[],
      }
      return work(tx, (query) => database.exec(query))
    }),
}

describe.each(Object.entries(LIBRARIES))('in a transaction of %s, on SQLite', (_name, run) => {
  it('a job is there when it commits, and never when it rolls back', async () => {
    const { pawl, database, orders, path } = await openSqliteShop()
    const before = await pawl.submit(invoice, { order: '0' }, { key: 'known' })
    await run(database, async (tx, write) => {
      await write(`insert into orders values ('1', 'a')`)
      const { id } = await pawl.submit(invoice, { order: '1' }, { tx, id: 'one' })
      expect(id).toBe('one')
      const known = await pawl.submit(invoice, { order: '0' }, { tx, key: 'known' })
      expect(known.id).toBe(before.id)
      const first = await pawl.submit(invoice, { order: '2' }, { tx, key: 'new', group: 'g' })
      const second = await pawl.submit(invoice, { order: '2' }, { tx, key: 'new', group: 'g' })
      expect(second.id).toBe(first.id)
      expect(await pawl.get('one')).toBeNull()
    })
    const rolledBack = run(database, async (tx, write) => {
      await write(`insert into orders values ('2', 'b')`)
      await pawl.submit(invoice, { order: 'other' }, { tx, id: 'two', key: 'two' })
      await pawl.submit(invoice, { order: 'other' }, { tx, id: 'two', key: 'two' })
      throw new Rollback()
    })
    await expect(rolledBack).rejects.toBeInstanceOf(Rollback)
    expect(orders()).toEqual(['1 a'])
    expect(await pawl.get('two')).toBeNull()
    // The same id at the same position, with another input: nothing is remembered of the other.
    const elsewhere = await open(`sqlite:${path}`)
    onTestFinished(() => elsewhere.close())
    await elsewhere.submit(invoice, { order: 'this' }, { id: 'two' })
    const two = await pawl.submit(invoice, { order: 'this' }, { id: 'two' })
    const worker = pawl.work([invoice])
    expect(await two.result()).toBe('this')
    expect(await pawl.handle('one').result()).toBe('1')
    expect((await pawl.list()).jobs).toHaveLength(4)
    await worker.stop()
  })
})

describe('in a transaction on SQLite', () => {
  it('a thousand jobs are there at once', async () => {
    const { pawl, database } = await openSqliteShop()
    const jobs = Array.from({ length: 1_000 }, (_, i) => ({
      input: { order: `${i}` },
      options: { key: `${i}`, group: i % 2 === 0 ? 'even' : 'odd' },
    }))
    await inSqlite(database, async () => {
      const handles = await pawl.submitMany(invoice, jobs, { tx: fromSqlite(database) })
      expect(new Set(handles.map(({ id }) => id)).size).toBe(1_000)
    })
    expect((await pawl.queue('default')).ready).toBe(1_000)
  })

  it('workers elsewhere hear of it when it is committed', async () => {
    const { pawl, database, path } = await openSqliteShop()
    const elsewhere = await open(`sqlite:${path}`)
    onTestFinished(() => elsewhere.close())
    elsewhere.work([invoice], { poll: '1h' })
    const handle = await inSqlite(database, () =>
      pawl.submit(invoice, { order: 'heard' }, { tx: fromSqlite(database) }),
    )
    expect(await handle.result()).toBe('heard')
  })

  it('a driver does not wait for long for an engine in the same thread, however busy that is', async () => {
    const { pawl, database } = await openSqliteShop()
    // Limits take transactions of several messages each.
    const limits = [{ key: 'slot', concurrency: 2 }]
    const worker = pawl.work([invoice], { concurrency: 8 })
    const jobs = Array.from({ length: 200 }, (_, i) => ({
      input: { order: `${i}` },
      options: { limits },
    }))
    const handles = await pawl.submitMany(invoice, jobs)
    let longest = 0
    const state = { isOver: false }
    const results = Promise.all(handles.map((handle) => handle.result()))
    const running = results.finally(() => (state.isOver = true))
    while (!state.isOver) {
      const begun = performance.now()
      database.exec('begin immediate')
      longest = Math.max(longest, performance.now() - begun)
      database.exec(`insert into orders (id) values ('meanwhile')`)
      database.exec('commit')
      await turn()
    }
    expect(await running).toHaveLength(200)
    // The driver itself would wait for 5 s, and give up.
    expect(longest).toBeLessThan(2_000)
    await worker.stop()
  })

  it('that was not begun, nothing is submitted', async () => {
    const { pawl, database } = await openSqliteShop()
    const submitting = pawl.submit(invoice, { order: '1' }, { tx: fromSqlite(database) })
    await expect(submitting).rejects.toThrow(/No transaction is under way/)
    expect(() => database.exec('begin')).not.toThrow()
    database.exec('rollback')
    expect((await pawl.list()).jobs).toEqual([])
  })

  it('that read before others wrote is told to run again', async () => {
    const { pawl, database } = await openSqliteShop()
    database.exec('begin')
    database.prepare('select * from orders').all()
    await pawl.submit(invoice, { order: '1' })
    const submitting = pawl.submit(invoice, { order: '2' }, { tx: fromSqlite(database) })
    await expect(submitting).rejects.toMatchObject({ code: 'TransactionFailed', kind: 'retryable' })
    database.exec('rollback')
    expect((await pawl.list()).jobs).toHaveLength(1)
  })

  it('in another file, it is refused', async () => {
    const { pawl } = await openSqliteShop()
    const other = await openSqliteShop()
    const tx = fromSqlite(other.database)
    const running = inSqlite(other.database, () => pawl.submit(invoice, { order: '1' }, { tx }))
    await expect(running).rejects.toThrow(/in another database than this store/)
    const empty = openSqlite(await freshFile())
    onTestFinished(() => empty.close())
    const missing = inSqlite(empty, () =>
      pawl.submit(invoice, { order: '1' }, { tx: fromSqlite(empty) }),
    )
    await expect(missing).rejects.toThrow(/tables of this store are not there/)
  })
})

async function ended(pawl: Pawl, id: string): Promise<JobInfo> {
  await pawl
    .handle(id)
    .result()
    .catch(() => undefined)
  return (await pawl.get(id)) as JobInfo
}

it('a connection is to a file: what SQLite calls memory would be a file of that name', () => {
  for (const path of ['', ':memory:', undefined as unknown as string]) {
    expect(() => openSqlite(path)).toThrow(/needs the name of a file/)
  }
  expect(existsSync(':memory:')).toBe(false)
})

describe('a commit that writes, on SQLite', () => {
  it('commits both, or neither', async () => {
    const { pawl, orders } = await openSqliteShop()
    const pay = job('pay', {
      input: IN,
      retry: { max: 1, delay: '1ms' },
      run: ({ input, job: { attempt }, commit }) =>
        commit(attempt).with((database: DatabaseSyncInstance) => {
          database.prepare('insert into orders values (?, ?)').run(input.order, `${attempt}`)
          if (attempt === 1) throw new Error('not today')
        }),
    })
    const worker = pawl.work([pay], { concurrency: 4 })
    const handles = await pawl.submitMany(
      pay,
      ['1', '2', '3', '4', '5'].map((order) => ({ input: { order } })),
    )
    expect(await Promise.all(handles.map((one) => one.result()))).toEqual([2, 2, 2, 2, 2])
    expect(orders()).toEqual(['1 2', '2 2', '3 2', '4 2', '5 2'])
    await worker.stop()
  })

  it('is in the file that was opened, also after the process went to another folder', async () => {
    const [folder, other] = ['pawl-here-', 'pawl-there-'].map((name) => {
      const made = mkdtempSync(join(tmpdir(), name))
      onTestFinished(() => rmSync(made, { recursive: true, force: true }))
      return made
    }) as [string, string]
    const cwd = vi.spyOn(process, 'cwd').mockReturnValue(folder)
    onTestFinished(() => cwd.mockRestore())
    const pawl = await open('sqlite:jobs.db')
    cwd.mockReturnValue(other)
    const pay = job('pay', {
      input: IN,
      retry: { max: 0 },
      run: ({ input, commit }) =>
        commit(input.order).with((database: DatabaseSyncInstance) => {
          database.exec('create table paid (n)')
        }),
    })
    const worker = pawl.work([pay])
    const handle = await pawl.submit(pay, { order: '1' })
    expect(await handle.result()).toBe('1')
    await worker.stop()
    await pawl.close()
    expect(readdirSync(other)).toEqual([])
  })

  it('waits for a file that another connection writes to, and lets everything else go on', async () => {
    const { pawl, database, orders } = await openSqliteShop()
    let tries = 0
    const pay = job('pay', {
      input: IN,
      run: ({ input, commit }) => {
        database.exec('begin immediate')
        setTimeout(() => database.exec('commit'), 200)
        tries += 1
        return commit(null).with((own: DatabaseSyncInstance) => {
          own.prepare('insert into orders values (?, ?)').run(input.order, 'paid')
        })
      },
    })
    const worker = pawl.work([pay])
    const { id } = await pawl.submit(pay, { order: '1' })
    expect(await ended(pawl, id)).toMatchObject({ state: 'SUCCEEDED', executions: [{}] })
    expect({ tries, orders: orders() }).toEqual({ tries: 1, orders: ['1 paid'] })
    await worker.stop()
  })

  it('one that takes too long is rolled back, and can do no harm afterwards', async () => {
    const { pawl, orders } = await openSqliteShop()
    const late: Promise<unknown>[] = []
    const pay = job('pay', {
      input: IN,
      retry: { max: 1, delay: '1ms' },
      run: ({ input, job: { attempt }, commit }) =>
        commit(attempt).with(
          async (database: DatabaseSyncInstance) => {
            database.prepare('insert into orders values (?, ?)').run(input.order, `${attempt}`)
            if (attempt === 2) return
            const again = new Promise((resolve) => setTimeout(resolve, 200)).then(() =>
              database.exec(`insert into orders values ('late', '')`),
            )
            late.push(again.catch((error: unknown) => String(error)))
            await again
          },
          { within: 100 },
        ),
    })
    const worker = pawl.work([pay])
    const { id } = await pawl.submit(pay, { order: '1' })
    expect(await pawl.handle(id).result()).toBe(2)
    expect(await late[0]).toMatch(/lent to the writes of one commit/)
    expect(orders()).toEqual(['1 2'])
    await worker.stop()
  })

  it('the transaction is not the function’s to end', async () => {
    const { pawl, orders } = await openSqliteShop()
    const pay = job('pay', {
      input: typed<string>(),
      retry: { max: 0 },
      quarantine: 'never',
      run: ({ input, commit }) =>
        commit(null).with((database: DatabaseSyncInstance) => {
          database.exec(`insert into orders values ('x', '')`)
          database.exec(input)
        }),
    })
    const worker = pawl.work([pay])
    const { id: rolledBack } = await pawl.submit(pay, 'rollback')
    expect((await ended(pawl, rolledBack)).state).toBe('FAILED')
    expect(orders()).toEqual([])
    const { id: committed } = await pawl.submit(pay, 'commit')
    expect((await ended(pawl, committed)).state).toBe('SUCCEEDED')
    expect(orders()).toEqual(['x '])
    await worker.stop()
  })

  it('Drizzle and Kysely write on the same database; more jobs can be submitted with it', async () => {
    const { pawl, orders } = await openSqliteShop()
    const table = sqliteTable('orders', { id: text(), note: text() })
    const byDrizzle = job('by-drizzle', {
      input: IN,
      run: ({ input, commit }) =>
        commit(null).with(async (database: DatabaseSyncInstance) => {
          await drizzled(database).insert(table).values({ id: input.order, note: 'Drizzle' })
          await pawl.submit(invoice, input, { tx: fromSqlite(database), id: 'next' })
        }),
    })
    const byKysely = job('by-kysely', {
      input: IN,
      run: ({ input, commit }) =>
        commit(null).with(async (database: DatabaseSyncInstance) => {
          const db = kyselied<{ orders: { id: string; note: string } }>(database)
          await db.insertInto('orders').values({ id: input.order, note: 'Kysely' }).execute()
        }),
    })
    const worker = pawl.work([byDrizzle, byKysely, invoice])
    const first = await pawl.submit(byDrizzle, { order: '1' })
    const second = await pawl.submit(byKysely, { order: '2' })
    await Promise.all([first.result(), second.result()])
    expect(await pawl.handle('next', invoice).result()).toBe('1')
    expect(orders()).toEqual(['1 Drizzle', '2 Kysely'])
    await worker.stop()
  })
})
