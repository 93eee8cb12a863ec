/**
 * What is left of a SQLite file when everybody has closed it: the file, and all is in it. Also where
 * it was open in the thread of the engine, whose driver may have it open for a while longer.
 */
import { copyFileSync, existsSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DatabaseSyncInstance } from '@photostructure/sqlite'
import { DatabaseSync } from '@photostructure/sqlite'
import { expect, it, onTestFinished } from 'vitest'
import { job, open, typed } from '../../src/index.ts'
import { openConnection } from '../../src/store/sql/sqlite/connection.ts'
import { ask, reasonOf } from './databases.ts'

function newPath(): string {
  const folder = mkdtempSync(join(tmpdir(), 'pawl-closing-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'jobs.db')
}

/** How much stands in the log of the file, and not in the file. */
function logSize(path: string): number {
  return existsSync(`${path}-wal`) ? statSync(`${path}-wal`).size : 0
}

/** What the file says without its log. */
function valueIn(path: string, sql: string): unknown {
  copyFileSync(path, `${path}-copy`)
  const copy = new DatabaseSync(`${path}-copy`)
  const statement = copy.prepare(sql)
  statement.setReturnArrays(true)
  const [value] = statement.get() as unknown as unknown[]
  copy.close()
  return value
}

it('a file is whole when it is closed, after writes of the user’s', async () => {
  const path = newPath()
  const pay = job('pay', {
    input: typed<number>(),
    run: ({ input, commit }) =>
      commit(input).with((database: DatabaseSyncInstance) => {
        database.exec('create table if not exists paid (n)')
        database.prepare('insert into paid values (?)').run(input)
      }),
  })
  for (let times = 1; times <= 2; times++) {
    const pawl = await open(`sqlite:${path}`)
    const worker = pawl.work([pay])
    const handles = await pawl.submitMany(
      pay,
      [1, 2, 3].map((input) => ({ input })),
    )
    await Promise.all(handles.map((handle) => handle.result()))
    await worker.stop()
    await pawl.close()
    expect(logSize(path)).toBe(0)
    expect(valueIn(path, 'select count(*) from paid')).toBe(3 * times)
    expect(valueIn(path, 'select count(*) from work where over_at is not null')).toBe(3 * times)
  }
})

it('a file is whole when it is closed, after a stalled transaction was rolled back', async () => {
  const path = newPath()
  const connection = await openConnection({ path })
  await connection.run([ask('create table t (n)'), ask('begin immediate')])
  const own = new DatabaseSync(path)
  own.exec('pragma busy_timeout = 60000')
  own.exec('begin immediate')
  own.exec('rollback')
  own.close()
  expect(await reasonOf(connection.run([ask('select 1')]))).toBe('conflict')
  // Done in this thread, and then by the one that has the file open.
  await connection.run([ask('begin immediate'), ask('insert into t values (1)'), ask('commit')])
  await connection.run([ask('insert into t values (2)')])
  await connection.close()
  expect(logSize(path)).toBe(0)
  expect(valueIn(path, 'select count(*) from t')).toBe(2)
})

it('another process that has a file open is not waited for when it is closed, and loses nothing', async () => {
  const path = newPath()
  const connection = await openConnection({ path })
  await connection.run([ask('create table t (n)')])
  const other = await openConnection({ path })
  await other.run([ask('begin exclusive'), ask('insert into t values (1)')])
  const begun = performance.now()
  await connection.close()
  expect(performance.now() - begun).toBeLessThan(4_000)
  await other.run([ask('commit')])
  await other.close()
  expect(logSize(path)).toBe(0)
  expect(valueIn(path, 'select count(*) from t')).toBe(1)
})
