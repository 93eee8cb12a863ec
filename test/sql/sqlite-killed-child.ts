/**
 * A process that submits ten jobs to a store in a SQLite file, one after the other, says so when all are
 * acknowledged, and stays until it is killed.
 */
import { openSqliteStore } from '../../src/store/sql/open-sql.ts'
import { plain } from '../support/specs.ts'

const [path = ''] = process.argv.slice(2)
const store = await openSqliteStore({ path, clock: { now: () => 1_000 } })
for (let i = 0; i < 10; i++) {
  await store.execute([{ type: 'SubmitJob', job: `j${i}`, spec: plain() }])
}
console.log('acknowledged')
setInterval(() => undefined, 60_000)
