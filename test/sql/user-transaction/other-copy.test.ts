/**
 * Two copies of SQLite in one process do not see each other's locks: a transaction of another one
 * than the store's is refused before anything is lost.
 */
import { cpSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { DatabaseSyncInstance } from '@photostructure/sqlite'
import { expect, it, onTestFinished } from 'vitest'
import { fromSqlite, job, openSqlite, typed } from '../../../src/index.ts'
import { inSqlite, openSqliteShop } from './sqlite-shop.ts'

const invoice = job('invoice', { input: typed<string>(), run: ({ input }) => input })

/** The same library once more, as another package brings it with it. */
function otherCopy(): typeof import('@photostructure/sqlite') {
  const require = createRequire(import.meta.url)
  const folder = mkdtempSync(join(tmpdir(), 'pawl-copy-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const own = join(dirname(realpathSync(require.resolve('@photostructure/sqlite'))), '..')
  cpSync(own, join(folder, 'sqlite'), { recursive: true })
  cpSync(join(own, '../../node-gyp-build'), join(folder, 'node_modules/node-gyp-build'), {
    recursive: true,
  })
  return require(join(folder, 'sqlite')) as typeof import('@photostructure/sqlite')
}

it('a transaction of another copy is refused, and its owner can roll it back', async () => {
  const { pawl, path, database } = await openSqliteShop()
  const { DatabaseSync } = otherCopy()
  const other: DatabaseSyncInstance = new DatabaseSync(path)
  onTestFinished(() => other.close())
  const submitting = inSqlite(other, () =>
    pawl.submit(invoice, 'a', { id: 'a', tx: fromSqlite(other) }),
  )
  await expect(submitting).rejects.toMatchObject({
    code: 'TransactionFailed',
    message: expect.stringContaining('another copy of SQLite') as string,
  })
  expect(await pawl.get('a')).toBeNull()
  await inSqlite(database, () => pawl.submit(invoice, 'b', { id: 'b', tx: fromSqlite(database) }))
  expect(await pawl.get('b')).toMatchObject({ state: 'QUEUED' })
})

it('a connection of openSqlite is of the same copy, and waits for others', async () => {
  const { pawl, path } = await openSqliteShop()
  const own = openSqlite(path)
  onTestFinished(() => own.close())
  expect(own.prepare('pragma busy_timeout').get()).toEqual({ timeout: 5_000 })
  await inSqlite(own, () => pawl.submit(invoice, 'c', { id: 'c', tx: fromSqlite(own) }))
  expect(await pawl.get('c')).toMatchObject({ state: 'QUEUED' })
})
