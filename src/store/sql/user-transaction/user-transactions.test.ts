/**
 * What a transaction of the user's sees is of its own moment, and must not enter the caches of the store.
 */
import { Client } from 'pg'
import { expect, it } from 'vitest'
import { onRecord, plain } from '../../../../test/support/specs.ts'
import { freshSchema } from '../../../../test/support/postgres.ts'
import { fromPg } from './adapters.ts'
import { openPostgres } from '../open-sql.ts'
import { postgresDialect } from '../postgres/dialect.ts'
import { UserTransactions } from './user-transactions.ts'
import {
  LackingSteps,
  LeasedRowCache,
  QueueCache,
  SubmissionCache,
} from '../transaction/context.ts'
import { TurnAssignment } from '../transaction/turn-assignment.ts'
import { Records } from '../rows/records.ts'
import { TableVersion } from '../tables.ts'

it('a transaction that sees a queue as it was once does not cache it', async () => {
  const at = await freshSchema()
  const store = await openPostgres(at)
  const client = new Client(at.url)
  await client.connect()
  await client.query('begin isolation level repeatable read')
  await client.query('select 1')
  const configured = { concurrency: null, rate: null, ageingMs: 1_000 }
  const [answer] = await store.execute([
    { type: 'ConfigureQueue', queue: 'q', ...configured, ...onRecord },
  ])
  expect(answer?.verdict).toBe('committed')
  const dialect = postgresDialect(at)
  const { statements: sql, erasure, userTransactions: guest, migrations: steps } = dialect
  const queues = new QueueCache()
  const records = new Records()
  const parts = {
    sql,
    erasure,
    records,
    queues,
    turns: new TurnAssignment(sql).withoutLocks,
    submissions: new SubmissionCache(),
    leasedRows: new LeasedRowCache(),
    lackingSteps: new LackingSteps(),
    now: () => null,
    nextPosition: null,
    forgetCount: null,
  }
  const tables = new TableVersion(guest.statements.readMeta, steps.length)
  const transactions = new UserTransactions(store.id, guest, parts, tables)
  const submit = { type: 'SubmitJob', job: 'a', spec: plain({}, { queue: 'q' }) } as const
  const answers = await transactions.execute(fromPg(client), [submit])
  expect(answers.map(({ verdict }) => verdict)).toEqual(['committed'])
  await client.query('commit')
  await client.end()
  // It was not configured, when the transaction began.
  expect(queues.has('q')).toBe(false)
  await store.close()
})
