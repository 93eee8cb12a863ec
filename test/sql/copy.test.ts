/**
 * Inserts of many rows on PostgreSQL, which are done by COPY, in the middle of other statements.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Command } from '../../src/kernel/index.ts'
import { openConnection } from '../../src/store/sql/postgres/connection.ts'
import { MANY } from '../../src/store/sql/postgres/many-rows.ts'
import { openPostgres } from '../../src/store/sql/open-sql.ts'
import { postgresDialect } from '../../src/store/sql/postgres/dialect.ts'
import { COPIES, POSTGRES } from '../../src/store/sql/postgres/statements.ts'
import type { Connection, Row } from '../../src/store/sql/connection.ts'
import { verifySql } from '../../src/store/sql/verify/verify-database.ts'
import type { Place } from '../support/postgres.ts'
import { freshSchema } from '../support/postgres.ts'
import { pipeline, plain, stage } from '../support/specs.ts'
import { ask, reasonOf } from './databases.ts'

let place: Place
let connection: Connection

beforeEach(async () => {
  place = await freshSchema()
  connection = await openConnection({ url: place.url, schema: place.schema })
})

afterEach(async () => {
  await connection.run([ask(`drop schema if exists ${place.schema} cascade`)])
  await connection.close()
})

describe('rows that are copied', () => {
  const COPY =
    'copy things (id /* $1::text */, n /* $2::int8 */, small /* $3::int4 */, flag /* $4::bool */,' +
    ' bytes /* $5::bytea */, twice /* $2::int8 */)' +
    ' from stdin (format binary)'
  const insert = ask(`insert into things (id) values ('other')`)
  const count = ask('select count(*) from things')

  beforeEach(async () => {
    await connection.run([
      ask(`create schema ${place.schema}`),
      ask(`create table things (id text primary key, n int8, small int4, flag bool, bytes bytea,
        twice int8)`),
    ])
  })

  const counted = async (): Promise<unknown> => (await connection.run([count]))[0]?.rows[0]?.[0]

  it('are there as they were given, whatever is in them', async () => {
    const bytes = Uint8Array.from({ length: 300 }, (_, at) => at % 256)
    const rows: Row[] = [
      ['', 0, 0, false, new Uint8Array(0)],
      ['a"b\\c,{}\n\t\\N\\.', 2 ** 53 - 1, 2 ** 31 - 1, true, bytes],
      ['b', -(2 ** 53 - 1), -(2 ** 31), null, Uint8Array.of(0)],
      ['c', null, null, true, null],
      ['d', 2 ** 32, -1, false, bytes.subarray(10, 20)],
      ['žluťoučký 馬 🐎', -1, 1, true, bytes],
      ['é'.repeat(40), -(2 ** 32), 1, true, bytes],
      ['x'.repeat(200_000), 1, 1, true, new Uint8Array(300_000)],
    ]
    const [copied, answer] = await connection.run([
      { sql: COPY, rows },
      ask('select id, n, small, flag, bytes, twice from things order by ctid'),
    ])
    expect(copied).toEqual({ rows: [], changed: rows.length })
    const found = (answer?.rows ?? []).map((row) => row.map(plainly))
    expect(found).toEqual(rows.map((row) => [...row, row[1]].map(plainly)))
  })

  it('are refused BEFORE anything is sent, if something is in the wrong place', async () => {
    const wrong: Row[] = [
      [1, 1, 1, true, null],
      ['a', 'b', 1, true, null],
      ['a', 1.5, 1, true, null],
      ['a', 1, 'b', true, null],
      ['a', 1, 1, 1, null],
      ['a', 1, 1, true, 'b'],
    ]
    for (const row of wrong) {
      const run = connection.run([insert, { sql: COPY, rows: [row] }])
      expect(await reasonOf(run)).toBe('broken')
    }
    expect(await counted()).toBe(0)
  })

  it('are in order with what stands before and behind them, also in runs side by side', async () => {
    const rows = [['a', 1, 1, true, null]]
    const more = [['b', 1, 1, true, null]]
    const runs = await Promise.all([
      connection.run([count, { sql: COPY, rows }, count, insert, count]),
      connection.run([{ sql: COPY, rows: more }, count]),
    ])
    expect(runs.flat().map((one) => one.rows[0]?.[0])).toEqual([
      0,
      undefined,
      1,
      undefined,
      2,
      undefined,
      3,
    ])
    // Known by now: nothing is prepared or described again.
    await connection.run([ask('truncate things'), { sql: COPY, rows }, { sql: COPY, rows: more }])
    expect(await counted()).toBe(2)
  })

  it('that fail take everything behind them along, and the connection goes on', async () => {
    const rows: Row[] = [
      ['other', 1, 1, true, null],
      ['new', 1, 1, true, null],
    ]
    await connection.run([insert])
    const failing = connection.run([
      ask('begin'),
      { sql: COPY, rows },
      ask('delete from things'),
      ask('commit'),
    ])
    const next = connection.run([ask('rollback'), count])
    expect(await reasonOf(failing)).toBe('conflict')
    expect((await next)[1]?.rows).toEqual([[1]])
    const [copied] = await connection.run([{ sql: COPY, rows: rows.slice(1) }])
    expect(copied?.changed).toBe(1)
  })

  it('and are many come in pieces, of which one that fails takes all along', async () => {
    const rows = rowsOf(Array.from({ length: 500 }, (_, i) => `id-${i}`))
    const [copied] = await connection.run([{ sql: COPY, rows }, ask('select 1')])
    expect(copied).toEqual({ rows: [], changed: 500 })
    const more = rowsOf(Array.from({ length: 500 }, (_, i) => (i === 499 ? 'id-1' : `more-${i}`)))
    const failing = connection.run([ask('begin'), { sql: COPY, rows: more }, ask('commit')])
    const next = connection.run([ask('rollback'), count])
    expect(await reasonOf(failing)).toBe('conflict')
    expect((await next)[1]?.rows).toEqual([[500]])
  })

  it('are passed over behind a failure', async () => {
    const failing = connection.run([
      ask('begin'),
      ask('select 1 / 0'),
      { sql: COPY, rows: [['a', 1, 1, true, null]] },
      ask('commit'),
    ])
    const next = connection.run([ask('rollback'), count])
    expect(await reasonOf(failing)).toBe('broken')
    expect((await next)[1]?.rows).toEqual([[0]])
  })
})

/** For a table of things. */
function rowsOf(ids: readonly string[]): Row[] {
  return ids.map((id, i) => [id, i, 1, true, null])
}

function plainly(value: unknown): unknown {
  return value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value
}

function namesIn(text: string): string[] {
  return text.split(',').map((one) => one.trim().split(' ')[0] as string)
}

/** Of every kind of row: fresh, held, delayed, with a key, a group, a limit, and with stages. */
function submits(count: number, name = 'job'): Command[] {
  return Array.from({ length: count }, (_, i) => {
    const job = `${name}-${i}`
    const limits = i % 7 === 0 ? [{ key: `l${i % 3}`, concurrency: 2, rate: null }] : []
    const changes = {
      input: JSON.stringify({ i, text: 'é'.repeat(i) }),
      priority: (i % 5) - 2,
      delayMs: i % 11 === 0 ? 60_000 : 0,
      held: i % 13 === 0,
      key: i % 3 === 0 ? `key ${job} 馬` : null,
      group: i % 4 === 0 ? `g${i % 2}` : null,
      startWithinMs: i % 6 === 0 ? 5_000 : null,
      retainMs: i % 10 === 0 ? 1_000 : null,
    }
    const stages = [stage('first'), stage('second', { after: ['first'] })]
    const spec = i % 9 === 0 ? pipeline(stages) : plain(changes, { limits })
    return { type: 'SubmitJob', job, spec }
  })
}

describe('a store', () => {
  it('writes many rows by COPY, and each is as the events say', async () => {
    const store = await openPostgres(place)
    await connection.run([
      ask('create table seen (kind text, name text)'),
      ask(`create function see() returns trigger language plpgsql as $$ begin
        insert into seen values (lower(substr(current_query(), 1, 4)), tg_table_name); return new;
      end $$`),
      ask('create trigger see before insert on work for each row execute function see()'),
      ask('create trigger see before insert on events for each row execute function see()'),
    ])
    const kinds = async (): Promise<unknown> => {
      const sql = 'select distinct kind, name from seen where kind = $1::text order by 1, 2'
      const [answer] = await connection.run([ask(sql, 'copy'), ask('truncate seen')])
      return answer?.rows
    }
    await store.execute(submits(MANY - 1, 'few'))
    expect(await kinds()).toEqual([])
    const answers = await store.execute(submits(300))
    expect(new Set(answers.map(({ verdict }) => verdict))).toEqual(new Set(['committed']))
    expect(await kinds()).toEqual([
      ['copy', 'events'],
      ['copy', 'work'],
    ])
    const channels = [{ queue: 'default', type: 'test', stage: null }]
    const claim = { worker: 'w', request: 1, channels, max: 100, started: true }
    expect(await store.claim(claim)).toHaveLength(100)
    await store.close()
    expect((await verifySql(postgresDialect(place))).problems).toEqual([])
  })

  it('has an id that comes again found out by the copy, and everything is decided anew', async () => {
    const [one, other] = [await openPostgres(place), await openPostgres(place)]
    const commands = submits(100)
    await one.execute([{ type: 'SubmitJob', job: 'job-61', spec: plain({ input: '"other"' }) }])
    const answers = await other.execute(commands)
    const refused = answers.flatMap(({ verdict }, i) => (verdict === 'rejected' ? [i] : []))
    expect(refused).toEqual([61])
    await one.close()
    await other.close()
    expect((await verifySql(postgresDialect(place))).problems).toEqual([])
  })

  it('copies the same columns as the insert writes', () => {
    for (const [insert, copy] of COPIES) {
      const [, columns = ''] = /insert into \w+ \(([^)]+)\)/.exec(insert) ?? []
      const [, , copied = ''] = /^copy (\w+) \((.+)\) from stdin/.exec(copy) ?? []
      expect(namesIn(copied)).toEqual(namesIn(columns))
    }
    expect([...COPIES.keys()]).toEqual([
      POSTGRES.insertEvents,
      POSTGRES.insertRows,
      POSTGRES.insertFresh,
    ])
  })
})
