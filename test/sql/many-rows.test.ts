/**
 * Changes of many rows on PostgreSQL: what they have in common is sent once, and rows are looked for where
 * they were last.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Command, TaskPolicy } from '../../src/kernel/index.ts'
import { openConnection } from '../../src/store/sql/postgres/connection.ts'
import { MANY } from '../../src/store/sql/postgres/many-rows.ts'
import { openPostgres } from '../../src/store/sql/open-sql.ts'
import { postgresDialect } from '../../src/store/sql/postgres/dialect.ts'
import { POSTGRES } from '../../src/store/sql/postgres/statements.ts'
import { rowLocations } from '../../src/store/sql/postgres/wire-values.ts'
import type { Claimed, Store } from '../../src/store/index.ts'
import type { Connection, Value } from '../../src/store/sql/connection.ts'
import { verifySql } from '../../src/store/sql/verify/verify-database.ts'
import type { Place } from '../support/postgres.ts'
import { freshSchema } from '../support/postgres.ts'
import { plain } from '../support/specs.ts'
import { ask, reasonOf } from './databases.ts'

const JOBS = 3 * MANY
/** What a row says that is leased, behind its version. */
const THEN: Value[] = ['LEASED', new Uint8Array(8), 0, 1, false, 1, null, null]
const CHANNELS = [{ queue: 'default', type: 'test', stage: null }]

let place: Place
let connection: Connection
let store: Store

/** Notes with each update of `work` how its rows were found. */
const SEE = [
  'create table seen (how text)',
  `create function see() returns trigger language plpgsql as $$ begin
    insert into seen values (case
      when current_query() not like '%update work w set last_position%' then 'otherwise'
      when current_query() like '%w.ctid = given.location%' then 'where it is'
      when current_query() like '%given.version%' then 'by its job, alone'
      else 'by its job' end);
    return new;
  end $$`,
  'create trigger see after update on work for each row execute function see()',
]

beforeEach(async () => {
  place = await freshSchema()
  store = await openPostgres(place)
  connection = await openConnection({ url: place.url, schema: place.schema })
  for (const sql of SEE) await connection.run([ask(sql)])
})

afterEach(async () => {
  await store.close()
  await connection.run([ask(`drop schema if exists ${place.schema} cascade`)])
  await connection.close()
})

/** How many rows were found in which way since it was asked last. */
async function seen(): Promise<Record<string, number>> {
  const sql = 'select how, count(*) from seen group by how'
  const [answer] = await connection.run([ask(sql), ask('truncate seen')])
  return Object.fromEntries((answer?.rows ?? []) as [string, number][])
}

async function submit(
  policyOf: (i: number) => Partial<TaskPolicy> = () => ({}),
  name = 'job',
): Promise<void> {
  const commands = Array.from({ length: JOBS }, (_, i): Command => {
    return { type: 'SubmitJob', job: `${name}-${i}`, spec: plain({}, policyOf(i)) }
  })
  await store.execute(commands)
}

function claim(worker: string, request: number): Promise<readonly Claimed[]> {
  return store.claim({ worker, request, channels: CHANNELS, max: JOBS, started: true })
}

function commit({ job, stage, segment, lease }: Claimed, worker: string): Command {
  const output = JSON.stringify(`of ${job}`)
  return {
    type: 'CommitExecution',
    job,
    stage,
    segment,
    lease,
    worker,
    output,
    effects: [],
  }
}

/** That each job has its own output, and that everything is as the events say. */
async function expectAllDone(): Promise<void> {
  for (let i = 0; i < JOBS; i++) {
    const record = await store.query({ kind: 'job', job: `job-${i}` })
    expect(record?.job.task?.output).toBe(`"of job-${i}"`)
  }
  expect((await verifySql(postgresDialect(place))).problems).toEqual([])
}

describe('many rows that are alike', () => {
  it('are granted and committed where they are, without being looked for', async () => {
    await submit()
    await seen()
    const leases = await claim('w', 1)
    expect(await seen()).toEqual({ 'where it is': JOBS })
    await store.execute(leases.map((lease) => commit(lease, 'w')))
    expect(await seen()).toEqual({ 'where it is': JOBS })
    await expectAllDone()
  })

  it('that have been moved are looked for', async () => {
    await submit()
    const leases = await claim('w', 1)
    await connection.run([ask('cluster work using work_pkey')])
    await seen()
    const answers = await store.execute(leases.map((lease) => commit(lease, 'w')))
    expect(new Set(answers.map(({ verdict }) => verdict))).toEqual(new Set(['committed']))
    expect(await seen()).toEqual({ 'by its job': JOBS })
    await expectAllDone()
  })

  it('are not changed if they are said to be where others of the same version are', async () => {
    await submit()
    const [found] = await connection.run([ask('select job, position, ctid from work')])
    const jobs = found?.rows as [string, number, number][]
    const spots = jobs.map(([, , spot]) => spot)
    const update = (was: number, from: number[]): Promise<unknown> => {
      const rows = jobs.map(([job, position]): Value[] =>
        ([job, was, position, position + 1_000, 2] as Value[]).concat(THEN),
      )
      return connection.run([
        { sql: POSTGRES.updateUnlisted, rows, locations: { known: from, rows: [] } },
      ])
    }
    expect(await reasonOf(update(1, [...spots.slice(1), spots[0] as number]))).toBe('conflict')
    // At the right place there may be a later version of the same job.
    expect(await reasonOf(update(0, spots))).toBe('conflict')
    expect(await reasonOf(update(1, spots))).toBe('none')
    expect(await seen()).toEqual({ 'where it is': JOBS })
  })

  it('one of which loses its key are looked for, and nothing is done again', async () => {
    const spec = plain({ key: 'k', unique: true })
    await store.execute([{ type: 'SubmitJob', job: 'first', spec }])
    await submit()
    const first = [...(await claim('w', 1)), ...(await claim('w', 2))]
    const another: Command = { type: 'SubmitJob', job: 'second', spec }
    const answers = await store.execute([...first.map((lease) => commit(lease, 'w')), another])
    expect(new Set(answers.map(({ verdict }) => verdict))).toEqual(new Set(['committed']))
    // Behind something that had to be done again, rows would be looked for for some time.
    await submit(() => ({}), 'later')
    const later = await claim('w', 3)
    await seen()
    await store.execute(later.map((lease) => commit(lease, 'w')))
    expect(await seen()).toEqual({ 'where it is': JOBS })
    expect((await verifySql(postgresDialect(place))).problems).toEqual([])
  })

  it('that others have changed since are not changed', async () => {
    await submit()
    const leases = await claim('w', 1)
    const other = await openPostgres(place)
    await other.execute([
      { type: 'CancelJob', job: leases[5]?.job as string, by: 'me', reason: 'no' },
    ])
    await other.close()
    const answers = await store.execute(leases.map((lease) => commit(lease, 'w')))
    expect(answers.flatMap(({ verdict }, i) => (verdict === 'committed' ? [] : [i]))).toEqual([5])
    expect((await verifySql(postgresDialect(place))).problems).toEqual([])
  })
})

describe('many rows that differ', () => {
  it('are changed together as far as they are alike and stand side by side', async () => {
    // Those in the middle have the same leases, the others each another one.
    await submit((i) => ({ leaseMs: i >= 10 && i < 10 + 2 * MANY ? 60_000 : 60_001 + i }))
    await seen()
    const leases = await claim('w', 1)
    expect(await seen()).toEqual({ 'where it is': 2 * MANY, 'by its job, alone': MANY })
    // The commits of all are alike; of those that were changed alone it is known where they are, too.
    await store.execute(leases.map((lease) => commit(lease, 'w')))
    expect(await seen()).toEqual({ 'where it is': JOBS })
    await expectAllDone()
  })

  it('and are few are changed by one statement', async () => {
    await submit((i) => ({ leaseMs: 60_000 + (i % 2) }))
    await seen()
    await claim('w', 1)
    expect(await seen()).toEqual({ 'by its job, alone': JOBS })
  })
})

describe('the location of a row', () => {
  it('is a page and a line, as one number', () => {
    expect(rowLocations('')).toEqual([])
    expect(rowLocations('(0,1)')).toEqual([1])
    expect(rowLocations('(12,3)(0,226)(4294967294,65535)')).toEqual([
      12 * 65_536 + 3,
      226,
      4_294_967_294 * 65_536 + 65_535,
    ])
  })
})
