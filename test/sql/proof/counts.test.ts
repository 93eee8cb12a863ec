/**
 * The counts of queues, and claims of workers that serve many: neither costs more because more jobs wait,
 * or because more queues are served.
 */
import { describe, expect, it } from 'vitest'
import type { Command } from '../../../src/kernel/index.ts'
import type { Statement } from '../../../src/store/sql/connection.ts'
import type { SqlStore } from '../../../src/store/sql/sql-store.ts'
import { CountFold } from '../../../src/store/sql/upkeep/count-fold.ts'
import { verifySql } from '../../../src/store/sql/verify/verify-database.ts'
import { plain } from '../../support/specs.ts'
import type { Wrap } from './addresses.ts'
import { dialectOf, openAt } from './addresses.ts'
import { DATABASE_NAMES, freshAddress } from './stores.ts'

function submit(
  job: string,
  queue: string,
  dueAt: number | null = null,
  priority = 0,
): Command & { type: 'SubmitJob' } {
  return { type: 'SubmitJob', job, spec: plain({ dueAt, priority }, { queue }) }
}

function channels(count: number): { queue: string; type: string; stage: null }[] {
  return Array.from({ length: count }, (_, i) => ({ queue: `q${i}`, type: 'test', stage: null }))
}

async function countsOf(store: SqlStore, queue: string): Promise<[ready: number, held: number]> {
  const { ready, held } = await store.query({ kind: 'queue', queue })
  return [ready, held]
}

describe.each(DATABASE_NAMES)('on %s, the counts of a queue', (name) => {
  it('are right after every commit, before and after they are added up', async () => {
    const address = await freshAddress(name)
    let now = 1_000_000
    const store = await openAt(address, { clock: { now: () => now } })
    await store.execute([submit('a', 'q0'), submit('b', 'q0'), submit('c', 'q0', now + 500)])
    expect(await countsOf(store, 'q0')).toEqual([2, 0])
    // It is due, and no claim has given it a turn yet.
    now += 500
    expect(await countsOf(store, 'q0')).toEqual([3, 0])
    const request = { worker: 'w', channels: channels(1), started: true }
    await store.claim({ ...request, request: 1, max: 1 })
    expect(await countsOf(store, 'q0')).toEqual([2, 1])
    const connection = await dialectOf(address).connect()
    await new CountFold(dialectOf(address).statements).foldIfDue(connection)
    expect(await countsOf(store, 'q0')).toEqual([2, 1])
    if (name === 'PostgreSQL') {
      const [left] = await connection.run([
        { sql: 'select count(*) from count_changes', values: [] },
      ])
      expect(left?.rows).toEqual([[0]])
    }
    await connection.close()
    await store.execute([{ type: 'CancelJob', job: 'b', by: 'x', reason: 'y' }])
    expect(await countsOf(store, 'q0')).toEqual([1, 1])
    expect((await store.query({ kind: 'metrics' })).leases).toBe(1)
    await store.close()
    expect((await verifySql(dialectOf(address))).problems).toEqual([])
  })
})

describe.each(DATABASE_NAMES)('on %s, a claim for many channels', (name) => {
  it('looks into those only that have something', async () => {
    const address = await freshAddress(name)
    let now = 1_000_000
    const sent: Statement[] = []
    const wrap: Wrap = (connection) => ({
      run: (statements) => {
        sent.push(...statements)
        return connection.run(statements)
      },
      close: () => connection.close(),
    })
    const store = await openAt(address, { clock: { now: () => now } }, wrap)
    const lookedInto = (): number => {
      const { candidates } = dialectOf(address).statements
      return sent
        .splice(0)
        .reduce(
          (sum, one) => sum + (one.sql === candidates && 'rows' in one ? one.rows.length : 0),
          0,
        )
    }
    const claim = async (request: number): Promise<string[]> => {
      const claimed = await store.claim({
        worker: 'w',
        request,
        channels: channels(200),
        max: 10,
        started: true,
      })
      return claimed.map(({ job }) => job).toSorted()
    }
    await claim(1)
    await store.execute([submit('a', 'q7'), submit('b', 'q100'), submit('c', 'q150', now + 500)])
    await store.execute([submit('other', 'of another worker')])
    lookedInto()
    expect(await claim(2)).toEqual(['a', 'b'])
    expect(lookedInto()).toBeLessThanOrEqual(4)
    expect(await claim(3)).toEqual([])
    expect(lookedInto()).toBe(0)
    now += 500
    expect(await claim(4)).toEqual(['c'])
    expect(lookedInto()).toBeLessThanOrEqual(3)
    // Where all have something, into those whose first tasks come first.
    const all = Array.from({ length: 200 }, (_, i) =>
      submit(`job ${i}`, `q${i}`, now, (i * 7) % 200),
    )
    const inOrder = all.toSorted((a, b) => b.spec.priority - a.spec.priority).map(({ job }) => job)
    await store.execute(all)
    const tenOf = (from: number): string[] => inOrder.slice(from, from + 10).toSorted()
    // The first claim of all gets to know the queues.
    expect(await claim(5)).toEqual(tenOf(0))
    lookedInto()
    expect(await claim(6)).toEqual(tenOf(10))
    expect(lookedInto()).toBeLessThan(50)
    await store.execute(
      inOrder.slice(20, 80).map((job) => {
        return { type: 'CancelJob', job, by: 'x', reason: 'y' } as const
      }),
    )
    expect(await claim(7)).toEqual(tenOf(80))
    await store.close()
  })
})
