/**
 * How connections are opened: what the user says beside the URL.
 */
import { Client, Pool } from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { OpenOptions } from '../../../src/index.ts'
import { job, migrate, migrationSql, open, typed } from '../../../src/index.ts'
import { openSql } from '../../../src/store/sql/open-sql.ts'
import { postgresDialect } from '../../../src/store/sql/postgres/dialect.ts'
import type { Place } from '../../support/postgres.ts'
import { freshSchema } from '../../support/postgres.ts'

const echo = job('echo', { input: typed<number>(), run: ({ input }) => input })

async function asked<T>(url: string, text: string, values: unknown[] = []): Promise<T[]> {
  const client = new Client({ connectionString: url })
  await client.connect()
  const { rows } = await client
    .query({ text, values, rowMode: 'array' })
    .finally(() => client.end())
  return rows.map((row: unknown) => (row as [T])[0])
}

/** Several statements, without parameters. */
async function done(url: string, text: string): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  await client.query(text).finally(() => client.end())
}

async function namesOf({ url }: Place, name: string): Promise<string[]> {
  const like =
    'select distinct application_name from pg_stat_activity where application_name like $1'
  return (await asked<string>(url, `${like} order by 1`, [`${name}%`])).toSorted()
}

describe('connection', () => {
  it('comes before what the URL says, and the password may be a function', async () => {
    const place = await freshSchema()
    const { password } = new URL(place.url)
    const url = place.url.replace(password, 'wrong')
    let asks = 0
    const name = place.schema.slice(0, 20)
    const pawl = await open(url, {
      schema: place.schema,
      connection: {
        application_name: name,
        password: async () => {
          asks += 1
          return password
        },
      },
    })
    onTestFinished(() => pawl.close())
    pawl.work([echo])
    expect(await (await pawl.submit(echo, 1)).result()).toBe(1)
    expect(asks).toBeGreaterThanOrEqual(2)
    expect(await namesOf(place, name)).toEqual([
      name,
      `${name} listener ${place.schema}`.slice(0, 63),
    ])
  })

  it('says how many connections there are at most', async () => {
    const place = await freshSchema()
    const name = place.schema.slice(0, 20)
    const connection = { max: 1, application_name: name }
    const pawl = await open(place.url, { schema: place.schema, connection })
    onTestFinished(() => pawl.close())
    await Promise.all(Array.from({ length: 20 }, () => pawl.submit(echo, 1)))
    const count = 'select count(*)::int from pg_stat_activity where application_name = $1'
    expect(await asked<number>(place.url, count, [name])).toEqual([1])
  })

  it.each<readonly [unknown, readonly string[]]>([
    [new Pool(), ['not a Pool', 'max: 4', 'fromPg(client)']],
    [new Client(), ['not a Pool or a Client']],
    [{ maximum: 4 }, ['`maximum`', '`connection`']],
    [{ max: 0 }, ['`connection.max`', 'not 0']],
    [{ pooler: 'pgbouncer' }, ['`connection.pooler`', "'transaction' or 'session'"]],
    [{ password: 5 }, ['`connection.password`', 'a function']],
    [4, ['not 4', 'connection: {']],
  ])('is a configuration, or is refused (%#)', async (connection, message) => {
    const opening = open('postgres://localhost/db', { connection } as OpenOptions)
    await expect(opening).rejects.toMatchObject({ code: 'InvalidDefinition' })
    for (const part of message) await expect(opening).rejects.toThrow(part)
  })

  it.each(['memory:', './data', 'sqlite:jobs.db'])('is no option of %s', async (location) => {
    const given: readonly OpenOptions[] = [{ connection: {} }, { waitFor: '1s' }]
    for (const options of given) {
      const opening = open(location, options)
      await expect(opening).rejects.toMatchObject({ code: 'InvalidDefinition' })
      await expect(opening).rejects.toThrow(Object.keys(options)[0])
    }
  })
})

const GRANTS = (schema: string, role: string): string => `
  grant usage on schema ${schema} to ${role};
  grant select on all tables in schema ${schema} to ${role};
  grant insert on ${schema}.events to ${role};
  grant insert, update, delete on ${['work', 'tallies', 'calls', 'limits', 'group_turns', 'counts', 'count_changes', 'labels', 'pipelines', 'questions', 'processes', 'reports'].map((table) => `${schema}.${table}`).join(', ')} to ${role};
  grant insert, update on ${schema}.queues, ${schema}.schedules to ${role};
  grant usage, select on sequence ${schema}.positions, ${schema}.forgets to ${role};`

async function userOf({ url, schema }: Place): Promise<{ role: string; url: string }> {
  const role = `r_${schema}`
  await done(url, `create role ${role} login password 'p'`)
  const own = new URL(url)
  own.username = role
  own.password = 'p'
  return { role, url: own.href }
}

describe('migrate', () => {
  it('makes the tables once, for a user who may only use them', async () => {
    const place = await freshSchema()
    const user = await userOf(place)
    const { schema } = place
    for (const [url, options] of [
      [place.url, { schema, migrate: false }],
      [user.url, { schema, migrate: false }],
      [user.url, { schema }],
    ] as const) {
      const early = open(url, options)
      await expect(early).rejects.toMatchObject({ code: 'SqlFailed' })
      await expect(early).rejects.toThrow(/has no tables\..* Run migrate\(/)
    }
    expect(await migrate(place.url, { schema })).toEqual({ from: 0, to: 1 })
    expect(await migrate(place.url, { schema })).toEqual({ from: 1, to: 1 })
    await done(place.url, GRANTS(schema, user.role))
    const pawl = await open(user.url, { schema, migrate: false })
    onTestFinished(() => pawl.close())
    pawl.work([echo])
    expect(await (await pawl.submit(echo, 3)).result()).toBe(3)
  })

  it('is a text to read, that does the same', async () => {
    const place = await freshSchema()
    await done(place.url, migrationSql({ schema: place.schema }))
    const pawl = await open(place.url, { schema: place.schema, migrate: false })
    onTestFinished(() => pawl.close())
    pawl.work([echo])
    expect(await (await pawl.submit(echo, 3)).result()).toBe(3)
  })

  it.each([true, false])('names tables that are older (migrate: %s)', async (isMigrated) => {
    const place = await freshSchema()
    await migrate(place.url, { schema: place.schema })
    const user = await userOf(place)
    await done(place.url, GRANTS(place.schema, user.role))
    // As a later version of Pawl has it.
    const now = postgresDialect({ ...place, url: user.url })
    const later = { ...now, migrations: [...now.migrations, ['create table more (a int)']] }
    const opening = openSql(later, { migrate: isMigrated })
    await expect(opening).rejects.toMatchObject({ reason: isMigrated ? 'denied' : 'missing' })
    await expect(opening).rejects.toThrow(
      'has tables of version 1, and this version of Pawl needs version 2.',
    )
    await expect(opening).rejects.toThrow('Run migrate(')
  })

  it('is of databases, and says so', async () => {
    await expect(migrate('./data')).rejects.toThrow('needs a database')
    await expect(migrate('sqlite:x.db', { schema: 'a' })).rejects.toThrow('`schema`')
    expect(() => migrationSql({ from: -1 })).toThrow('`from`')
  })
})
