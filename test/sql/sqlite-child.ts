/**
 * A process that uses a SQLite file and closes nothing: it must end by itself.
 *
 * - `count FILE NAME TIMES`: adds one to a counter, each in a transaction of its own.
 * - `idle FILE`: waits for one answer.
 */
import { openConnection } from '../../src/store/sql/sqlite/connection.ts'

const [task, path = '', name = '', times = '0'] = process.argv.slice(2)
const connection = await openConnection({ path, busyMs: 60_000 })
const ask = (sql: string, ...values: string[]) => ({ sql, values })

async function count(): Promise<number> {
  const CREATE = 'create table if not exists counter (id text primary key, n integer, by text)'
  await connection.run([ask(CREATE), ask(`insert or ignore into counter values ('it', 0, '')`)])
  let added = 0
  for (; added < Number(times); added++) {
    const [, read] = await connection.run([ask('begin exclusive'), ask('select n from counter')])
    const next = Number(read?.rows[0]?.[0]) + 1
    const write = { sql: 'update counter set n = ?1, by = ?2', values: [next, name] }
    await connection.run([write, ask('commit')])
  }
  return added
}

async function wait(): Promise<unknown> {
  const steps = 'with recursive c(n) as (select 1 union all select n + 1 from c limit 1000000)'
  const [answer] = await connection.run([ask(`${steps} select max(n) from c`)])
  return answer?.rows[0]?.[0]
}

console.log(task === 'count' ? await count() : await wait())
