/**
 * Erased jobs on databases: what the tables let be changed, stores that were copied, several processes, and
 * users with few rights.
 */
import { randomUUID } from 'node:crypto'
import { Client } from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Command, JobSpec } from '../../src/kernel/index.ts'
import { copyStore, fromPg, openDirectory } from '../../src/store/index.ts'
import type { Answer, Claimed, Store } from '../../src/store/index.ts'
import { ConnectionPool } from '../../src/store/sql/connection-pool.ts'
import type { Connection } from '../../src/store/sql/connection.ts'
import { openPostgres } from '../../src/store/sql/open-sql.ts'
import { postgresDialect } from '../../src/store/sql/postgres/dialect.ts'
import type { SqlStore } from '../../src/store/sql/sql-store.ts'
import { compactTables } from '../../src/store/sql/upkeep/compaction.ts'
import { repairSql } from '../../src/store/sql/verify/repair-database.ts'
import { verifySql } from '../../src/store/sql/verify/verify-database.ts'
import type { Bench } from '../conformance/bench.ts'
import { CHANNEL, claim, commit, reportOf, TestClock } from '../conformance/bench.ts'
import { endPipeline, endPlain, SECRET_TEXT } from '../conformance/secret-jobs.ts'
import { temporaryFolder } from '../support/engines.ts'
import { freshSchema } from '../support/postgres.ts'
import { onRecord, pipeline, plain, stage } from '../support/specs.ts'
import type { TestDatabase } from './verify/test-databases.ts'
import { flip } from './verify/row-damages.ts'
import { DATABASES } from './verify/test-databases.ts'

const erase = (job: string): Command => ({ type: 'EraseJob', job, ...onRecord })

function benchOf(store: Store, clock: TestClock): Bench {
  const send = async (command: Command): Promise<Answer> => {
    const [answer] = await store.execute([command])
    return answer as Answer
  }
  return { store, clock, send }
}

async function fresh(name: string): Promise<TestDatabase> {
  const place = await (DATABASES[name] as (typeof DATABASES)[string])()
  onTestFinished(() => place.close())
  return place
}

async function opened(place: TestDatabase, clock: TestClock): Promise<SqlStore> {
  const store = await place.open(clock)
  onTestFinished(() => store.close())
  return store
}

/** Runs one statement with all guards on. */
async function run({ dialect }: TestDatabase, sql: string): Promise<readonly unknown[]> {
  const connection = await dialect.connect()
  try {
    const [answered] = await connection.run([{ sql, values: [] }])
    return answered?.rows ?? []
  } finally {
    await connection.close()
  }
}

/** Everything in the tables that hold records, as bytes. */
async function dump(place: TestDatabase): Promise<string> {
  const found: string[] = []
  for (const table of ['events', 'work', 'baselines']) {
    for (const row of await run(place, `select record from ${table} where record is not null`)) {
      found.push(Buffer.from((row as [Uint8Array])[0]).toString('latin1'))
    }
  }
  return found.join('\n')
}

describe.each(Object.keys(DATABASES))('on %s', (name) => {
  it('only the records of events before a JobErased of their job can be changed', async () => {
    const [place, clock] = [await fresh(name), new TestClock()]
    const { send } = benchOf(await opened(place, clock), clock)
    for (const job of ['a', 'b']) {
      await send({ type: 'SubmitJob', job, spec: plain() })
      await send({ type: 'CancelJob', job, ...onRecord })
    }
    await send(erase('a'))
    const change = (what: string): Promise<unknown> => run(place, `update events set ${what}`)
    await expect(change(`record = record where job = 'b'`)).rejects.toThrow(/only ever appended/)
    await expect(change(`at = at + 1 where job = 'a'`)).rejects.toThrow(/only ever appended/)
    await expect(change(`type = 'x' where job = 'a'`)).rejects.toThrow(/only ever appended/)
    const itself = `record = record where type = 'JobErased'`
    await expect(change(itself)).rejects.toThrow(/only ever appended/)
    await expect(run(place, `delete from events where job = 'a'`)).rejects.toThrow(
      /only ever appended/,
    )
    await change(`record = record where job = 'a' and type <> 'JobErased'`)
    expect((await verifySql(place.dialect)).problems).toEqual([])
  })

  it('a job that was copied without its history is erased in what the copy began with', async () => {
    const clock = new TestClock()
    const folder = await temporaryFolder()
    const source = await openDirectory(folder, { clock, historyMs: 0 })
    await endPlain(benchOf(source, clock))
    await endPipeline(benchOf(source, clock))
    await source.compact()
    await source.close()
    const place = await fresh(name)
    const { location, schema } = place
    await copyStore(folder, location, schema === undefined ? {} : { toSchema: schema })
    const bench = benchOf(await opened(place, clock), clock)
    expect(await dump(place)).toContain(SECRET_TEXT)
    for (const job of ['a', 'p']) expect((await bench.send(erase(job))).verdict).toBe('committed')
    await bench.send({ type: 'CancelJob', job: 'a/0/0/1', ...onRecord })
    await bench.send(erase('a/0/0/1'))
    expect(await dump(place)).not.toContain(SECRET_TEXT)
    expect((await verifySql(place.dialect)).problems).toEqual([])
  })

  it('a job whose events a repair gave up is erased in these events, too, damaged ones included', async () => {
    const [place, clock] = [await fresh(name), new TestClock()]
    const source = benchOf(await opened(place, clock), clock)
    await endPlain(source)
    await source.store.close()
    // Its checksum is damaged: what it says can be read all the same.
    await place.plant((plant) => {
      return flip(plant, 'events', `job = 'a' and type = 'TaskFailed'`, 0, 2)
    })
    const { givenUp } = await repairSql(place.dialect, { apply: true, giveUp: ['a'] })
    expect(givenUp).toMatchObject([{ job: 'a', isKept: true }])
    const { store, send } = benchOf(await opened(place, clock), clock)
    expect(await store.query({ kind: 'history', job: 'a', limit: 9 })).toHaveLength(1)
    expect((await send(erase('a'))).verdict).toBe('committed')
    await send({ type: 'CancelJob', job: 'a/0/0/1', ...onRecord })
    await send(erase('a/0/0/1'))
    expect(await dump(place)).not.toContain(SECRET_TEXT)
    expect((await verifySql(place.dialect)).problems).toEqual([])
  })

  it('another process has nothing of it in memory that it would show', async () => {
    const [place, clock] = [await fresh(name), new TestClock()]
    const [here, there] = [await opened(place, clock), await opened(place, clock)]
    await endPipeline(benchOf(here, clock))
    const late = { job: 'p', stage: 0, segment: 0, lease: 1, worker: 'w' }
    const report = { ...late, name: 'late', value: '1', definitionVersion: 1 }
    // It has loaded the job, with what was submitted.
    await there.execute([{ type: 'RecordStep', ...report }])
    await here.execute([erase('p')])
    for (const store of [here, there]) {
      const said = JSON.stringify([
        await store.query({ kind: 'job', job: 'p' }),
        await store.query({ kind: 'history', job: 'p', limit: 99 }),
        await store.query({ kind: 'input', job: 'p' }),
      ])
      expect(said).not.toContain(SECRET_TEXT)
    }
  })

  it('a submit of its id is answered with it also by a process that has not read it, whatever the submit says', async () => {
    const [place, clock] = [await fresh(name), new TestClock()]
    const { send } = benchOf(await opened(place, clock), clock)
    await send({ type: 'SubmitJob', job: 'a', spec: plain() })
    await send({ type: 'CancelJob', job: 'a', ...onRecord })
    await send(erase('a'))
    const there = await opened(place, clock)
    const invalid = { ...plain(), priority: 'high' } as unknown as JobSpec
    const answers = await there.execute([
      { type: 'SubmitJob', job: 'new', spec: plain() },
      { type: 'SubmitJob', job: 'a', spec: invalid },
      { type: 'SubmitJob', job: 'b', spec: invalid },
      { type: 'SubmitJob', job: 'new', spec: plain() },
    ])
    const said = answers.map(({ verdict, rejection }) => rejection?.code ?? verdict)
    expect(said).toEqual(['committed', 'committed', 'InvalidSpec', 'committed'])
  })

  it('late reports about its tasks are noted around it, and the tables are sound', async () => {
    const [place, clock] = [await fresh(name), new TestClock()]
    const [here, there] = [await opened(place, clock), await opened(place, clock)]
    const { send } = benchOf(here, clock)
    const spec = pipeline([stage('one', { each: 'input' })], { input: JSON.stringify([1, 2, 3]) })
    for (let round = 0; round < 5; round++) {
      const job = `p${round}`
      await send({ type: 'SubmitJob', job, spec })
      await send({ type: 'OpenStage', job, stage: 0 })
      const request = { request: round + 1, max: 3, channels: [{ ...CHANNEL, stage: 'one' }] }
      const leases = await here.claim(claim(request))
      for (const lease of leases) await send(commit(lease))
      const step = { name: 's', value: '"late"', definitionVersion: 1 }
      const late: Command[] = []
      for (const lease of leases) late.push({ type: 'RecordStep', ...reportOf(lease), ...step })
      await Promise.all([
        here.execute([erase(job)]),
        ...late.map((command) => there.execute([command])),
      ])
      const view = await here.query({ kind: 'job', job })
      expect(view?.job.erased).not.toBeNull()
      const tasks = view?.stages.flatMap((one) => one.tasks) ?? []
      expect(tasks.map(({ leases: all }) => all[0]?.refused)).toEqual([true, true, true])
    }
    expect((await verifySql(place.dialect)).problems).toEqual([])
  })
})

it('on PostgreSQL, a late report that is being noted while a job is erased is not lost', async () => {
  const [at, clock] = [await freshSchema(), new TestClock()]
  const [here, there] = [await openPostgres({ ...at, clock }), await openPostgres({ ...at, clock })]
  for (const store of [here, there]) onTestFinished(() => store.close())
  const { send } = benchOf(here, clock)
  const spec = pipeline([stage('one', { each: 'input' })], { input: '[1,2,3]' })
  await send({ type: 'SubmitJob', job: 'p', spec })
  await send({ type: 'OpenStage', job: 'p', stage: 0 })
  const leases = await here.claim(claim({ max: 3, channels: [{ ...CHANNEL, stage: 'one' }] }))
  for (const lease of leases) await send(commit(lease))
  const client = new Client(at.url)
  await client.connect()
  onTestFinished(() => client.end())
  const waiting = async (): Promise<number> => {
    const sql = `select count(*)::int4 as count from pg_stat_activity a
      where a.wait_event_type = 'Lock' and exists (
        select from pg_locks l where l.pid = a.pid and l.relation = '"${at.schema}".work'::regclass
      )`
    const { rows } = await client.query<{ count: number }>(sql)
    return rows[0]?.count ?? 0
  }
  await client.query('begin')
  const second = `job = 'p' and stage = 0 and segment = 1`
  await client.query(`select 1 from "${at.schema}".work where ${second} for update`)
  const erased = here.execute([erase('p')])
  // It has come to the second segment, and not to the third.
  await expect.poll(waiting).toBe(1)
  const third = reportOf(leases.find(({ segment }) => segment === 2) as Claimed)
  const step = { name: 's', value: '"late"', definitionVersion: 1 }
  const [noted] = await there.execute([{ type: 'RecordStep', ...third, ...step }])
  expect(noted?.verdict).toBe('cancelled')
  await client.query('commit')
  expect((await erased)[0]?.verdict).toBe('committed')
  const view = await here.query({ kind: 'job', job: 'p' })
  expect(view?.stages[0]?.tasks[2]?.leases[0]?.refused).toBe(true)
  expect((await verifySql(postgresDialect(at))).problems).toEqual([])
})

it('a user of PostgreSQL who may not write tables anew is told that nothing was compacted', async () => {
  const at = await freshSchema()
  const [role, password] = [`r_${randomUUID().replaceAll('-', '')}`, randomUUID()]
  const owner = await openPostgres(at)
  onTestFinished(() => owner.close())
  const place = new URL(at.url)
  place.username = role
  place.password = password
  const client = new Client(at.url)
  await client.connect()
  onTestFinished(() => client.end())
  await client.query(`create role ${role} login password '${password}'`)
  await client.query(`grant usage on schema ${at.schema} to ${role}`)
  await client.query(`grant select on all tables in schema ${at.schema} to ${role}`)
  const guest = await openPostgres({ url: place.href, schema: at.schema, presence: false })
  onTestFinished(() => guest.close())
  await expect(guest.compact()).rejects.toMatchObject({ code: 'CompactionIncomplete' })
  await owner.compact()
})

it('compacting PostgreSQL waits for transactions that may read old rows, and says which do not end', async () => {
  const at = await freshSchema()
  const store = await openPostgres(at)
  onTestFinished(() => store.close())
  const client = new Client({ connectionString: at.url, application_name: 'a report' })
  await client.connect()
  onTestFinished(() => client.end())
  await client.query('begin isolation level repeatable read')
  await client.query('select 1')
  await store.execute([{ type: 'SubmitJob', job: 'a', spec: plain() }])
  const dialect = postgresDialect(at)
  const pool = new ConnectionPool<Connection>(null, {
    ...dialect.statements,
    connect: () => dialect.connect(),
    size: 1,
    begin: null,
  })
  onTestFinished(() => pool.close())
  await expect(compactTables(pool, dialect, 100)).rejects.toMatchObject({
    code: 'CompactionIncomplete',
    message: expect.stringMatching(/process \d+ \(a report\) since .*\. End them\./) as string,
  })
  let isOver = false
  const compacted = store.compact().then(() => (isOver = true))
  await new Promise((resolve) => setTimeout(resolve, 1_000))
  expect(isOver).toBe(false)
  await client.query('commit')
  await compacted
})

it('is refused in a transaction of the user, which is as it was', async () => {
  const [place, clock] = [await freshSchema(), new TestClock()]
  const store = await openPostgres({ ...place, clock })
  onTestFinished(() => store.close())
  const { send } = benchOf(store, clock)
  await send({ type: 'SubmitJob', job: 'a', spec: plain() })
  await send({ type: 'CancelJob', job: 'a', ...onRecord })
  const client = new Client(place.url)
  await client.connect()
  onTestFinished(() => client.end())
  await client.query('begin')
  const submitted: Command = { type: 'SubmitJob', job: 'b', spec: plain() }
  await expect(store.executeIn(fromPg(client), [submitted, erase('a')])).rejects.toMatchObject({
    code: 'BadRequest',
    message: expect.stringContaining('send it by `execute`') as string,
  })
  await store.executeIn(fromPg(client), [{ ...submitted, job: 'c' }])
  await client.query('commit')
  expect(await store.query({ kind: 'outcome', job: 'b' })).toBeNull()
  expect(await store.query({ kind: 'outcome', job: 'c' })).not.toBeNull()
  expect((await store.query({ kind: 'job', job: 'a' }))?.job.erased).toBeNull()
})
