/**
 * Changes of many rows on PostgreSQL: each row is changed as it is said, and only if it is as it was.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Command, TaskPolicy } from '../../src/kernel/index.ts'
import { openConnection } from '../../src/store/sql/postgres/connection.ts'
import { MANY } from '../../src/store/sql/postgres/many-rows.ts'
import { openPostgres } from '../../src/store/sql/open-sql.ts'
import { postgresDialect } from '../../src/store/sql/postgres/dialect.ts'
import { POSTGRES } from '../../src/store/sql/postgres/statements.ts'
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

beforeEach(async () => {
  place = await freshSchema()
  store = await openPostgres(place)
  connection = await openConnection({ url: place.url, schema: place.schema })
})

afterEach(async () => {
  await store.close()
  await connection.run([ask(`drop schema if exists ${place.schema} cascade`)])
  await connection.close()
})

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

describe('many rows', () => {
  it('are granted and committed at once, alike or not', async () => {
    await submit((i) => ({ leaseMs: i >= 10 && i < 10 + 2 * MANY ? 60_000 : 60_001 + i }))
    const leases = await claim('w', 1)
    expect(leases).toHaveLength(JOBS)
    expect((await verifySql(postgresDialect(place))).problems).toEqual([])
    await store.execute(leases.map((lease) => commit(lease, 'w')))
    await expectAllDone()
  })

  it('are not changed if one of them has another version or position', async () => {
    await submit()
    const [found] = await connection.run([ask('select job, position from work')])
    const jobs = found?.rows as [string, number][]
    const update = (was: number, positionOf: (position: number, i: number) => number) => {
      const rows = jobs.map(([job, position], i): Value[] =>
        ([job, was, positionOf(position, i), position + 1_000, 2] as Value[]).concat(THEN),
      )
      return connection.run([{ sql: POSTGRES.updateUnlisted, rows }])
    }
    const wrong = update(1, (position, i) => (i === 7 ? position + 1 : position))
    expect(await reasonOf(wrong)).toBe('conflict')
    expect(await reasonOf(update(0, (position) => position))).toBe('conflict')
    expect(await reasonOf(update(1, (position) => position))).toBe('none')
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
