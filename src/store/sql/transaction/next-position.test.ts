/**
 * Batches that are sent without asking where they will stand: other processes may have written.
 */
import { describe, expect, it } from 'vitest'
import type { Command } from '../../../kernel/index.ts'
import { plain } from '../../../../test/support/specs.ts'
import { freshFile } from '../../../../test/support/sqlite.ts'
import type { Positioned } from '../../store.ts'
import { openSqliteStore } from '../open-sql.ts'
import type { SqlStore } from '../sql-store.ts'

const BATCHES = 40
const BATCH = 300

async function submit(store: SqlStore, name: string): Promise<void> {
  const all: Promise<unknown>[] = []
  for (let i = 0; i < BATCHES; i++) {
    const jobs = Array.from({ length: i % 3 === 0 ? 1 : BATCH }, (_, k) => `${name}-${i}-${k}`)
    all.push(store.execute(jobs.map(command)))
    if (i % 4 === 0) await Promise.all(all.splice(0))
  }
  await Promise.all(all)
}

function command(job: string): Command {
  return { type: 'SubmitJob', job, spec: plain() }
}

async function positions(store: SqlStore, count: number): Promise<number[]> {
  const seen: Positioned[] = []
  for await (const one of store.watch(0)) {
    seen.push(one)
    if (seen.length === count) break
  }
  return seen.map(({ position }) => position)
}

describe('batches of several processes on one file', () => {
  it('stand one behind the other, and whoever watches sees each of them once', async () => {
    const path = await freshFile()
    const stores = await Promise.all([openSqliteStore({ path }), openSqliteStore({ path })])
    const count = Array.from({ length: BATCHES }, (_, i) => (i % 3 === 0 ? 1 : BATCH))
    const expected = 2 * count.reduce((sum, one) => sum + one, 0)
    const watching = positions(stores[0], expected)
    await Promise.all(stores.map((store, i) => submit(store, `s${i}`)))
    const seen = await watching
    expect(seen).toEqual(Array.from({ length: expected }, (_, i) => i + 1))
    for (const store of stores) await store.close()
  })

  it('are sent again when one of them was wrong: those behind it are, too', async () => {
    const path = await freshFile()
    const one = await openSqliteStore({ path })
    const other = await openSqliteStore({ path })
    await one.execute([command('a')])
    await other.execute([command('b')])
    const many = Array.from({ length: 900 }, (_, i) => command(`m-${i}`))
    const answers = await Promise.all(
      [0, 300, 600].map((at) => one.execute(many.slice(at, at + 300))),
    )
    expect(answers.flat().every(({ verdict }) => verdict === 'committed')).toBe(true)
    expect(await positions(other, 902)).toEqual(Array.from({ length: 902 }, (_, i) => i + 1))
    await one.close()
    await other.close()
  })
})
