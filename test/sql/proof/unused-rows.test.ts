/**
 * Rows of limits and of groups that say nothing any more: upkeep deletes them, and no claim is granted
 * more meanwhile than it would have been.
 */
import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { Command, JobSpec } from '../../../src/kernel/index.ts'
import type { Claimed } from '../../../src/store/index.ts'
import type { Row } from '../../../src/store/sql/connection.ts'
import type { SqlStore } from '../../../src/store/sql/sql-store.ts'
import { UnusedRows } from '../../../src/store/sql/upkeep/unused-rows.ts'
import { verifySql } from '../../../src/store/sql/verify/verify-database.ts'
import { plain } from '../../support/specs.ts'
import type { Address } from './addresses.ts'
import { dialectOf, openAt } from './addresses.ts'
import { DATABASE_NAMES, freshAddress } from './stores.ts'

const CHANNELS = [{ queue: 'default', type: 'test', stage: null }]
const DAY_MS = 86_400_000

function limited(key: string, group: string | null = null): JobSpec {
  const limits = [{ key, concurrency: 1, rate: { count: 5, perMs: 1_000 } }]
  return plain({ group }, { limits })
}

function submit(job: string, spec: JobSpec): Command {
  return { type: 'SubmitJob', job, spec }
}

function commit({ job, stage, segment, lease }: Claimed, worker: string): Command {
  const address = { job, stage, segment, lease, worker }
  return { type: 'CommitExecution', ...address, output: '1', effects: [] }
}

async function rowsOf(address: Address, sql: string): Promise<readonly Row[]> {
  const connection = await dialectOf(address).connect()
  const [answered] = await connection.run([{ sql, values: [] }])
  await connection.close()
  return answered?.rows ?? []
}

const KEYS = 'select key from limits order by key'
const GROUPS = 'select grp from group_turns order by grp'

async function claim(
  store: SqlStore,
  worker: string,
  request: number,
): Promise<readonly Claimed[]> {
  return store.claim({ worker, request, channels: CHANNELS, max: 50, started: true })
}

describe.each(DATABASE_NAMES)('on %s, unused rows', (name) => {
  it('are deleted by upkeep, and no others', async () => {
    const address = await freshAddress(name)
    let now = 1_000_000
    const store = await openAt(address, { clock: { now: () => now } })
    const jobs = Array.from({ length: 20 }, (_, i) => submit(`job-${i}`, limited(`k${i}`, `g${i}`)))
    await store.execute(jobs)
    const taken = await claim(store, 'w', 1)
    expect(taken).toHaveLength(20)
    const [held, ...others] = taken as [Claimed, ...Claimed[]]
    await store.execute(others.map((one) => commit(one, 'w')))
    expect(await rowsOf(address, KEYS)).toHaveLength(20)
    await store.execute([submit('newest', limited('newest', 'newest'))])
    expect(await rowsOf(address, GROUPS)).toHaveLength(21)
    await store.query({ kind: 'upkeep', limit: 10 })
    // Their buckets are not full for long yet, and everybody's turn is behind the one that waits.
    expect(await rowsOf(address, KEYS)).toHaveLength(20)
    expect(await rowsOf(address, GROUPS)).toEqual([['newest']])
    await store.execute([{ type: 'CancelJob', job: 'newest', by: 'me', reason: '' }])
    await store.close()
    now += DAY_MS
    const later = await openAt(address, { clock: { now: () => now } })
    await later.query({ kind: 'upkeep', limit: 10 })
    expect(await rowsOf(address, KEYS)).toEqual([[`k${held.job.slice('job-'.length)}`]])
    expect(await rowsOf(address, GROUPS)).toEqual([['newest']])
    expect((await verifySql(dialectOf(address))).problems).toEqual([])
    await later.execute([submit('again', limited('k5', 'g5')), submit('behind', limited('k5'))])
    expect((await claim(later, 'w', 2)).map(({ job }) => job)).toEqual(['again'])
    await later.close()
  })

  it('are inserted again by transactions that need them, while others delete them', async () => {
    const address = await freshAddress(name)
    const stores = await Promise.all([openAt(address), openAt(address)])
    const dialect = dialectOf(address)
    const connection = await dialect.connect()
    const unused = new UnusedRows(dialect.statements)
    let [swept, done, isOver] = [0, 0, false]
    const sweeping = (async () => {
      for (;;) {
        // By then every bucket is full.
        swept += await unused.deletePortion(connection, Date.now() + DAY_MS)
        if (isOver) return
      }
    })()
    const specs = plain({}, { limits: [{ key: 'one', concurrency: 1, rate: null }] })
    const jobs = Array.from({ length: 60 }, (_, i) => submit(`job-${i}`, specs))
    await stores[0].execute(jobs)
    const holders = new Set<string>()
    await Promise.all(
      stores.map(async (store, i) => {
        for (let request = 1; done < jobs.length; request++) {
          const taken = await claim(store, `w${i}`, request)
          for (const one of taken) holders.add(one.job)
          expect(holders.size).toBeLessThan(2)
          await turn()
          for (const { job } of taken) holders.delete(job)
          done += taken.length
          await store.execute(taken.map((one) => commit(one, `w${i}`)))
        }
      }),
    )
    isOver = true
    await sweeping
    await connection.close()
    expect(swept).toBeGreaterThan(0)
    expect((await verifySql(dialect)).problems).toEqual([])
    for (const store of stores) await store.close()
  })
})
