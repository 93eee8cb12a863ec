/**
 * Tables that a newer version brings up to date while stores of an older one are open; and a version
 * that cannot, because another process has the file.
 */
import { Client } from 'pg'
import { describe, expect, it } from 'vitest'
import { fromPg } from '../../../src/store/sql/user-transaction/adapters.ts'
import { openConnection } from '../../../src/store/sql/sqlite/connection.ts'
import { sqliteDialect } from '../../../src/store/sql/sqlite/dialect.ts'
import type { Connection } from '../../../src/store/sql/connection.ts'
import type { Dialect } from '../../../src/store/sql/dialect.ts'
import { SqlFailed } from '../../../src/store/sql/failures.ts'
import { openSql } from '../../../src/store/sql/open-sql.ts'
import type { SqlStore } from '../../../src/store/sql/sql-store.ts'
import { verifySql } from '../../../src/store/sql/verify/verify-database.ts'
import { freshFile } from '../../support/sqlite.ts'
import { plain } from '../../support/specs.ts'
import type { Address } from './addresses.ts'
import { dialectOf, openAt } from './addresses.ts'
import { DATABASE_NAMES, freshAddress } from './stores.ts'

function submit(job: string) {
  return { type: 'SubmitJob', job, spec: plain({ type: 'red' }, { queue: 'q' }) } as const
}

/** What a later version may do: the one before goes on working until it has noticed. */
const STEP = [`alter table work add column later integer`, `create index later on work (later)`]

function newer(address: Address): Dialect {
  const dialect = dialectOf(address)
  return { ...dialect, migrations: [...dialect.migrations, STEP] }
}

const codeOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => null,
    (error: { code: unknown }) => error.code,
  )

const claim = (store: SqlStore, request: number) =>
  store.claim({
    worker: 'w',
    request,
    channels: [{ queue: 'q', type: 'red', stage: null }],
    max: 1,
    started: true,
  })

describe.each(DATABASE_NAMES)('tables on %s that are brought up to date', (name) => {
  it('are refused by a store that was open, and nothing is half done', async () => {
    const address = await freshAddress(name)
    const old = await openAt(address)
    await old.execute([submit('a')])
    const young = await openSql(newer(address))
    const done = ['a']
    await expect
      .poll(
        () => {
          const job = `j${done.length}`
          return codeOf(old.execute([submit(job)]).then(() => done.push(job)))
        },
        { timeout: 30_000 },
      )
      .toBe('NewerTables')
    for (const work of [
      () => old.execute([submit('never')]),
      () => claim(old, 1),
      () => old.query({ kind: 'job', job: 'a' }),
      () => old.query({ kind: 'outcome', job: 'a' }),
    ]) {
      expect(await codeOf(work())).toBe('NewerTables')
    }
    const { jobs } = await young.query({ kind: 'jobs', limit: 1_000 })
    expect(jobs.map(({ id }) => id).toSorted()).toEqual(done.toSorted())
    expect(await claim(young, 1)).toHaveLength(1)
    await old.close()
    await young.close()
    expect((await verifySql(newer(address))).problems).toEqual([])
  })

  it('are so once, however many open them at the same time, and keep what they hold', async () => {
    const address = await freshAddress(name)
    const old = await openAt(address)
    await old.execute([submit('a')])
    await old.close()
    // Verify changes nothing, so it does not take the missing step.
    await expect(verifySql(newer(address))).rejects.toThrow(
      /of version 1, and this version of Pawl needs version 2\. Run migrate/,
    )
    const stores = await Promise.all(Array.from({ length: 8 }, () => openSql(newer(address))))
    expect(stores.map(({ id }) => id)).toEqual(stores.map(() => old.id))
    for (const [i, store] of stores.entries()) {
      expect(await store.query({ kind: 'job', job: 'a' })).not.toBeNull()
      await store.execute([submit(`j${i}`)])
    }
    await Promise.all(stores.map((store) => store.close()))
    expect((await verifySql(newer(address))).problems).toEqual([])
  })

  it('are refused at once on a connection that is new', async () => {
    const address = await freshAddress(name)
    const connections: Connection[] = []
    const old = await openAt(address, {}, (inner) => {
      connections.push(inner)
      return inner
    })
    await old.execute([submit('a')])
    await (await openSql(newer(address))).close()
    await Promise.all(connections.map((one) => one.close()))
    expect(await codeOf(old.execute([submit('b')]))).toBe('NewerTables')
    await old.close()
  })

  it('are refused to a commit with writes, which are not run', async () => {
    const address = await freshAddress(name)
    const old = await openAt(address)
    await old.execute([submit('a')])
    expect(await claim(old, 1)).toHaveLength(1)
    await (await openSql(newer(address))).close()
    const at = { job: 'a', stage: 0, segment: 0, lease: 1, worker: 'w' }
    const command = { type: 'CommitExecution', ...at, output: '1', effects: [] } as const
    let hasRun = false
    const run = async (): Promise<void> => void (hasRun = true)
    expect(await codeOf(old.executeWith(command, { run, withinMs: 1_000 }))).toBe('NewerTables')
    expect(hasRun).toBe(false)
    await old.close()
  })
})

it('tables that are brought up to date are refused in a transaction of the user', async () => {
  const address = await freshAddress('PostgreSQL')
  const old = await openAt(address)
  await (await openSql(newer(address))).close()
  const client = new Client('url' in address ? address.url : '')
  await client.connect()
  await client.query('begin')
  expect(await codeOf(old.executeIn(fromPg(client), [submit('a')]))).toBe('NewerTables')
  await client.query('rollback')
  await client.end()
  await old.close()
})

/** Calls back after each conflict that a connection of the store has met. */
function impatient(path: string, mostAwayMs: number, onConflict: () => void): Dialect {
  const connect = async (): Promise<Connection> => {
    const inner = await openConnection({ path, busyMs: 10 })
    return {
      close: () => inner.close(),
      run: (asks) =>
        inner.run(asks).catch((error: unknown) => {
          if (error instanceof SqlFailed && error.reason === 'conflict') onConflict()
          throw error
        }),
    }
  }
  return { ...sqliteDialect({ path }), connect, mostAwayMs }
}

async function holding(path: string): Promise<Connection> {
  const other = await openConnection({ path })
  await other.run([{ sql: 'begin exclusive', values: [] }])
  return other
}

describe('a SQLite file that another process has locked while its tables are to be made', () => {
  it('is waited for', async () => {
    const path = await freshFile()
    const other = await holding(path)
    let conflicts = 0
    const store = await openSql(
      impatient(path, 30_000, () => {
        if (++conflicts === 3) void other.run([{ sql: 'rollback', values: [] }])
      }),
    )
    expect(conflicts).toBeGreaterThanOrEqual(3)
    await store.close()
    await other.close()
  })

  it('is not waited for without end, and the error says what is so', async () => {
    const path = await freshFile()
    const other = await holding(path)
    const opening = openSql(impatient(path, 100, () => undefined))
    await expect(opening).rejects.toMatchObject({ reason: 'conflict', kind: 'retryable' })
    await expect(opening).rejects.toThrow(/try again later/)
    await other.close()
  })
})
