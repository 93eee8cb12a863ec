/**
 * A store behind a real PgBouncer. Two sessions for all, handed out in turn: each transaction has another one than
 * the one before it.
 */
import { randomUUID } from 'node:crypto'
import { Client } from 'pg'
import { afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { Notice, OpenOptions, Pawl } from '../../../src/index.ts'
import { fromPg, job, open, typed } from '../../../src/index.ts'
import type { NewsKind } from '../../../src/store/index.ts'
import { openPostgres, verifyDatabase } from '../../../src/store/index.ts'
import type { PgBouncer } from '../../support/pgbouncer.ts'
import { PGBOUNCER, startPgBouncer } from '../../support/pgbouncer.ts'
import type { Place } from '../../support/postgres.ts'
import { freshSchema } from '../../support/postgres.ts'
import { onRecord, plain } from '../../support/specs.ts'

const echo = job('echo', {
  input: typed<number>(),
  async run({ input, step }) {
    return step('twice', () => 2 * input)
  },
})

let place: Place
const pawls: Pawl[] = []

beforeAll(async () => void (place = await freshSchema()))
afterEach(async () => {
  for (const pawl of pawls.splice(0)) await pawl.close()
})

async function bouncer(mode: 'transaction' | 'session'): Promise<PgBouncer> {
  const started = await startPgBouncer(place.url, mode)
  onTestFinished(() => started.stop())
  return started
}

async function opened(url: string, notices: Notice[], options: OpenOptions = {}): Promise<Pawl> {
  const { schema } = await freshSchema()
  const onNotice = (notice: Notice): void => void notices.push(notice)
  const pawl = await open(url, { schema, onNotice, ...options })
  pawls.push(pawl)
  return pawl
}

describe.skipIf(PGBOUNCER === null)('behind PgBouncer in transaction mode, a store', () => {
  it('does all that it does elsewhere, and says what is different', async () => {
    const { url } = await bouncer('transaction')
    const { schema } = await freshSchema()
    const notices: Notice[] = []
    const [here, there] = [
      await opened(url, notices, { schema }),
      await opened(url, notices, { schema }),
    ]
    there.work([echo], { concurrency: 8 })
    const handles = await here.submitMany(
      echo,
      Array.from({ length: 300 }, (_, i) => ({ input: i })),
    )
    expect(await Promise.all(handles.map((handle) => handle.result()))).toEqual(
      Array.from({ length: 300 }, (_, i) => 2 * i),
    )
    expect(notices.map(({ kind }) => kind)).toContain('pooler')
    expect(notices.map(({ kind }) => kind)).toContain('no-presence')
    expect(await here.health()).toMatchObject({ isWell: true })
    await here.compact()
    expect((await verifyDatabase(url, { schema })).problems).toEqual([])
    for (const pawl of pawls.splice(0)) await pawl.close()
    expect((await verifyDatabase(place.url, { schema })).problems).toEqual([])
  })

  it('leaves the sessions of others as they are', async () => {
    const { url } = await bouncer('transaction')
    const pawl = await opened(url, [])
    pawl.work([echo])
    await (await pawl.submit(echo, 1)).result()
    for (let i = 0; i < 4; i++) {
      const client = new Client({ connectionString: url })
      await client.connect()
      const { rows } = await client.query(
        `select current_setting('search_path') as path, current_setting('enable_seqscan') as scan`,
      )
      await client.end()
      expect(rows).toEqual([{ path: '"$user", public', scan: 'on' }])
    }
  })

  it('is heard by a process that is connected directly, and hears it', async () => {
    const { url } = await bouncer('transaction')
    const { schema } = await freshSchema()
    const [pooled, direct] = [
      await opened(url, [], { schema }),
      await opened(place.url, [], { schema }),
    ]
    const other = job('other', { input: typed<number>(), run: ({ input }) => input })
    pooled.work([other])
    direct.work([echo])
    const [one, two] = [await pooled.submit(echo, 4), await direct.submit(other, 5)]
    expect([await one.result(), await two.result()]).toEqual([8, 5])
  })

  it('tells others at once what it wrote, and finds by polls what they wrote', async () => {
    const { url } = await bouncer('transaction')
    const { schema } = await freshSchema()
    for (const [writer, hearer] of [
      [url, place.url],
      [place.url, url],
    ] as const) {
      const [writes, hears] = [
        await openPostgres({ url: writer, schema, presence: false }),
        await openPostgres({ url: hearer, schema, presence: false }),
      ]
      const heard = new Set<NewsKind>()
      hears.onNews((news) => news.forEach((kind) => heard.add(kind)))
      writes.onNews(() => undefined)
      // All of them come once, when it begins.
      await expect.poll(() => heard.has('ends')).toBe(true)
      heard.clear()
      const id = randomUUID()
      await writes.execute([
        { type: 'SubmitJob', job: id, spec: plain() },
        { type: 'CancelJob', job: id, ...onRecord },
      ])
      // Not what time brings, which is work and upkeep.
      await expect.poll(() => heard.has('ends'), { timeout: 2_000 }).toBe(true)
      await writes.close()
      await hears.close()
    }
  })

  it('takes jobs in the transaction of the user, and writes with a commit', async () => {
    const { url } = await bouncer('transaction')
    const pawl = await opened(url, [])
    const client = new Client({ connectionString: url })
    await client.connect()
    onTestFinished(() => client.end())
    await client.query('begin')
    const table = `orders_${Math.random().toString(36).slice(2)}`
    await client.query(`create table public.${table} (id int)`)
    const writer = job('writer', {
      run({ commit }) {
        const add = `insert into public.${table} values (1)`
        return commit('done').with((own) => (own as Client).query(add))
      },
    })
    const handle = await pawl.submit(writer, null as never, { tx: fromPg(client) })
    await client.query('commit')
    pawl.work([writer])
    expect(await handle.result()).toBe('done')
    expect((await client.query(`select id from public.${table}`)).rows).toEqual([{ id: 1 }])
    await client.query(`drop table public.${table}`)
  })
})

describe.skipIf(PGBOUNCER === null)('behind PgBouncer in session mode, a store', () => {
  it('listens and is present, if it is told so', async () => {
    const bouncing = await startPgBouncer(place.url, 'session', 20)
    onTestFinished(() => bouncing.stop())
    const notices: Notice[] = []
    const connection = { pooler: 'session' } as const
    const pawl = await opened(bouncing.url, notices, { connection })
    pawl.work([echo])
    expect(await (await pawl.submit(echo, 2)).result()).toBe(4)
    expect(notices).toEqual([])
  })
})
