/**
 * PostgreSQL whose default is another isolation level than the one that the statements are made for.
 */
import { expect, it } from 'vitest'
import { openConnection } from '../../../src/store/sql/postgres/connection.ts'
import { openPostgres } from '../../../src/store/sql/open-sql.ts'
import { freshSchema } from '../../support/postgres.ts'
import { onRecord, plain } from '../../support/specs.ts'

it.each(['repeatable read', 'serializable'])(
  '%s: a queue that is paused while a claim waits for it grants nothing',
  async (level) => {
    const { url: own, schema } = await freshSchema()
    const url = new URL(own)
    url.searchParams.set('options', `-c default_transaction_isolation=${level.replace(' ', '\\ ')}`)
    const address = { url: url.href, schema }
    const [claimer, pauser] = [await openPostgres(address), await openPostgres(address)]
    const looking = await openConnection({ url: own, schema })
    await claimer.execute([
      { type: 'SubmitJob', job: 'x', spec: plain({ type: 'red' }, { queue: 'q' }) },
      {
        type: 'ConfigureQueue',
        queue: 'q',
        concurrency: null,
        rate: null,
        ageingMs: null,
        ...onRecord,
      },
    ])
    // A transaction grants just now: both have to wait, one behind the other.
    const granting = await openConnection({ url: own, schema })
    const shared = `select pg_advisory_xact_lock_shared(hashtextextended(current_schema() || '/queue/q', 0))`
    await granting.run([
      { sql: 'begin', values: [] },
      { sql: shared, values: [] },
    ])
    const waiting = async (): Promise<unknown> => {
      const sql = `select count(*) from pg_locks where locktype = 'advisory' and not granted and pid <> pg_backend_pid()
        and (classid::bigint << 32 | objid::bigint) = hashtextextended($1::text || '/queue/q', 0)`
      const [answered] = await looking.run([{ sql, values: [schema] }])
      return answered?.rows[0]?.[0]
    }
    const pausing = pauser.execute([{ type: 'PauseQueue', queue: 'q', by: 'ann', reason: '' }])
    await expect.poll(waiting).toBe(1)
    const channels = [{ queue: 'q', type: 'red', stage: null }]
    const claiming = claimer.claim({ worker: 'w', request: 1, channels, max: 5, started: true })
    await expect.poll(waiting).toBe(2)
    await granting.run([{ sql: 'commit', values: [] }])
    expect((await pausing).map(({ verdict }) => verdict)).toEqual(['committed'])
    expect(await claiming).toEqual([])
    for (const one of [claimer, pauser, looking, granting]) await one.close()
  },
)
