/**
 * How an idle process sees that another one wrote to the file, without asking the database.
 */
import { symlink, utimes, writeFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { plain } from '../../../../test/support/specs.ts'
import { freshFile } from '../../../../test/support/sqlite.ts'
import { openSqliteStore } from '../open-sql.ts'
import { sqliteDialect } from './dialect.ts'

it('is none while what was written may not be seen yet, or look like what is written next', async () => {
  const path = await freshFile()
  const { signOfWrites } = sqliteDialect({ path })
  await writeFile(`${path}-wal`, 'a')
  expect(signOfWrites?.()).toBe(null)
  const before = new Date(Date.now() - 1_000)
  await utimes(`${path}-wal`, before, before)
  const sign = signOfWrites?.()
  expect(sign).toBeTypeOf('string')
  expect(signOfWrites?.()).toBe(sign)
  await utimes(`${path}-wal`, before, new Date(before.getTime() - 5))
  expect(signOfWrites?.()).not.toBe(sign)
})

it('is there for a file that is known by another name, too', async () => {
  const path = await freshFile()
  const link = `${path}-link`
  const store = await openSqliteStore({ path })
  await symlink(path, link)
  const other = await openSqliteStore({ path: link })
  let news = 0
  other.onNews(() => (news += 1))
  await expect.poll(() => news).toBeGreaterThan(0)
  // It looks by itself twice in a second: not as often as it finds something here.
  const took: number[] = []
  for (let i = 0; i < 6; i++) {
    news = 0
    const began = performance.now()
    await store.execute([{ type: 'SubmitJob', job: `j${i}`, spec: plain() }])
    await expect.poll(() => news, { interval: 2 }).toBeGreaterThan(0)
    took.push(performance.now() - began)
  }
  expect(took.toSorted((a, b) => a - b)[3]).toBeLessThan(200)
  await store.close()
  await other.close()
})
