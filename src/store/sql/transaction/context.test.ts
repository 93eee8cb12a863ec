/**
 * What a process remembers between transactions, while other processes write.
 */
import { describe, expect, it } from 'vitest'
import type { Command, JobSpec } from '../../../kernel/index.ts'
import { onRecord, pipeline, plain, stage } from '../../../../test/support/specs.ts'
import { freshFile } from '../../../../test/support/sqlite.ts'
import type { Claimed, PositionedEntry } from '../../store.ts'
import type { Connection } from '../connection.ts'
import { openSql, openSqliteStore } from '../open-sql.ts'
import type { SqlStore } from '../sql-store.ts'
import { sqliteDialect } from '../sqlite/dialect.ts'

const CHANNELS = [{ queue: 'default', type: 'test', stage: null }]
const ops = { by: 'ops', reason: 'because' }

async function twoStores(): Promise<{ now: { time: number }; one: SqlStore; other: SqlStore }> {
  const path = await freshFile()
  const now = { time: 1_000 }
  const clock = { now: () => now.time }
  return {
    now,
    one: await openSqliteStore({ path, clock }),
    other: await openSqliteStore({ path, clock }),
  }
}

async function claimOne(store: SqlStore, worker: string): Promise<Claimed> {
  const request = { worker, request: 1, channels: CHANNELS, max: 1, started: true }
  const [leased] = await store.claim(request)
  return leased as Claimed
}

function commit({ job, lease }: Claimed, worker: string): Command {
  const at = { job, stage: 0, segment: 0, lease, worker }
  return { type: 'CommitExecution', ...at, output: '"mine"', effects: [] }
}

describe('a report about a job that was not read again', () => {
  it('is told that authority was lost when another process took it away', async () => {
    const { one, other } = await twoStores()
    await one.execute([{ type: 'SubmitJob', job: 'a', spec: plain() }])
    const leased = await claimOne(one, 'w')
    await other.execute([{ type: 'CancelJob', job: 'a', ...ops }])
    const [answer] = await one.execute([commit(leased, 'w')])
    expect(answer?.verdict).toBe('cancelled')
    const view = await one.query({ kind: 'job', job: 'a' })
    expect(view?.state).toBe('FAILED')
    await one.close()
    await other.close()
  })

  it('does not reach a later life of the id, though its version is the same', async () => {
    const { now, one, other } = await twoStores()
    await one.execute([{ type: 'SubmitJob', job: 'a', spec: plain({}, { leaseMs: 10 }) }])
    const leased = await claimOne(one, 'w')
    await other.execute([{ type: 'CancelJob', job: 'a', ...ops }])
    now.time += 5
    await other.execute([
      { type: 'ForgetJob', job: 'a', endedBefore: now.time },
      { type: 'SubmitJob', job: 'a', spec: plain({ input: '"another"' }) },
    ])
    await claimOne(other, 'v')
    const [answer] = await one.execute([commit(leased, 'w')])
    expect(answer?.rejection?.code).toBe('NotLeaseHolder')
    const view = await other.query({ kind: 'job', job: 'a' })
    expect(view?.state).toBe('RUNNING')
    await one.close()
    await other.close()
  })

  it('is not answered as a repeat, when it may be of a job that is gone', async () => {
    const { now, one, other } = await twoStores()
    await one.execute([{ type: 'SubmitJob', job: 'a', spec: plain() }])
    const { lease } = await claimOne(one, 'w')
    const at = { job: 'a', stage: 0, segment: 0, lease, worker: 'w' }
    const extend: Command = { type: 'ExtendLease', ...at, extension: 1 }
    expect((await one.execute([extend]))[0]?.verdict).toBe('committed')
    await other.execute([{ type: 'CancelJob', job: 'a', ...ops }])
    now.time += 5
    await other.execute([{ type: 'ForgetJob', job: 'a', endedBefore: now.time }])
    expect((await one.execute([extend]))[0]?.rejection?.code).toBe('UnknownTask')
    await one.close()
    await other.close()
  })
})

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
  const seen: PositionedEntry[] = []
  for await (const one of store.watch(0)) {
    seen.push(one)
    if (seen.length === count) break
  }
  return seen.map(({ position }) => position)
}

describe('batches of several processes on one file, which assume their positions', () => {
  it('follow each other, and a watch sees each entry once', async () => {
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

interface Counted {
  readonly store: SqlStore
  readonly now: { time: number }
  /** How often it was asked for what was submitted, in a round trip of its own. */
  asked: number
}

async function opened(): Promise<Counted> {
  const dialect = sqliteDialect({ path: await freshFile() })
  const connect = async (): Promise<Connection> => {
    const connection = await dialect.connect()
    return {
      run: (statements) => {
        if (statements.some(({ sql }) => sql === dialect.statements.events)) counted.asked += 1
        return connection.run(statements)
      },
      close: () => connection.close(),
    }
  }
  const now = { time: 1_000 }
  const store = await openSql({ ...dialect, connect }, { clock: { now: () => now.time } })
  const counted = { store, now, asked: 0 }
  return counted
}

/** Job a was a pipeline, and is this now. */
async function reused(spec: JobSpec): Promise<Counted> {
  const counted = await opened()
  const { store, now } = counted
  const first = pipeline([stage('only')], { held: true })
  await store.execute([{ type: 'SubmitJob', job: 'a', spec: first }])
  await store.execute([{ type: 'CancelJob', job: 'a', ...onRecord }])
  now.time += 10
  await store.execute([{ type: 'ForgetJob', job: 'a', endedBefore: now.time }])
  const [answer] = await store.execute([{ type: 'SubmitJob', job: 'a', spec }])
  expect(answer?.verdict).toBe('committed')
  counted.asked = 0
  return counted
}

it.each([
  ['a plain job', plain()],
  ['another pipeline', pipeline([stage('only')])],
])(
  'what was submitted as %s, with the id of a pipeline before it, is read once more, and never again',
  async (_, spec) => {
    const counted = await reused(spec)
    for (let i = 0; i < 5; i++) {
      const [answer] = await counted.store.execute([{ type: 'ReleaseJob', job: 'a', ...onRecord }])
      expect(answer?.verdict).toBe('committed')
    }
    expect(counted.asked).toBe(1)
    await counted.store.close()
  },
)
