/**
 * Races between two who use one database, each forced: one of them is stopped where it hurts.
 */
import { describe, expect, it } from 'vitest'
import type { Command, LimitSpec } from '../../../src/kernel/index.ts'
import type { Claimed } from '../../../src/store/index.ts'
import type { Statement, Connection, Row } from '../../../src/store/sql/connection.ts'
import { HISTORY } from '../../../src/store/sql/postgres/history-statements.ts'
import { EntryFeed } from '../../../src/store/sql/queries/entry-feed.ts'
import { Records } from '../../../src/store/sql/rows/records.ts'
import type { SqlStore } from '../../../src/store/sql/sql-store.ts'
import { POSTGRES } from '../../../src/store/sql/postgres/statements.ts'
import { resolved, submitHeldPipeline } from '../../support/held-jobs.ts'
import { onRecord, pipeline, plain, policy, stage } from '../../support/specs.ts'
import type { Address } from './addresses.ts'
import { dialectOf, openAt } from './addresses.ts'
import { DATABASE_NAMES, freshAddress } from './stores.ts'

const ONE: LimitSpec = { key: 'one', concurrency: 1, rate: null }

function ask(sql: string, ...values: Row): Statement {
  return { sql, values }
}

/** A worker with a store of its own, or a shared one. */
class Hand {
  readonly store: SqlStore
  #request = 0

  constructor(store: SqlStore) {
    this.store = store
  }

  async must(...commands: readonly Command[]): Promise<void> {
    const answers = await this.store.execute(commands)
    expect(answers.map(({ rejection }) => rejection)).toEqual(commands.map(() => null))
  }

  submit(job: string, type = 'red', changes: Parameters<typeof plain>[0] = {}): Promise<void> {
    const spec = plain({ type, ...changes }, { queue: 'q', limits: [ONE] })
    return this.must({ type: 'SubmitJob', job, spec })
  }

  async claim(types: readonly string[] = ['red'], stageName: string | null = null) {
    this.#request += 1
    const channels = types.map((type) => ({ queue: 'q', type, stage: stageName }))
    const request = { worker: 'w', request: this.#request, channels, max: 10, started: true }
    return this.store.claim(request)
  }

  async names(types?: readonly string[]): Promise<string[]> {
    return (await this.claim(types)).map(({ job }) => job)
  }

  commit(job: string, lease = 1): Promise<void> {
    return this.must(committing({ job, stage: 0, segment: 0, lease }))
  }
}

type Held = Pick<Claimed, 'job' | 'stage' | 'segment' | 'lease'>

function committing({ job, stage: place, segment, lease }: Held): Command {
  const at = { job, stage: place, segment, lease, worker: 'w' }
  return { type: 'CommitExecution', ...at, output: '1', effects: [] }
}

/** A promise, and what fulfils it. */
function gate(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve!: () => void
  const promise = new Promise<void>((fulfil) => (resolve = fulfil))
  return { promise, resolve }
}

async function settled(work: Promise<unknown>): Promise<boolean> {
  let isOver = false
  void work.then(() => (isOver = true))
  await new Promise((resolve) => setTimeout(resolve, 150))
  return isOver
}

describe.each(DATABASE_NAMES)('a pipeline on %s', (name) => {
  it('that changes while upkeep looks at it is looked at again', async () => {
    const address = await freshAddress(name)
    const operator = new Hand(await openAt(address))
    const stages = [stage('only', { policy: policy({ queue: 'q' }), each: 'input' })]
    const spec = pipeline(stages, { type: 'red', input: '[1,2]' })
    await operator.must({ type: 'SubmitJob', job: 'p', spec })
    await operator.must({ type: 'OpenStage', job: 'p', stage: 0 })
    expect(await operator.claim(['red'], 'only')).toHaveLength(2)
    const { tallyRows } = dialectOf(address).statements
    let isCancelled = false
    const store = await openAt(address, {}, (inner) => ({
      close: () => inner.close(),
      async run(asks) {
        // The job has been read.
        if (!isCancelled && asks.some(({ sql }) => sql === tallyRows)) {
          isCancelled = true
          await operator.must({ type: 'CancelJob', job: 'p', by: 'me', reason: '' })
        }
        return inner.run(asks)
      },
    }))
    const due = async () =>
      (await store.query({ kind: 'upkeep', limit: 9 })).map(({ type }) => type)
    expect(await due()).toEqual([])
    expect(isCancelled).toBe(true)
    expect(await due()).toEqual(['StopTask', 'StopTask'])
    await store.close()
    await operator.store.close()
  })
})

async function two(): Promise<{ address: Address; open: () => Promise<Connection> }> {
  const address = await freshAddress('PostgreSQL')
  await (await openAt(address)).close()
  return { address, open: () => dialectOf(address).connect() }
}

describe.each(DATABASE_NAMES)('a task that is parked for a limit on %s', (name) => {
  async function handWith(...jobs: readonly [job: string, type?: string, ms?: number][]) {
    let now = 1_000
    const hand = new Hand(await openAt(await freshAddress(name), { clock: { now: () => now } }))
    for (const [job, type = 'red', ms = null] of jobs) {
      await hand.submit(job, type, { startWithinMs: ms })
    }
    return { hand, pass: (ms: number) => (now += ms) }
  }

  it('is ready again in every channel when the limit has room', async () => {
    const { hand } = await handWith(['a'], ['b', 'blue'], ['c'])
    expect(await hand.names(['red', 'blue'])).toEqual(['a'])
    await hand.commit('a')
    // No worker takes blue jobs.
    expect(await hand.names()).toEqual(['c'])
    await hand.commit('c')
    expect(await hand.names(['red', 'blue'])).toEqual(['b'])
    await hand.store.close()
  })

  it('is ready again when the task that was unparked before it is cancelled', async () => {
    const { hand } = await handWith(['a'], ['b'], ['c'])
    expect(await hand.names()).toEqual(['a'])
    await hand.commit('a')
    await hand.must({ type: 'CancelJob', job: 'b', by: 'me', reason: '' })
    expect(await hand.names()).toEqual(['c'])
    await hand.store.close()
  })

  it('is ready again when the task that was unparked before it came too late', async () => {
    const { hand, pass } = await handWith(['a'], ['b', 'red', 50], ['c'])
    expect(await hand.names()).toEqual(['a'])
    await hand.commit('a')
    pass(60)
    await hand.must(...(await hand.store.query({ kind: 'upkeep', limit: 10 })))
    expect(await hand.names()).toEqual(['c'])
    await hand.store.close()
  })
})

describe.each(DATABASE_NAMES)('a clock that runs backwards on %s', (name) => {
  it('stands still for claims', async () => {
    let now = 5_000
    const hand = new Hand(await openAt(await freshAddress(name), { clock: { now: () => now } }))
    await hand.submit('a')
    now = 1_000
    expect(await hand.names()).toEqual(['a'])
    await hand.store.close()
  })
})

describe('two transactions on PostgreSQL', () => {
  it('see how far the rate of a queue is used up, whichever waited for the other', async () => {
    const { address, open } = await two()
    const hand = new Hand(await openAt(address))
    const bounds = { concurrency: null, rate: { count: 1, perMs: 1_000_000 }, ageingMs: null }
    await hand.must({ type: 'ConfigureQueue', queue: 'q', ...bounds, ...onRecord })
    for (const job of ['a', 'b']) {
      await hand.must({ type: 'SubmitJob', job, spec: plain({ type: 'red' }, { queue: 'q' }) })
    }
    // The first has the queue, and has not said what it took.
    const first = await open()
    await first.run([ask('begin'), ask(`select 1 from queues where queue = 'q' for update`)])
    const claiming = hand.names()
    expect(await settled(claiming)).toBe(false)
    await first.run([ask('update queues set full_at = 1e15'), ask('commit')])
    expect(await claiming).toEqual([])
    await first.close()
    await hand.store.close()
  })

  it('unpark a task when its limit is freed while another claim has it locked', async () => {
    const address = await freshAddress('PostgreSQL')
    const hand = new Hand(await openAt(address))
    await hand.submit('a')
    await hand.submit('b')
    expect(await hand.names()).toEqual(['a'])
    const other = await dialectOf(address).connect()
    await other.run([ask('begin'), { sql: POSTGRES.lockRows, rows: [['b', -1, 0, false]] }])
    await hand.commit('a')
    expect(await hand.names()).toEqual([])
    await other.run([ask('rollback')])
    expect(await hand.names()).toEqual(['b'])
    await other.close()
    await hand.store.close()
  })

  it('are watched without a gap, whichever transaction began first', async () => {
    const { open } = await two()
    const records = new Records()
    const feed = new EntryFeed(POSTGRES, HISTORY, records)
    const [early, late, watch] = [await open(), await open(), await open()]
    const write = async (connection: Connection, position: number): Promise<void> => {
      const entry = {
        type: 'QueuePaused',
        queue: 'q',
        version: 1,
        at: 1,
        by: '',
        reason: '',
      } as const
      const row = [position, null, null, entry.type, 1, records.ofEntry(entry)]
      await connection.run([{ sql: POSTGRES.insertEvents, rows: [row] }, ask('commit')])
    }
    // The one that began first takes the later position, and ends first.
    await early.run([ask('begin'), ask('select pg_current_xact_id()')])
    await late.run([ask('begin'), ask(POSTGRES.positions, 1)])
    await early.run([ask(POSTGRES.positions, 1)])
    await write(early, 2)
    for (let look = 0; look < 3; look++) expect(await feed.read(watch, 0, {})).toEqual([])
    await write(late, 1)
    expect((await feed.read(watch, 0, {})).map(({ position }) => position)).toEqual([1, 2])
    for (const one of [early, late, watch]) await one.close()
  })

  it('are not on a page as long as an earlier one may still come, whoever reads on behind it', async () => {
    const { address, open } = await two()
    const hand = new Hand(await openAt(address))
    const pageBehind = async (after: number): Promise<number[]> => {
      const through = Number.MAX_SAFE_INTEGER
      const page = await hand.store.query({ kind: 'entries', after, through, limit: 9 })
      return page.map(({ position }) => position)
    }
    const late = await open()
    // The first one is drawn in vain.
    const [drawn] = await late.run([ask(POSTGRES.positions, 1)])
    const first = Number(drawn?.rows[0]?.[0])
    await hand.submit('a')
    // Other tests may write meanwhile: their transactions might be the one that drew it.
    await expect.poll(() => pageBehind(0)).toEqual([first + 1])
    await late.run([ask('begin'), ask(POSTGRES.positions, 1)])
    await hand.submit('b')
    expect(await pageBehind(0)).toEqual([first + 1])
    expect(await pageBehind(first + 1)).toEqual([])
    await late.run([ask('rollback')])
    await expect.poll(() => pageBehind(first + 1)).toEqual([first + 3])
    await late.close()
    await hand.store.close()
  })

  it('do not cancel a pipeline whose last task is committed meanwhile', async () => {
    const address = await freshAddress('PostgreSQL')
    let hold: Promise<void> | null = null
    const worker = new Hand(
      await openAt(address, {}, (inner) => ({
        close: () => inner.close(),
        async run(asks) {
          // What it is to save has been decided.
          if (hold !== null && asks.at(-1)?.sql === 'commit') await hold
          return inner.run(asks)
        },
      })),
    )
    const operator = new Hand(await openAt(address))
    const stages = [stage('only', { policy: policy({ queue: 'q' }), each: 'input' })]
    const spec = pipeline(stages, { type: 'red', input: '[1,2]' })
    await worker.must({ type: 'SubmitJob', job: 'p', spec })
    await worker.must({ type: 'OpenStage', job: 'p', stage: 0 })
    const [first, lease] = await worker.claim(['red'], 'only')
    await worker.must(committing(first as Claimed))
    const { promise, resolve: letGo } = gate()
    hold = promise
    const committed = worker.must(committing(lease as Claimed))
    expect(await settled(committed)).toBe(false)
    const cancelled = operator.store.execute([
      { type: 'CancelJob', job: 'p', by: 'me', reason: '' },
    ])
    expect(await settled(cancelled)).toBe(false)
    letGo()
    await committed
    expect((await cancelled)[0]?.verdict).toBe('rejected')
    const view = await operator.store.query({ kind: 'job', job: 'p' })
    expect(view?.state).toBe('SUCCEEDED')
    await worker.store.close()
    await operator.store.close()
  })
})

describe.each(DATABASE_NAMES)('a page of held effects on %s', (name) => {
  it('leaves out a pipeline whose last one a person said the outcome of meanwhile', async () => {
    const address = await freshAddress(name)
    const other = await openAt(address)
    await submitHeldPipeline(other, 'pipe', 'h')
    const { heldTasks } = dialectOf(address).statements
    const store = await openAt(address, {}, (inner) => ({
      close: () => inner.close(),
      async run(asks) {
        // Its tallies have been read.
        if (asks.some(({ sql }) => sql === heldTasks)) {
          await other.execute([resolved('pipe', 'happened')])
        }
        return inner.run(asks)
      },
    }))
    const asked = { kind: 'quarantine', heldEffects: true, limit: 9 } as const
    expect((await other.query(asked)).jobs.map(({ id }) => id)).toEqual(['pipe'])
    expect((await store.query(asked)).jobs).toEqual([])
    await store.close()
    await other.close()
  })
})
