/**
 * PostgreSQL: jobs that are granted in the transaction that they are submitted in, to one that has
 * room for them.
 */
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Command, JobSpec } from '../../../src/kernel/index.ts'
import type { Answer, Claimed } from '../../../src/store/index.ts'
import { FIRST_SUBMIT_CLAIM } from '../../../src/store/index.ts'
import { POSTGRES } from '../../../src/store/sql/postgres/statements.ts'
import { sqlFailed } from '../../../src/store/sql/failures.ts'
import type { SqlOptions } from '../../../src/store/sql/open-sql.ts'
import type { SqlStore } from '../../../src/store/sql/sql-store.ts'
import { pipeline, plain, stage } from '../../support/specs.ts'
import type { Address, Wrap } from './addresses.ts'
import { dialectOf, openAt } from './addresses.ts'
import { checkLog } from './log-check.ts'
import { freshAddress } from './stores.ts'

const by = { by: 'ops', reason: 'because' }
const CHANNELS = [{ queue: 'q', type: 'red', stage: null }]

const BOTH = [...CHANNELS, { queue: 'q', type: 'blue', stage: null }]

/** A worker with so many places, whose claims travel with what it submits. */
class Room {
  places: number
  readonly settled: string[][] = []
  readonly leases: Claimed[] = []
  readonly #store: SqlStore
  #next = FIRST_SUBMIT_CLAIM

  constructor(store: SqlStore, places: number) {
    this.#store = store
    this.places = places
  }

  async execute(commands: readonly Command[]): Promise<readonly Answer[]> {
    const max = Math.min(commands.length, this.places)
    const request = { worker: 'w', request: this.#next++, channels: BOTH, max, started: true }
    this.places -= max
    let granted: readonly Claimed[] = []
    try {
      const done = await this.#store.submitAndClaim!(commands, [request])
      granted = done.claimed[0] as readonly Claimed[]
      return done.answers
    } finally {
      this.places += max - granted.length
      this.settled.push(granted.map(({ job }) => job))
      this.leases.push(...granted)
    }
  }
}

interface Scene {
  readonly address: Address
  readonly store: SqlStore
  readonly room: Room
}

/** A store with a worker that has room. In the end everything in it must be right. */
async function scene(places: number, options: SqlOptions = {}, wrap?: Wrap): Promise<Scene> {
  const address = await freshAddress('PostgreSQL')
  const store = await openAt(address, options, wrap)
  onTestFinished(async () => {
    await store.close()
    expect((await checkLog(dialectOf(address))).problems).toEqual([])
  })
  const room = new Room(store, places)
  return { address, store, room }
}

function submit(job: string, spec: Partial<JobSpec> = {}): Command {
  return { type: 'SubmitJob', job, spec: plain({ type: 'red', ...spec }, { queue: 'q' }) }
}

function submits(...jobs: string[]): Command[] {
  return jobs.map((job) => submit(job))
}

async function claim(store: SqlStore, max = 9): Promise<string[]> {
  const request = { worker: 'other', request: 1, channels: CHANNELS, max, started: true }
  return (await store.claim(request)).map(({ job }) => job)
}

async function stateOf(store: SqlStore, job: string): Promise<string | undefined> {
  return (await store.query({ kind: 'job', job }))?.state
}

async function ask(address: Address, sql: string): Promise<unknown> {
  const connection = await dialectOf(address).connect()
  const [answered] = await connection.run([{ sql, values: [] }])
  await connection.close()
  return answered?.rows[0]?.[0]
}

it('a job is granted in the transaction of its submit, and its commit counts', async () => {
  const { address, store, room } = await scene(1)
  const [answer] = await room.execute([submit('a')])
  expect(answer).toMatchObject({ verdict: 'committed', value: 'a' })
  expect(room.settled).toEqual([['a']])
  expect(await ask(address, 'select count(*)::int8 from events')).toBe(2)
  expect(await ask(address, 'select count(distinct xmin::text)::int8 from events')).toBe(1)
  const { job, stage: at, segment, lease } = room.leases[0] as Claimed
  const commit = { job, stage: at, segment, lease, worker: 'w', output: '1', effects: [] }
  const [done] = await store.execute([{ type: 'CommitExecution', ...commit }])
  expect(done?.verdict).toBe('committed')
  expect(await stateOf(store, 'a')).toBe('SUCCEEDED')
})

it('no more are granted than there is room for, and the others wait in their order', async () => {
  const { store, room } = await scene(2)
  await room.execute(submits('a', 'b', 'c', 'd'))
  expect(room.settled).toEqual([['a', 'b']])
  expect(room.places).toBe(0)
  expect(await claim(store)).toEqual(['c', 'd'])
})

it('an id that is submitted twice at once is one job, and granted once', async () => {
  const { room } = await scene(5)
  await room.execute(submits('a', 'b', 'a'))
  await Promise.all([room.execute(submits('c')), room.execute(submits('c'))])
  expect(room.settled[0]).toEqual(['a', 'b'])
  expect(room.settled.flat().toSorted()).toEqual(['a', 'b', 'c'])
  expect(room.places).toBe(2)
})

it('of those that come together, the most urgent are granted first, whatever their type', async () => {
  const { store, room } = await scene(3)
  const blue = { type: 'blue', priority: 9 }
  await room.execute([
    submit('a'),
    submit('b', { priority: 5 }),
    submit('c', blue),
    submit('d', { priority: 5 }),
  ])
  expect(room.settled).toEqual([['c', 'b', 'd']])
  expect(await claim(store)).toEqual(['a'])
})

it('nothing is granted before a task that is ready', async () => {
  const { store, room } = await scene(0)
  await room.execute(submits('a'))
  room.places = 5
  await room.execute(submits('b'))
  expect(room.settled).toEqual([[], []])
  expect(room.places).toBe(5)
  expect(await claim(store)).toEqual(['a', 'b'])
})

it('nothing is granted before a task that is due and has no turn yet', async () => {
  let now = 1_000_000
  const { store, room } = await scene(5, { clock: { now: () => now } })
  await room.execute([submit('a', { delayMs: 1_000 })])
  now += 5_000
  await room.execute(submits('b'))
  expect(room.settled).toEqual([[], []])
  expect(await claim(store)).toEqual(['a', 'b'])
})

it('nothing is granted in a queue that another process has paused', async () => {
  const { address, store, room } = await scene(5)
  await room.execute(submits('a'))
  const other = await openAt(address)
  await other.execute([{ type: 'PauseQueue', queue: 'q', ...by }])
  await other.close()
  await room.execute(submits('b'))
  expect(room.settled).toEqual([['a'], []])
  expect(await stateOf(store, 'b')).toBe('QUEUED')
})

it('a queue that another process has limited lets no more through', async () => {
  const { address, room } = await scene(5)
  await room.execute(submits('a'))
  const other = await openAt(address)
  const rules = { concurrency: 2, rate: null, ageingMs: null }
  await other.execute([{ type: 'ConfigureQueue', queue: 'q', ...rules, ...by }])
  await other.close()
  await room.execute(submits('b', 'c'))
  expect(room.settled).toEqual([['a'], ['b']])
  expect(room.places).toBe(3)
})

describe('a claim does not get a job', () => {
  const limits = [{ key: 'k', concurrency: 1, rate: null }]
  const specs: [string, JobSpec][] = [
    ['that waits for its time', plain({ type: 'red', delayMs: 1_000 })],
    ['that has a time', plain({ type: 'red', dueAt: 9_000_000_000_000 })],
    ['that is held', plain({ type: 'red', held: true })],
    ['that takes turns with others', plain({ type: 'red', group: 'g' })],
    ['that has a limit', plain({ type: 'red' }, { limits })],
    ['that is a pipeline', pipeline([stage('one')])],
  ]
  it.each(specs)('%s', async (_, spec) => {
    const { room } = await scene(5)
    await room.execute([{ type: 'SubmitJob', job: 'a', spec }])
    expect(room.settled).toEqual([[]])
  })

  it('that comes together with a change of a queue', async () => {
    const { store, room } = await scene(5)
    await room.execute([{ type: 'PauseQueue', queue: 'other', ...by }, submit('a')])
    expect(room.settled).toEqual([[]])
    expect(await claim(store)).toEqual(['a'])
  })

  it('that is no job', async () => {
    const { room } = await scene(5)
    const spec = { ...plain(), policy: { limits: [] } } as unknown as JobSpec
    const [answer] = await room.execute([{ type: 'SubmitJob', job: 'a', spec }])
    expect(answer?.verdict).toBe('rejected')
    expect(room.settled.flat()).toEqual([])
    expect(room.places).toBe(5)
  })
})

it('a job that runs is not handed out again when it is submitted again', async () => {
  const { room } = await scene(5)
  await room.execute(submits('a'))
  const [again] = await room.execute(submits('a'))
  expect(again).toMatchObject({ verdict: 'committed', value: 'a' })
  const [other] = await room.execute([submit('a', { input: '"other"' })])
  expect(other?.rejection?.code).toBe('IdReused')
  expect(room.settled).toEqual([['a'], [], []])
  expect(room.places).toBe(4)
})

/** Loses the connection once, around what saves the first job. */
function losing(moment: 'before' | 'behind'): Wrap {
  let isDone = false
  return (connection) => ({
    close: () => connection.close(),
    run: async (asks) => {
      const isIt = !isDone && asks.some(({ sql }) => sql === POSTGRES.insertRows)
      if (!isIt) return connection.run(asks)
      isDone = true
      if (moment === 'behind') await connection.run(asks)
      await connection.close()
      throw sqlFailed('lost', 'It', new Error('the answer never came'))
    },
  })
}

it('what was granted before the connection was lost is handed out once', async () => {
  const { store, room } = await scene(1, {}, losing('behind'))
  const [answer] = await room.execute([submit('a')])
  expect(answer).toMatchObject({ verdict: 'committed', value: 'a' })
  expect(room.settled).toEqual([['a']])
  expect(room.leases[0]).toMatchObject({ lease: 1, attempt: 1 })
  expect(await claim(store)).toEqual([])
})

it('what was not granted before the connection was lost waits for a claim', async () => {
  const { store, room } = await scene(1, {}, losing('before'))
  await room.execute([submit('a')])
  expect(room.settled).toEqual([[]])
  expect(await claim(store)).toEqual(['a'])
})

/** Has no room for entries. */
const failing: Wrap = (connection) => ({
  close: () => connection.close(),
  run: async (asks) => {
    const isSaved = asks.some(({ sql }) => sql === POSTGRES.insertEvents)
    if (isSaved) throw sqlFailed('full', 'It', new Error('no room'))
    return connection.run(asks)
  },
})

it('room is given back when a submit fails', async () => {
  const { room } = await scene(1, {}, failing)
  await expect(room.execute([submit('a')])).rejects.toThrow()
  expect(room.settled).toEqual([[]])
  expect(room.places).toBe(1)
})

it('a claim gets no job of a channel that it does not name', async () => {
  const { store, room } = await scene(5)
  await room.execute([submit('a', { type: 'green' }), submit('b')])
  expect(room.settled).toEqual([['b']])
  expect(await stateOf(store, 'a')).toBe('QUEUED')
})

it('two claims share what is submitted, and neither gets more than it has room for', async () => {
  const { store } = await scene(0)
  const claims = [1, 2].map((max, i) => {
    return { worker: `w${i}`, request: FIRST_SUBMIT_CLAIM, channels: CHANNELS, max, started: true }
  })
  const jobs = [submit('a'), submit('b', { type: 'blue' }), submit('c'), submit('d'), submit('e')]
  const { claimed } = await store.submitAndClaim!(jobs, claims)
  expect(claimed.map((granted) => granted.map(({ job }) => job))).toEqual([['a'], ['c', 'd']])
  expect(await claim(store)).toEqual(['e'])
})

it('a claim of the wrong form is refused, and nothing is submitted', async () => {
  const { store } = await scene(0)
  const wrong = { worker: '', request: 1, channels: CHANNELS, max: 1, started: true }
  await expect(store.submitAndClaim!(submits('a'), [wrong])).rejects.toMatchObject({
    code: 'BadRequest',
  })
  expect(await stateOf(store, 'a')).toBeUndefined()
})

it('a claim that is asked again gets what it got, whatever came with a submit meanwhile', async () => {
  const { store, room } = await scene(0)
  await room.execute(submits('a'))
  const request = { worker: 'w', request: 7, channels: CHANNELS, max: 1, started: true }
  expect(await store.claim(request)).toHaveLength(1)
  room.places = 1
  await room.execute(submits('b'))
  expect(room.settled).toEqual([[], ['b']])
  const again = await store.claim(request)
  expect(again.map(({ job }) => job)).toEqual(['a'])
})
