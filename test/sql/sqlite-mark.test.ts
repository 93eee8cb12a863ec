/**
 * A SQLite file that lost what was acknowledged, with its write-ahead log or by an older copy in its place, is
 * found out by the mark beside it.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  copyFileSync,
  existsSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { describe, expect, it } from 'vitest'
import { DatabaseDamaged, repairDatabase, verifyDatabase } from '../../src/store/index.ts'
import { openSqliteStore } from '../../src/store/sql/open-sql.ts'
import type { SqlStore } from '../../src/store/sql/sql-store.ts'
import { plain } from '../support/specs.ts'
import { freshFile } from '../support/sqlite.ts'

const clock = { now: () => 1_000 }

async function submit(store: SqlStore, ...jobs: readonly string[]): Promise<void> {
  const answers = await store.execute(
    jobs.map((job) => ({ type: 'SubmitJob', job, spec: plain() }) as const),
  )
  expect(answers.map(({ verdict }) => verdict)).toEqual(jobs.map(() => 'committed'))
}

/**
 * A file whose process was killed with ten jobs in the write-ahead log, each acknowledged. `isNew`: the tables
 * are in there, too.
 */
async function killed(isNew = false): Promise<string> {
  const path = await freshFile()
  if (!isNew) await (await openSqliteStore({ path, clock })).close()
  const program = new URL('./sqlite-killed-child.ts', import.meta.url)
  const child = spawn(process.execPath, ['--import', 'tsx', program.pathname, path], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await once(child.stdout, 'data')
  child.kill('SIGKILL')
  await once(child, 'exit')
  return path
}

describe('a SQLite file', () => {
  it('is opened with all that was acknowledged after a kill', async () => {
    const path = await killed()
    const store = await openSqliteStore({ path, clock })
    expect(await store.query({ kind: 'outcome', job: 'j9' })).toMatchObject({ state: 'QUEUED' })
    await store.close()
    expect((await verifyDatabase(`sqlite:${path}`)).problems).toEqual([])
  })

  it.each(['cut', 'flipped', 'gone'])(
    'does not open if its write-ahead log was %s and acknowledged work is lost with it',
    async (how) => {
      const path = await killed()
      const wal = `${path}-wal`
      const bytes = readFileSync(wal)
      expect(bytes.length).toBeGreaterThan(10 * 4_096)
      if (how === 'cut') truncateSync(wal, Math.floor(bytes.length / 2))
      if (how === 'gone') rmSync(wal)
      if (how === 'flipped') {
        const at = Math.floor(bytes.length / 2)
        bytes[at] = (bytes[at] as number) ^ 1
        writeFileSync(wal, bytes)
      }
      rmSync(`${path}-shm`, { force: true })
      const opened = openSqliteStore({ path, clock })
      await expect(opened).rejects.toThrow(DatabaseDamaged)
      await expect(opened).rejects.toThrow(
        /entries up to position \d+ were acknowledged, and it ends at \d+/,
      )
      const { problems } = await verifyDatabase(`sqlite:${path}`)
      expect(problems).toMatchObject([{ table: 'file', what: expect.stringMatching(/are lost/) }])
      const plan = await repairDatabase(`sqlite:${path}`, { apply: false })
      expect(plan.steps).toMatchObject([expect.stringMatching(/^mark: .* to \d+ is lost$/)])
      await expect(openSqliteStore({ path, clock })).rejects.toThrow(DatabaseDamaged)
      expect(await repairDatabase(`sqlite:${path}`, { apply: true })).toMatchObject({
        applied: true,
        left: [],
      })
      expect((await verifyDatabase(`sqlite:${path}`)).problems).toEqual([])
      const store = await openSqliteStore({ path, clock })
      await submit(store, 'after')
      await store.close()
    },
  )

  it('does not open as a new one if all that was ever written is lost', async () => {
    const path = await killed(true)
    for (const end of ['-wal', '-shm']) rmSync(path + end)
    await expect(openSqliteStore({ path, clock })).rejects.toThrow(
      /there are no tables, and entries up to position 10 were acknowledged/,
    )
  })

  it('does not open as an older copy of itself, until a person says that it may', async () => {
    const path = await freshFile()
    const first = await openSqliteStore({ path, clock })
    await submit(first, 'a')
    await first.close()
    copyFileSync(path, `${path}-copy`)
    const second = await openSqliteStore({ path, clock })
    await submit(second, 'b')
    await second.close()
    copyFileSync(`${path}-copy`, path)
    await expect(openSqliteStore({ path, clock })).rejects.toThrow(/or the file is an older copy/)
    rmSync(`${path}-mark`)
    await (await openSqliteStore({ path, clock })).close()
  })

  it('of another store in its place has nothing to do with its mark', async () => {
    const path = await freshFile()
    const first = await openSqliteStore({ path, clock })
    await submit(first, 'a', 'b', 'c')
    await first.close()
    rmSync(path)
    const second = await openSqliteStore({ path, clock })
    await submit(second, 'a')
    await second.close()
    await (await openSqliteStore({ path, clock })).close()
    expect(existsSync(`${path}-mark`)).toBe(true)
  })

  it('whose mark is gone or damaged opens, and has one again after the next commit', async () => {
    const path = await freshFile()
    await (await openSqliteStore({ path, clock })).close()
    for (const damage of [
      () => rmSync(`${path}-mark`, { force: true }),
      () => writeFileSync(`${path}-mark`, 'nonsense'),
    ]) {
      damage()
      const store = await openSqliteStore({ path, clock })
      await submit(store, `job ${existsSync(`${path}-mark`)}`)
      await store.close()
      expect(readFileSync(`${path}-mark`).length).toBe(8_192)
    }
  })
})
