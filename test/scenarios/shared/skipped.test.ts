/**
 * PostgreSQL: claims skip what others have locked. Whoever had it locked may let go of it without
 * taking it, and says nothing then: it is taken all the same.
 */
import { expect, it } from 'vitest'
import { job, typed } from '../../../src/index.ts'
import { openConnection } from '../../../src/store/sql/postgres/connection.ts'
import { freshSchema } from '../../support/postgres.ts'
import { engineAt } from './places.ts'

const echo = job('echo', { input: typed<number>(), run: ({ input }) => input })

it('what was locked while somebody looked for work is taken when it is let go', async () => {
  const { url, schema } = await freshSchema()
  const pawl = await engineAt({ location: url, options: { schema } })
  await pawl.pause('default')
  const handles = await pawl.submitMany(echo, [{ input: 1 }, { input: 2 }])
  const locking = await openConnection({ url, schema })
  await locking.run([
    { sql: 'begin', values: [] },
    { sql: `select 1 from work where job = $1 for update`, values: [handles[0]!.id] },
  ])
  pawl.work([echo], { poll: '1h' })
  await pawl.resume('default')
  // One claim is over that skipped the other.
  expect(await handles[1]?.result()).toBe(2)
  expect(await handles[0]?.state()).toBe('QUEUED')
  await locking.run([{ sql: 'rollback', values: [] }])
  expect(await handles[0]?.result()).toBe(1)
  await locking.close()
})
