/**
 * The examination of many jobs, most of which are over for long.
 */
import { describe, expect, it } from 'vitest'
import { plain } from '../../../../test/support/specs.ts'
import { freshFile } from '../../../../test/support/sqlite.ts'
import { openSqliteStore } from '../open-sql.ts'

const OVER = 5_100

describe('the examination of a store on a database', () => {
  it('passes jobs that are over a part at a time, and comes to those that are not', async () => {
    const store = await openSqliteStore({ path: await freshFile() })
    const over = Array.from({ length: OVER }, (_, i) => `over-${i}`)
    const spec = plain()
    await store.execute(over.map((job) => ({ type: 'SubmitJob', job, spec }) as const))
    await store.execute(
      over.map((job) => ({ type: 'CancelJob', job, by: 'ops', reason: 'because' }) as const),
    )
    const open = Array.from({ length: 60 }, (_, i) => `open-${i}`)
    await store.execute(open.map((job) => ({ type: 'SubmitJob', job, spec }) as const))
    const rounds: [looked: number, isRoundOver: boolean][] = []
    do {
      const seen = await store.query({ kind: 'examination', limit: 50, waitedMs: 1_000 })
      rounds.push([seen.looked, seen.isRoundOver])
    } while (rounds.at(-1)?.[1] === false)
    expect(rounds.slice(0, 3).map(([looked]) => looked)).toEqual([0, 50, 10])
    // The jobs that are over are folded, too, a few with each call: not all of them in one round.
    expect(rounds.length).toBe(10)
    await store.close()
  })
})
