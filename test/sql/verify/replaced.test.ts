/**
 * What SQLite lets happen to an event, though triggers refuse to change or delete one: it is found out.
 */
import { DatabaseSync } from '@photostructure/sqlite'
import { describe, expect, it, onTestFinished } from 'vitest'
import { verifyDatabase } from '../../../src/store/index.ts'
import { openSqliteStore } from '../../../src/store/sql/open-sql.ts'
import { plain } from '../../support/specs.ts'
import { freshFile } from '../../support/sqlite.ts'

const COLUMNS = 'position, job, before, type, at, record'

/** Two jobs, `a` at position 1 and `b` at position 2. */
async function stored(): Promise<{
  location: string
  database: InstanceType<typeof DatabaseSync>
}> {
  const path = await freshFile()
  const store = await openSqliteStore({ path })
  const spec = plain({ type: 'red' })
  await store.execute(['a', 'b'].map((job) => ({ type: 'SubmitJob', job, spec })))
  await store.close()
  const database = new DatabaseSync(path)
  onTestFinished(() => database.close())
  return { location: `sqlite:${path}`, database }
}

describe('an event on SQLite', () => {
  it('can be neither changed nor deleted', async () => {
    const { location, database } = await stored()
    expect(() => database.exec('update events set at = 1')).toThrow(/UPDATE is refused/)
    expect(() => database.exec('update or replace events set at = 1')).toThrow(/UPDATE is refused/)
    expect(() => database.exec('delete from events')).toThrow(/DELETE is refused/)
    expect((await verifyDatabase(location)).problems).toEqual([])
  })

  it.each([
    ['bytes that are no record', `1, 'a', before, type, at, x'00'`, 'a'],
    ['the record of another one', `1, 'a', before, type, at, record`, 'a'],
    ['all of another one', `1, job, before, type, at, record`, 'b'],
    ['another time', `2, job, before, type, at + 1, record`, 'b'],
  ])('that is replaced by %s is found out', async (_what, values, job) => {
    const { location, database } = await stored()
    database.exec(
      `insert or replace into events (${COLUMNS}) select ${values} from events where position = 2`,
    )
    const { problems } = await verifyDatabase(location)
    expect(problems).toContainEqual(expect.objectContaining({ table: 'events', row: job }))
  })
})
