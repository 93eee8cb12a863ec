/**
 * What a store on PostgreSQL takes of its server, and what it waits for there, as the guide says it.
 */
import { readFile } from 'node:fs/promises'
import { randomUUID } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Connection, Value } from '../../../src/store/sql/connection.ts'
import type { SqlStore } from '../../../src/store/sql/sql-store.ts'
import { openConnection } from '../../../src/store/sql/postgres/connection.ts'
import { openPostgres } from '../../../src/store/sql/open-sql.ts'
import { sharedPostgres } from '../../support/postgres.ts'
import { plain } from '../../support/specs.ts'

const GUIDE = new URL('../../../docs/guide/14-databases.md', import.meta.url)

/** A database of its own, and a connection to another one of the same server. */
let name: string
let elsewhere: Connection
let url: string
let store: SqlStore

beforeEach(async () => {
  const shared = await sharedPostgres()
  name = `d_${randomUUID().replaceAll('-', '')}`
  elsewhere = await openConnection({ url: shared })
  await elsewhere.run([{ sql: `create database ${name}`, values: [] }])
  const own = new URL(shared)
  own.pathname = `/${name}`
  url = own.href
  store = await openPostgres({ url })
})

afterEach(async () => {
  await store.close()
  await elsewhere.run([{ sql: `drop database ${name} with (force)`, values: [] }])
  await elsewhere.close()
})

async function valueOf(sql: string): Promise<Value | undefined> {
  const [answered] = await elsewhere.run([{ sql, values: [] }])
  return answered?.rows[0]?.[0]
}

function submit(job: string) {
  return { type: 'SubmitJob', job, spec: plain({ type: 'red' }, { queue: 'q' }) } as const
}

const nothing = (): void => undefined

describe('a process', () => {
  it('has five connections, and four more for commits with writes, however many it has of these', async () => {
    const MANY = 8
    const count = `select count(*) from pg_stat_activity where datname = '${name}'`
    const jobs = Array.from({ length: MANY }, (_, i) => `j${i}`)
    await store.execute(jobs.map(submit))
    const channels = [{ queue: 'q', type: 'red', stage: null }]
    await store.claim({ worker: 'w', request: 1, channels, max: MANY, started: true })
    store.onNews(nothing)
    const ask = () => Promise.all(jobs.map((job) => store.query({ kind: 'job', job })))
    await ask()
    await expect.poll(() => valueOf(count), { timeout: 10_000 }).toBe(5)
    let letGo = nothing
    const gate = new Promise<void>((resolve) => (letGo = resolve))
    let inside = 0
    const run = (): Promise<void> => {
      inside += 1
      return gate
    }
    const commits = jobs.map((job) => {
      const at = { job, stage: 0, segment: 0, lease: 1, worker: 'w' }
      const command = { type: 'CommitExecution', ...at, output: '1', effects: [] } as const
      return store.executeWith(command, { run, withinMs: 60_000 })
    })
    await expect.poll(() => inside, { timeout: 10_000 }).toBe(4)
    await ask()
    expect(await valueOf(count)).toBe(9)
    letGo()
    expect((await Promise.all(commits)).map(({ verdict }) => verdict)).toEqual(
      jobs.map(() => 'committed'),
    )
  })
})

describe('a watch', () => {
  it('waits at a gap for a transaction that writes in another database, and not for one that reads', async () => {
    const begin = (sql: string) => elsewhere.run([sql, 'select pg_current_xact_id()'].map(asked))
    await begin('begin')
    const reader = await openConnection({ url })
    await reader.run(
      ['begin isolation level repeatable read', 'select count(*) from pawl.work'].map(asked),
    )
    await store.execute([submit('a')])
    const owner = await openConnection({ url })
    await owner.run([asked(`select nextval('pawl.positions')`)])
    await store.execute([submit('b')])
    const watched = store.watch(0)[Symbol.asyncIterator]()
    expect((await watched.next()).value).toMatchObject({ entry: { job: 'a' } })
    let isShown = false
    const next = watched.next().finally(() => (isShown = true))
    // Longer than from one look to the next.
    await new Promise((resolve) => setTimeout(resolve, 1_200))
    expect(isShown).toBe(false)
    await elsewhere.run([asked('rollback')])
    expect((await next).value).toMatchObject({ entry: { job: 'b' } })
    await watched.return?.()
    await Promise.all([reader.close(), owner.close()])
  })
})

describe('the guide', () => {
  it('names the version that the tests run on', async () => {
    const version = String(await valueOf('show server_version')).split('.')[0]
    const text = await readFile(GUIDE, 'utf8')
    expect(text).toContain(`PostgreSQL 13 or newer is needed; the tests run on ${version}.`)
  })
})

function asked(sql: string) {
  return { sql, values: [] }
}
