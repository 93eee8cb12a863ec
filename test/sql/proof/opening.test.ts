/**
 * Opening a store on a database: by many at once, by a user who may do little, of a version that is
 * not known, and where nothing can be written.
 */
import { describe, expect, it } from 'vitest'
import { SmallDisk } from '../../faults/crash/small-disk.ts'
import { vacuumTables } from '../../../src/store/sql/postgres/statements.ts'
import type { StatementResult } from '../../../src/store/sql/connection.ts'
import { onRecord, plain } from '../../support/specs.ts'
import type { Address } from './addresses.ts'
import { dialectOf, openAt } from './addresses.ts'
import { checkLog } from './log-check.ts'
import { DATABASE_NAMES, freshAddress } from './stores.ts'

const OPENERS = 8

/** All in one transaction. */
async function run(
  address: Address,
  ...texts: readonly string[]
): Promise<readonly StatementResult[]> {
  const connection = await dialectOf(address).connect()
  try {
    return await connection.run(texts.map((sql) => ({ sql, values: [] })))
  } finally {
    await connection.close()
  }
}

function submit(job: string) {
  return { type: 'SubmitJob', job, spec: plain({ type: 'red' }) } as const
}

describe.each(DATABASE_NAMES)('a store on %s', (name) => {
  it('is made once, however many open it at the same time', async () => {
    const address = await freshAddress(name)
    const stores = await Promise.all(Array.from({ length: OPENERS }, () => openAt(address)))
    expect(new Set(stores.map(({ id }) => id)).size).toBe(1)
    const answers = await Promise.all(stores.map((store, i) => store.execute([submit(`j${i}`)])))
    expect(answers.flat().map(({ verdict }) => verdict)).toEqual(stores.map(() => 'committed'))
    await Promise.all(stores.map((store) => store.close()))
    expect((await checkLog(dialectOf(address))).problems).toEqual([])
  })

  it('of a newer version is refused, and left as it is', async () => {
    const address = await freshAddress(name)
    await (await openAt(address)).close()
    await run(address, `update meta set value = '99' where name = 'version'`)
    await expect(openAt(address)).rejects.toMatchObject({
      code: 'NewerTables',
      details: { found: 99 },
    })
  })

  it('refuses that any user changes or removes events', async () => {
    const address = await freshAddress(name)
    const store = await openAt(address)
    await store.execute([submit('a')])
    await expect(run(address, 'delete from events')).rejects.toThrow(/only ever appended/)
    await expect(run(address, 'update events set at = 0')).rejects.toThrow(/only ever appended/)
    await store.close()
  })
})

/** What a user who only works with the tables may do: see docs/sql-stores.md. */
const GRANTS = (schema: string, role: string): readonly string[] => [
  `grant usage on schema ${schema} to ${role}`,
  `grant select on all tables in schema ${schema} to ${role}`,
  `grant insert on ${schema}.events to ${role}`,
  `grant insert, update, delete on ${schema}.work, ${schema}.tallies, ${schema}.limits, ${schema}.group_turns,
    ${schema}.counts, ${schema}.count_changes,
    ${schema}.labels, ${schema}.pipelines, ${schema}.questions to ${role}`,
  `grant insert, update on ${schema}.queues, ${schema}.schedules to ${role}`,
  `grant usage, select on sequence ${schema}.positions, ${schema}.forgets to ${role}`,
  `grant update on ${schema}.history to ${role}`,
  `grant delete on ${schema}.events to ${role}`,
  `grant insert, delete on ${schema}.baselines to ${role}`,
]

/** What no row may hold. */
const REFUSED = [
  `update work set state = 'LOST'`,
  `update work set attempt = -1`,
  `update work set version = 0`,
  `update work set segment = -1`,
  `update work set record = null where job = 'granted'`,
  `update work set state = null`,
  `update limits set held = -1`,
  `update queues set version = 0`,
  `insert into events (position, type, at, record) select -1, type, at, record from events`,
]

describe.each(DATABASE_NAMES)('a database of %s', (name) => {
  it('refuses what no row may hold', async () => {
    const address = await freshAddress(name)
    const store = await openAt(address)
    const limits = [{ key: 'one', concurrency: 1, rate: null }]
    await store.execute([
      { type: 'SubmitJob', job: 'granted', spec: plain({ type: 'red' }, { limits }) },
      { type: 'PauseQueue', queue: 'other', ...onRecord },
    ])
    const channels = [{ queue: 'default', type: 'red', stage: null }]
    const request = { worker: 'w', request: 1, channels, max: 1, started: true }
    expect(await store.claim(request)).toHaveLength(1)
    const connection = await dialectOf(address).connect()
    for (const sql of REFUSED) {
      await expect(connection.run([{ sql, values: [] }]), sql).rejects.toThrow(
        /check constraint|CHECK constraint failed|not-null|NOT NULL/,
      )
    }
    await connection.close()
    await store.close()
  })
})

describe.each(DATABASE_NAMES)('calls that are decided together on %s', (name) => {
  it('do not fail for what is wrong with the job of another', async () => {
    const address = await freshAddress(name)
    const store = await openAt(address)
    await store.execute([submit('a')])
    const at = { stage: 0, segment: 0 }
    const cancel = { type: 'CancelJob', job: 'a', by: 'me', reason: '' } as const
    const stop = { type: 'StopTask', job: 'a', ...at } as const
    await store.execute([cancel])
    const bytes = address.kind === 'SQLite' ? `x'00'` : `'\\x00'`
    await run(address, `update work set record = ${bytes}`)
    const answers = await Promise.allSettled([
      store.execute([submit('b')]),
      ...[stop, submit('c'), submit('d')].map((command) => store.execute([command])),
    ])
    expect(answers.map(({ status }) => status)).toEqual([
      'fulfilled',
      'rejected',
      'fulfilled',
      'fulfilled',
    ])
    expect(answers[1]).toMatchObject({ reason: { code: 'CorruptRecord' } })
    await store.close()
  })

  it('are refused names that a database cannot keep, and are told so', async () => {
    const store = await openAt(await freshAddress(name))
    const wrong = ['a\0b', 'a\uD800'].map(submit)
    const answers = await Promise.all([...wrong, submit('ok')].map((one) => store.execute([one])))
    const codes = answers.flat().map(({ rejection }) => rejection?.code ?? null)
    expect(codes).toEqual(['MalformedCommand', 'MalformedCommand', null])
    await store.close()
  })
})

async function userOf(): Promise<{
  owner: Address
  user: Address
  schema: string
  role: string
}> {
  const owner = (await freshAddress('PostgreSQL')) as Address & { kind: 'PostgreSQL' }
  const { schema } = owner
  const role = `user_${schema}`
  await run(owner, `create role ${role} login password 'p'`)
  const url = new URL(owner.url)
  url.username = role
  url.password = 'p'
  return { owner, user: { ...owner, url: url.href }, schema, role }
}

describe('on PostgreSQL, a user', () => {
  it('who owns the tables vacuums them, and one who may not is no worse off', async () => {
    const { owner, user, schema, role } = await userOf()
    const store = await openAt(owner)
    await run(owner, ...GRANTS(schema, role))
    await store.execute([submit('a')])
    await run(owner, `update work set turn = turn`)
    const { count, run: sweep } = vacuumTables(schema)
    const swept = `select count(*) from pg_stat_user_tables
      where schemaname = '${schema}' and relname in ('work', 'tallies', 'limits', 'group_turns',
        'counts', 'count_changes', 'pipelines') and vacuum_count > 0`
    const [dead] = await run(user, count)
    await run(user, sweep)
    expect(dead?.rows[0]?.[0]).toBeTypeOf('number')
    expect((await run(owner, swept))[0]?.rows).toEqual([[0]])
    await run(owner, sweep)
    await expect.poll(async () => (await run(owner, swept))[0]?.rows).toEqual([[7]])
    await store.close()
  })

  it('who has tables whose rows come and go has them vacuumed sooner than others', async () => {
    const { owner, schema } = await userOf()
    await (await openAt(owner)).close()
    const sooner = `select c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = '${schema}' and 'autovacuum_vacuum_scale_factor=0.01' = any(c.reloptions)
      order by c.relname`
    const [answered] = await run(owner, sooner)
    expect(answered?.rows.flat().toSorted()).toEqual([
      'calls',
      'count_changes',
      'counts',
      'group_turns',
      'limits',
      'pipelines',
      'questions',
      'tallies',
      'work',
    ])
  })

  it('who may use the tables, and do nothing else, does everything that a store does', async () => {
    const { owner, user, schema, role } = await userOf()
    await (await openAt(owner)).close()
    await run(owner, ...GRANTS(schema, role))
    const store = await openAt(user)
    const limits = [{ key: 'k', concurrency: 1, rate: null }]
    const spec = plain({ type: 'red', group: 'g', key: 'k' }, { queue: 'q', limits })
    const bounds = { concurrency: 5, rate: null, ageingMs: null }
    await store.execute([
      { type: 'ConfigureQueue', queue: 'q', ...bounds, ...onRecord },
      { type: 'SubmitJob', job: 'a', spec },
      { type: 'SetSchedule', schedule: 's', definition: '{}', seen: null, ...onRecord },
    ])
    const channels = [{ queue: 'q', type: 'red', stage: null }]
    const request = { worker: 'w', request: 1, channels, max: 1, started: true }
    expect(await store.claim(request)).toHaveLength(1)
    const at = { job: 'a', stage: 0, segment: 0, lease: 1, worker: 'w' }
    await store.execute([{ type: 'CommitExecution', ...at, output: '1', effects: [] }])
    for await (const { entry } of store.watch(0)) if (entry.type === 'ExecutionCommitted') break
    const view = await store.query({ kind: 'job', job: 'a' })
    const endedBefore = (view?.job.task?.endedAt ?? 0) + 1
    const [forgotten] = await store.execute([{ type: 'ForgetJob', job: 'a', endedBefore }])
    expect(forgotten?.verdict).toBe('committed')
    await store.query({ kind: 'upkeep', limit: 10 })
    await store.close()
    expect((await run(owner, 'select * from limits'))[0]?.rows).toEqual([])
    expect((await checkLog(dialectOf(user))).problems).toEqual([])
    await expect(run(user, `set local x.y = ''`, 'truncate events')).rejects.toMatchObject({
      reason: 'denied',
    })
  })

  it('who may not delete unused rows leaves them, and goes on', async () => {
    const { owner, user, schema, role } = await userOf()
    await (await openAt(owner)).close()
    await run(owner, ...GRANTS(schema, role), `revoke delete on ${schema}.limits from ${role}`)
    await run(owner, `insert into limits (key, held, full_at) values ('k', 0, 0)`)
    const store = await openAt(user)
    await store.execute([submit('a')])
    expect(await store.query({ kind: 'upkeep', limit: 10 })).toEqual([])
    expect(await store.query({ kind: 'upkeep', limit: 10 })).toEqual([])
    await store.close()
    expect((await run(owner, 'select key from limits'))[0]?.rows).toEqual([['k']])
  })

  it('who may remove old events does so, and who may not leaves them, and goes on', async () => {
    const { owner, user, schema, role } = await userOf()
    await (await openAt(owner)).close()
    await run(owner, ...GRANTS(schema, role), `revoke delete on ${schema}.events from ${role}`)
    let now = 1_000
    const clock = { now: () => now }
    const types = async (): Promise<readonly unknown[]> =>
      (await run(owner, 'select type from events order by position'))[0]?.rows.flat() ?? []
    const upkeep = async (): Promise<void> => {
      const store = await openAt(user, { clock, historyMs: 60_000 })
      expect(await store.query({ kind: 'upkeep', limit: 10 })).toEqual([])
      await store.execute([submit(`at ${now}`)])
      await store.close()
    }
    const store = await openAt(user, { clock })
    await store.execute([submit('a')])
    await store.execute([{ type: 'CancelJob', job: 'a', ...onRecord }])
    now += 1
    await store.execute([{ type: 'ForgetJob', job: 'a', endedBefore: now }])
    await store.close()
    now = 10_000_000
    await upkeep()
    const kept = ['JobSubmitted', 'JobCancelled', 'JobForgotten', 'JobSubmitted']
    expect(await types()).toEqual(kept)
    await run(owner, `grant delete on ${schema}.events to ${role}`)
    const removed = async (): Promise<readonly unknown[]> => {
      now += 1
      await upkeep()
      return types()
    }
    await expect.poll(removed, { timeout: 30_000 }).not.toContain('JobForgotten')
  })

  it('who may create in a schema makes the tables in it', async () => {
    const { owner, user, schema, role } = await userOf()
    await run(
      owner,
      `create schema ${schema}`,
      `grant usage, create on schema ${schema} to ${role}`,
    )
    await (await openAt(user)).close()
  })

  it('who may do nothing is told so', async () => {
    const { owner, user } = await userOf()
    await expect(openAt(user)).rejects.toMatchObject({ code: 'SqlFailed', reason: 'denied' })
    await (await openAt(owner)).close()
    await expect(openAt(user)).rejects.toMatchObject({ code: 'SqlFailed', reason: 'denied' })
  })

  it('of a server that takes no writes is told so', async () => {
    const { owner, user, schema, role } = await userOf()
    await (await openAt(owner)).close()
    await run(
      owner,
      ...GRANTS(schema, role),
      `alter role ${role} set default_transaction_read_only = on`,
    )
    const store = await openAt(user)
    await expect(store.execute([submit('a')])).rejects.toMatchObject({ reason: 'read-only' })
    expect(await store.query({ kind: 'jobs', limit: 10 })).toMatchObject({ jobs: [] })
    await store.close()
  })
})

describe('on SQLite, a disk', () => {
  it('that is full refuses what is new, loses nothing, and goes on when there is room', async (test) => {
    const disk = await SmallDisk.mount()
    if (typeof disk === 'string') return test.skip(disk)
    try {
      const address: Address = { kind: 'SQLite', path: `${disk.path}/jobs.db` }
      const store = await openAt(address)
      await store.execute([submit('a')])
      await disk.fill()
      const large = {
        type: 'SubmitJob',
        job: 'b',
        spec: plain({ input: `"${'x'.repeat(900_000)}"` }),
      } as const
      await expect(store.execute([large])).rejects.toMatchObject({ reason: 'full' })
      await disk.makeRoom()
      const [answer] = await store.execute([large])
      expect(answer?.verdict).toBe('committed')
      await store.close()
      expect((await checkLog(dialectOf(address))).entries).toHaveLength(2)
    } finally {
      await disk.unmount()
    }
  })
})
