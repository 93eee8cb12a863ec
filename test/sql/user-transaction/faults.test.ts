/**
 * What was written with a commit is there once, whatever is cut, and not at all where authority was
 * lost: on the stores themselves, so that nothing else is under way.
 */
import type { DatabaseSyncInstance } from '@photostructure/sqlite'
import type { ClientBase } from 'pg'
import { Pool } from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Claimed, Writes } from '../../../src/store/index.ts'
import { openPostgres, openSqliteStore } from '../../../src/store/sql/open-sql.ts'
import type { SqlStore } from '../../../src/store/sql/sql-store.ts'
import { claim, commit } from '../../conformance/bench.ts'
import { freshSchema } from '../../support/postgres.ts'
import { plain } from '../../support/specs.ts'
import { freshFile } from '../../support/sqlite.ts'
import type { Side } from './cutting-proxy.ts'
import { CuttingProxy } from './cutting-proxy.ts'

let requests = 0

async function claimed(store: SqlStore, job: string): Promise<Claimed> {
  await store.execute([{ type: 'SubmitJob', job, spec: plain() }])
  const [leased] = await store.claim(claim({ request: ++requests }))
  return leased as Claimed
}

async function entriesOf(store: SqlStore, job: string): Promise<string[]> {
  const history = await store.query({ kind: 'history', job, limit: 100 })
  return history.map(({ entry }) => entry.type)
}

describe('a connection that is cut while a commit writes', () => {
  it.each<Side>(['question', 'answer'])(
    'at any %s: the commit and the write are there once',
    async (side) => {
      const { url: direct, schema } = await freshSchema()
      const { proxy, url } = await CuttingProxy.before(direct)
      const store = await openPostgres({ url, schema })
      const pool = new Pool({ connectionString: direct })
      onTestFinished(async () => {
        await store.close()
        await pool.end()
        proxy.close()
      })
      await pool.query(`create table ${schema}.orders (id text)`)
      let isOver = false
      for (let nth = 1; !isOver; nth++) {
        const job = `job ${nth}`
        const leased = await claimed(store, job)
        let runs = 0
        const writes: Writes = {
          withinMs: 5_000,
          run: async (client: ClientBase) => {
            runs += 1
            await client.query(`insert into ${schema}.orders values ($1)`, [job])
          },
        }
        const before = proxy.cuts
        proxy.cutAt(side, nth)
        const { verdict } = await store.executeWith(commit(leased), writes)
        isOver = proxy.cuts === before
        expect({ nth, verdict }).toEqual({ nth, verdict: 'committed' })
        const { rows } = await pool.query(`select id from ${schema}.orders where id = $1`, [job])
        expect({ nth, rows }).toEqual({ nth, rows: [{ id: job }] })
        expect(await entriesOf(store, job)).toEqual([
          'JobSubmitted',
          'LeaseGranted',
          'ExecutionCommitted',
        ])
        expect(runs).toBeLessThanOrEqual(2)
        // Sent again, it is answered the same, and nothing is written.
        expect((await store.executeWith(commit(leased), writes)).verdict).toBe('committed')
        expect(runs).toBeLessThanOrEqual(2)
      }
      // It was cut while it began, while it saved, while it wrote and while it committed.
      expect(proxy.cuts).toBeGreaterThanOrEqual(4)
    },
  )
})

const STORES: Readonly<Record<string, () => Promise<SqlStore>>> = {
  PostgreSQL: async () => openPostgres(await freshSchema()),
  SQLite: async () => openSqliteStore({ path: await freshFile() }),
}

describe.each(Object.entries(STORES))('on %s, a commit that writes', (_name, openStore) => {
  it('is refused on record, and writes nothing, once the job was cancelled', async () => {
    const store = await openStore()
    onTestFinished(() => store.close())
    const leased = await claimed(store, 'a')
    await store.execute([{ type: 'CancelJob', job: 'a', by: 'me', reason: 'so' }])
    let runs = 0
    const run = (): void => void (runs += 1)
    const answer = await store.executeWith(commit(leased), { run, withinMs: 1_000 })
    expect(answer.verdict).toBe('cancelled')
    expect(runs).toBe(0)
    const entries = await entriesOf(store, 'a')
    expect(entries).toEqual(['JobSubmitted', 'LeaseGranted', 'JobCancelled', 'ReportRefused'])
  })

  it('that is sent again while the first is under way writes once', async () => {
    const store = await openStore()
    onTestFinished(() => store.close())
    const leased = await claimed(store, 'a')
    let runs = 0
    const run = async (): Promise<void> => {
      runs += 1
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    const both = [1, 2].map(() => store.executeWith(commit(leased), { run, withinMs: 5_000 }))
    const answers = await Promise.all(both)
    expect(answers.map(({ verdict }) => verdict)).toEqual(['committed', 'committed'])
    expect(runs).toBe(1)
  })

  it('a database that is given by it is of no use afterwards', async () => {
    const store = await openStore()
    onTestFinished(() => store.close())
    const leased = await claimed(store, 'a')
    let kept: ClientBase | DatabaseSyncInstance | null = null
    const run = (client: never): void => {
      kept = client
    }
    await store.executeWith(commit(leased), { run, withinMs: 1_000 })
    expect(kept).not.toBeNull()
    expect(() => (kept as unknown as { query: unknown }).query).toThrow(/and that is over/)
  })
})
