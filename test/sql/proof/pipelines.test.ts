/**
 * What a database reads for one segment of a pipeline, however many there are, and that no change of a
 * pipeline is lost while several processes look at it.
 */
import { describe, expect, it } from 'vitest'
import type { Command } from '../../../src/kernel/index.ts'
import type { Claimed } from '../../../src/store/index.ts'
import type { Connection, StatementResult } from '../../../src/store/sql/connection.ts'
import type { SqlStore } from '../../../src/store/sql/sql-store.ts'
import { verifySql } from '../../../src/store/sql/verify/verify-database.ts'
import { onRecord, pipeline, policy, stage } from '../../support/specs.ts'
import type { Address } from './addresses.ts'
import { dialectOf, openAt } from './addresses.ts'
import { DATABASE_NAMES, freshAddress } from './stores.ts'

const CHANNELS = ['many', 'last'].map((name) => ({ queue: 'default', type: 'test', stage: name }))
const BATCH = 10

/** Over the elements of its input. */
function wide(segments: number) {
  const many = stage('many', { each: 'input', policy: policy({ leaseMs: 3_600_000 }) })
  return pipeline([many, stage('last', { after: ['many'] })], {
    input: JSON.stringify(Array.from({ length: segments }, (_, i) => i)),
  })
}

type Read = readonly [rows: number, bytes: number]

/** Rows and bytes that a store was answered. */
class ReadCount {
  rows = 0
  bytes = 0

  readonly wrap = (connection: Connection): Connection => {
    const run = async (statements: Parameters<Connection['run']>[0]) => {
      const results = await connection.run(statements)
      for (const { rows } of results) this.#count(rows)
      return results
    }
    return { run, close: () => connection.close() }
  }

  reset(): void {
    this.rows = 0
    this.bytes = 0
  }

  #count(rows: StatementResult['rows']): void {
    this.rows += rows.length
    for (const value of rows.flat()) if (value instanceof Uint8Array) this.bytes += value.length
  }
}

class Hand {
  readonly store: SqlStore
  readonly #worker: string
  #request = 0

  constructor(store: SqlStore, worker = 'w') {
    this.store = store
    this.#worker = worker
  }

  async submit(segments: number): Promise<void> {
    await this.store.execute([{ type: 'SubmitJob', job: 'p', spec: wide(segments) }])
    await this.look()
  }

  async look(): Promise<void> {
    const due = await this.store.query({ kind: 'upkeep', limit: 512 })
    if (due.length > 0) await this.store.execute(due)
  }

  claim(): Promise<readonly Claimed[]> {
    this.#request += 1
    const [worker, request] = [this.#worker, this.#request]
    return this.store.claim({ worker, request, channels: CHANNELS, max: BATCH, started: true })
  }

  async work(): Promise<number> {
    const claimed = await this.claim()
    await this.commit(claimed)
    await this.look()
    return claimed.length
  }

  async commit(claimed: readonly Claimed[]): Promise<void> {
    const worker = this.#worker
    const commits = claimed.map(({ job, stage: at, segment, lease }): Command => {
      const address = { job, stage: at, segment, lease, worker }
      return { type: 'CommitExecution', ...address, output: String(segment), effects: [] }
    })
    await this.store.execute(commits)
  }

  async state(): Promise<string | undefined> {
    return (await this.store.query({ kind: 'outcome', job: 'p' }))?.state
  }
}

async function countTallies(address: Address): Promise<number> {
  const connection = await dialectOf(address).connect()
  const [found] = await connection.run([{ sql: 'select count(*) from tallies', values: [] }])
  await connection.close()
  return Number(found?.rows[0]?.[0])
}

describe.each(DATABASE_NAMES)('a pipeline on %s', (name) => {
  it('costs the same to claim from, report to, look at and page through, however large', async () => {
    const costs: Record<string, Read>[] = []
    for (const segments of [50, 1_000]) {
      const count = new ReadCount()
      const store = await openAt(await freshAddress(name), {}, count.wrap)
      const hand = new Hand(store)
      await hand.submit(segments)
      await hand.work()
      const cost: Record<string, Read> = {}
      const measure = async (what: string, work: () => Promise<unknown>): Promise<void> => {
        count.reset()
        await work()
        cost[what] = [count.rows, count.bytes]
      }
      await measure('claim, report, look', () => hand.work())
      const page = { kind: 'outputs', job: 'p', stage: 0, after: 4, limit: 5 } as const
      await measure('outputs', () => store.query(page))
      await measure('task', () => store.query({ kind: 'task', job: 'p', stage: 0, segment: 3 }))
      costs.push(cost)
      await store.close()
    }
    // Times and numbers take more bytes when there are more of them, and a row says when jobs are forgotten.
    for (const [what, [rows, bytes]] of Object.entries(costs[1] ?? {})) {
      const [rowsBefore, bytesBefore] = (costs[0] as Record<string, Read>)[what] as Read
      expect(rows, what).toBeLessThanOrEqual(rowsBefore + 2)
      expect(bytes, what).toBeLessThanOrEqual(bytesBefore * 1.2)
    }
  })

  it('has one row of tallies for each stage once it was looked at, and none when forgotten', async () => {
    const address = await freshAddress(name)
    const hand = new Hand(await openAt(address))
    await hand.submit(30)
    for (let i = 0; i < 2; i++) {
      await hand.work()
      expect(await countTallies(address)).toBe(1)
    }
    while ((await hand.work()) > 0);
    expect(await countTallies(address)).toBe(2)
    expect(await hand.state()).toBe('SUCCEEDED')
    const endedBefore = Date.now()
    await hand.store.execute([{ type: 'ForgetJob', job: 'p', endedBefore }])
    expect(await hand.state()).toBeUndefined()
    expect(await countTallies(address)).toBe(0)
    await hand.store.close()
  })

  it('comes to its end while several processes look at it at once', async () => {
    const address = await freshAddress(name)
    const hands = await Promise.all(
      ['a', 'b', 'c'].map(async (worker) => new Hand(await openAt(address), worker)),
    )
    await hands[0]?.submit(200)
    for (let idle = 0; idle < 2;) {
      const done = await Promise.all(hands.map((hand) => hand.work()))
      idle = done.every((count) => count === 0) ? idle + 1 : 0
    }
    expect(await hands[0]?.state()).toBe('SUCCEEDED')
    expect((await verifySql(dialectOf(address))).problems).toEqual([])
    for (const { store } of hands) await store.close()
  })

  it('that changes between a look and the end of the look is looked at again', async () => {
    const address = await freshAddress(name)
    const { foldTallies } = dialectOf(address).statements
    const other = new Hand(await openAt(address), 'v')
    let beforeFold: (() => Promise<void>) | null = null
    const wrap = (connection: Connection): Connection => ({
      run: async (statements) => {
        const hook = statements.some(({ sql }) => sql === foldTallies) ? beforeFold : null
        if (hook !== null) beforeFold = null
        await hook?.()
        return connection.run(statements)
      },
      close: () => connection.close(),
    })
    const hand = new Hand(await openAt(address, {}, wrap))
    await hand.submit(2 * BATCH)
    const [first, second] = [await hand.claim(), await other.claim()]
    await hand.commit(first)
    // The last segments are over only AFTER the look has found nothing to do.
    beforeFold = () => other.commit(second)
    await hand.look()
    expect(beforeFold).toBeNull()
    const due = await hand.store.query({ kind: 'upkeep', limit: 9 })
    expect(due).toEqual([{ type: 'OpenStage', job: 'p', stage: 1 }])
    for (const { store } of [hand, other]) await store.close()
  })

  it('that is cancelled is stopped to its last segment', async () => {
    const address = await freshAddress(name)
    const [left, right] = [new Hand(await openAt(address)), new Hand(await openAt(address), 'v')]
    await left.submit(1_200)
    await right.claim()
    await left.store.execute([{ type: 'CancelJob', job: 'p', ...onRecord }])
    for (let i = 0; i < 3; i++) await Promise.all([left.look(), right.look()])
    await left.look()
    expect(await left.state()).toBe('FAILED')
    expect((await verifySql(dialectOf(address))).problems).toEqual([])
    for (const { store } of [left, right]) await store.close()
  })
})
