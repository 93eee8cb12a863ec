/**
 * The end of the history on databases: what is old and belongs to forgotten jobs or to schedules is removed,
 * everything else stays, and what was removed can be told from what was lost.
 */
import { afterEach, describe, expect, it } from 'vitest'
import type { Command } from '../../../src/kernel/index.ts'
import { childId } from '../../../src/kernel/index.ts'
import type { Store } from '../../../src/store/index.ts'
import { copyStore, openDirectory, verifyDirectory } from '../../../src/store/index.ts'
import { job, open, typed } from '../../../src/index.ts'
import type { Connection, Row } from '../../../src/store/sql/connection.ts'
import { SqlFailed } from '../../../src/store/sql/failures.ts'
import { openSql } from '../../../src/store/sql/open-sql.ts'
import type { HistoryMark } from '../../../src/store/sql/rows/event-rows.ts'
import { historyMark } from '../../../src/store/sql/rows/event-rows.ts'
import { Records } from '../../../src/store/sql/rows/records.ts'
import type { SqlStore } from '../../../src/store/sql/sql-store.ts'
import { HistoryPruning } from '../../../src/store/sql/upkeep/history-pruning.ts'
import { repairSql } from '../../../src/store/sql/verify/repair-database.ts'
import { verifyIn, verifySql } from '../../../src/store/sql/verify/verify-database.ts'
import { temporaryFolder } from '../../support/engines.ts'
import { child, onRecord, plain } from '../../support/specs.ts'
import { freshFile } from '../../support/sqlite.ts'
import { flip } from './row-damages.ts'
import { RandomStore } from './random-store.ts'
import { SampleStore } from './sample-store.ts'
import type { TestDatabase } from './test-databases.ts'
import { DATABASES } from './test-databases.ts'
import { IS_LONG } from '../../support/campaign.ts'

const HOUR_MS = 3_600_000
const LATER = 1_000 * HOUR_MS

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

/** A store, and what is in its tables. */
class Bench {
  now = 1_000
  readonly place: TestDatabase
  store!: SqlStore
  #request = 0

  constructor(place: TestDatabase) {
    this.place = place
  }

  static async in(name: string): Promise<Bench> {
    const place = await (DATABASES[name] as (typeof DATABASES)[string])()
    closing.push(() => place.close())
    const bench = new Bench(place)
    bench.store = await bench.open()
    return bench
  }

  async open(): Promise<SqlStore> {
    const clock = { now: () => this.now }
    const store = await openSql(this.place.dialect, { clock, historyMs: Infinity })
    closing.unshift(() => store.close())
    return store
  }

  async must(...commands: readonly Command[]): Promise<void> {
    const answers = await this.store.execute(commands)
    expect(answers.map(({ verdict, rejection }) => rejection ?? verdict)).toEqual(
      commands.map(() => 'committed'),
    )
  }

  async submit(...ids: readonly string[]): Promise<void> {
    await this.must(...ids.map((id): Command => ({ type: 'SubmitJob', job: id, spec: plain() })))
  }

  /** Each of them is over, and then forgotten. */
  async forget(...ids: readonly string[]): Promise<void> {
    await this.must(...ids.map((id): Command => ({ type: 'CancelJob', job: id, ...onRecord })))
    this.now += 1
    const endedBefore = this.now
    await this.must(...ids.map((id): Command => ({ type: 'ForgetJob', job: id, endedBefore })))
  }

  async claim(type: string, queue = 'default'): Promise<string[]> {
    const channels = [{ queue, type, stage: null }]
    const request = { worker: 'w', request: ++this.#request, channels, max: 1, started: true }
    return (await this.store.claim(request)).map((claimed) => claimed.job)
  }

  async rows(sql: string): Promise<readonly Row[]> {
    const connection = await this.place.dialect.connect()
    const [found] = await connection.run([{ sql, values: [] }])
    await connection.close()
    return found?.rows ?? []
  }

  /** Position, job and type of every event. */
  events(): Promise<readonly Row[]> {
    return this.rows('select position, job, type from events order by position')
  }

  async mark(): Promise<HistoryMark> {
    return historyMark((await this.rows(this.place.dialect.history.read))[0])
  }

  /** One call of a process that keeps events for an hour. */
  async pruneOnce(connection?: Connection): Promise<void> {
    const own = connection ?? (await this.place.dialect.connect())
    try {
      const pruning = new HistoryPruning(this.place.dialect, new Records(), HOUR_MS)
      await pruning.pruneIfDue(own, this.now)
    } finally {
      await own.close()
    }
  }

  /** A round, from its beginning to its end. */
  async prune(): Promise<void> {
    await expect
      .poll(
        async () => {
          await this.pruneOnce()
          const { olderThan, through, passed } = await this.mark()
          return olderThan === this.now - HOUR_MS && passed === through
        },
        { timeout: 20_000 },
      )
      .toBe(true)
  }

  async problems(): Promise<readonly unknown[]> {
    return (await verifySql(this.place.dialect)).problems
  }
}

/** Fails with its `count`th transaction. */
function failing(inner: Connection, count: number): Connection {
  let begun = 0
  return {
    close: () => inner.close(),
    run: (statements) => {
      if (statements.at(-1)?.sql === 'commit' && ++begun >= count) {
        return Promise.reject(new SqlFailed('lost', 'The process was killed.', null))
      }
      return inner.run(statements)
    },
  }
}

const names = (prefix: string, count: number): string[] =>
  Array.from({ length: count }, (_, i) => `${prefix} ${i}`)

async function seen(store: Store, from: number, count: number): Promise<number[]> {
  const positions: number[] = []
  for await (const { position } of store.watch(from)) {
    positions.push(position)
    if (positions.length === count) break
  }
  return positions
}

describe.each(Object.keys(DATABASES))('the history on %s', (name) => {
  it('loses what is old of forgotten jobs and of schedules, and nothing else', async () => {
    const bench = await Bench.in(name)
    const sample = new SampleStore()
    await sample.tell(async (clock) => {
      const store = await openSql(bench.place.dialect, { clock, historyMs: Infinity })
      closing.unshift(() => store.close())
      return store
    })
    const before = await bench.events()
    const newest = before.at(-1)?.[0]
    bench.now = LATER
    await bench.prune()
    expect(await bench.mark()).toMatchObject({ through: newest })
    const isGone = ([position, of, type]: Row): boolean =>
      of === 'forgotten' ||
      (of === 'again' && position !== newest) ||
      (of === null && String(type).startsWith('Schedule'))
    expect(before.filter(isGone)).toHaveLength(10)
    expect(await bench.events()).toEqual(before.filter((event) => !isGone(event)))
    expect(await bench.rows('select kind, name from baselines')).toEqual([['schedule', 'hourly']])
    expect(await bench.problems()).toEqual([])
    const { steps, blocked } = await repairSql(bench.place.dialect, { apply: true })
    expect([steps, blocked]).toEqual([[], []])
    await (await bench.open()).query({ kind: 'jobs', limit: 1 })
  })

  it('stays as it is while what is old is not old enough', async () => {
    const bench = await Bench.in(name)
    await bench.submit('a', 'b')
    await bench.forget('a')
    await bench.submit('last')
    const before = await bench.events()
    bench.now += HOUR_MS - 1
    await bench.pruneOnce()
    expect(await bench.events()).toEqual(before)
  })

  it('goes on from the baseline of a schedule, which is one however often it fires', async () => {
    const bench = await Bench.in(name)
    const definition = 'each minute'
    await bench.must({
      type: 'SetSchedule',
      schedule: 's',
      definition,
      seen: null,
      ...onRecord,
    })
    for (let day = 1; day <= 3; day++) {
      for (let minute = 1; minute <= 4; minute++) {
        bench.now += 60_000
        await bench.must({ type: 'FireSchedule', schedule: 's', tick: bench.now, skipped: true })
      }
      bench.now += 24 * HOUR_MS
      // A younger one, which stays.
      await bench.must({ type: 'FireSchedule', schedule: 's', tick: bench.now, skipped: true })
      await bench.prune()
      expect(await bench.events()).toEqual([[5 * day + 1, null, 'ScheduleFired']])
      expect(await bench.rows('select name, through from baselines')).toEqual([['s', 5 * day]])
      expect(await bench.problems()).toEqual([])
    }
    const schedule = await bench.store.query({ kind: 'schedule', schedule: 's' })
    expect(schedule).toMatchObject({ definition, firedTick: bench.now, version: 16 })
    // Without the baseline, nothing would lead to the row.
    await bench.place.inside(async (run, connection) => {
      await run('delete from baselines')
      const { problems } = await verifyIn(connection, bench.place.dialect)
      expect(problems.map(({ what }) => what)).toContainEqual(expect.stringMatching(/schedule/i))
    })
  })

  it('keeps events of a schedule that are damaged, for a person to see', async () => {
    const bench = await Bench.in(name)
    for (const schedule of ['s', 't']) {
      await bench.must({ type: 'SetSchedule', schedule, definition: 'd', seen: null, ...onRecord })
    }
    await bench.submit('last')
    await bench.place.plant((run) => flip(run, 'events', 'position = 1', 5, 2))
    bench.now = LATER
    await bench.prune()
    expect(await bench.events()).toHaveLength(3)
    expect(await bench.problems()).toMatchObject([{ table: 'events', position: 1 }])
  })

  it('keeps events of a schedule among which one is missing, for a person to see', async () => {
    const bench = await Bench.in(name)
    await bench.must({
      type: 'SetSchedule',
      schedule: 's',
      definition: 'd',
      seen: null,
      ...onRecord,
    })
    for (const tick of [10, 20, 30]) {
      await bench.must({ type: 'FireSchedule', schedule: 's', tick, skipped: true })
    }
    await bench.submit('last')
    await bench.place.plant((run) => run('delete from events where position = 3'))
    bench.now = LATER
    await bench.prune()
    expect(await bench.events()).toHaveLength(4)
    expect(await bench.problems()).toContainEqual(
      expect.objectContaining({ table: 'events', position: 4 }),
    )
  })

  it('is not touched by a process that was stopped, and goes on when others are further', async () => {
    const bench = await Bench.in(name)
    await bench.submit('a', 'b', 'c')
    await bench.forget('a')
    await bench.submit('d')
    bench.now = LATER
    const inner = await bench.place.dialect.connect()
    let goOn!: () => void
    const stopped = new Promise<void>((resolve) => (goOn = resolve))
    let isStopped = false
    const late = bench.pruneOnce({
      close: () => inner.close(),
      run: async (statements) => {
        const removes = statements.some(({ sql }) => sql.includes('delete from events'))
        if (removes) {
          isStopped = true
          await stopped
        }
        return inner.run(statements)
      },
    })
    await expect.poll(() => isStopped).toBe(true)
    await bench.forget('b')
    await bench.submit('last')
    bench.now += 2 * HOUR_MS
    await bench.prune()
    const [mark, events] = [await bench.mark(), await bench.events()]
    goOn()
    await late
    expect([await bench.mark(), await bench.events()]).toEqual([mark, events])
    expect(events.map(([, of]) => of)).toEqual(['c', 'd', 'last'])
    expect(await bench.problems()).toEqual([])
  })

  it('that is removed in part, when the process is killed, is nothing lost', async () => {
    const bench = await Bench.in(name)
    const ids = names('job', 400)
    await bench.submit('live', ...ids)
    await bench.forget(...ids)
    await bench.submit(ids[7] as string, 'last')
    const whole = await bench.events()
    bench.now = LATER
    const killedAt = async (transaction: number): Promise<void> => {
      const connection = await bench.place.dialect.connect()
      const killed = bench.pruneOnce(failing(connection, transaction))
      await killed.catch((error: Error) => expect(error.message).toContain('killed'))
    }
    // One transaction begins the round, the next one removes a portion.
    await expect
      .poll(async () => {
        await killedAt(2)
        return (await bench.mark()).through
      })
      .toBeGreaterThan(0)
    expect(await bench.events()).toHaveLength(whole.length)
    await killedAt(2)
    expect(await bench.events()).toHaveLength(whole.length - 500)
    expect(await bench.problems()).toEqual([])
    const path = await freshFile()
    const { schema } = bench.place
    const from = schema === undefined ? {} : { fromSchema: schema }
    await copyStore(bench.place.location, `sqlite:${path}`, from)
    const folder = await temporaryFolder()
    await copyStore(bench.place.location, folder, from)
    expect((await verifyDirectory(folder)).problems).toEqual([])
    // What is lost in the meantime of what must not be removed is found all the same.
    await bench.place.inside(async (run, connection) => {
      await run(`delete from events where job = 'job 300' and type = 'JobForgotten'`)
      const { problems } = await verifyIn(connection, bench.place.dialect)
      expect(problems).toContainEqual(expect.objectContaining({ table: 'events', row: 'job 300' }))
    })
    await bench.prune()
    expect(await bench.events()).toEqual([
      [1, 'live', 'JobSubmitted'],
      [1202, 'job 7', 'JobSubmitted'],
      [1203, 'last', 'JobSubmitted'],
    ])
    expect(await bench.problems()).toEqual([])
  })

  it('is told from a loss: what must not be removed and is gone is found', async () => {
    const bench = await Bench.in(name)
    await bench.submit('old', 'live')
    await bench.forget('old')
    await bench.must({ type: 'CancelJob', job: 'live', ...onRecord })
    await bench.submit('last')
    bench.now = LATER
    await bench.submit('young')
    await bench.forget('young')
    await bench.submit('newest')
    await bench.prune()
    expect(
      (await bench.events()).map(([, of, type]) => `${of as string} ${type as string}`),
    ).toEqual([
      'live JobSubmitted',
      'live JobCancelled',
      'last JobSubmitted',
      'young JobSubmitted',
      'young JobCancelled',
      'young JobForgotten',
      'newest JobSubmitted',
    ])
    for (const [of, type] of [
      ['live', 'JobCancelled'],
      ['live', 'JobSubmitted'],
      ['young', 'JobSubmitted'],
      ['young', 'JobCancelled'],
      ['young', 'JobForgotten'],
      ['last', 'JobSubmitted'],
    ] as const) {
      await bench.place.inside(async (run, connection) => {
        await run('delete from events where job = ? and type = ?', of, type)
        const { problems } = await verifyIn(connection, bench.place.dialect)
        const about = problems.filter(({ row }) => row === of)
        expect([of, type, about.length > 0]).toEqual([of, type, true])
      })
    }
  })

  it('cannot be deleted by hand: the database lets go only of what may be removed', async () => {
    const bench = await Bench.in(name)
    await bench.must({ type: 'PauseQueue', queue: 'q', ...onRecord })
    await bench.must({
      type: 'SetSchedule',
      schedule: 's',
      definition: 'd',
      seen: null,
      ...onRecord,
    })
    await bench.submit('old', 'live', 'last')
    await bench.forget('old')
    bench.now = LATER
    await bench.submit('young')
    await bench.forget('young')
    await bench.must({
      type: 'SetSchedule',
      schedule: 's',
      definition: 'e',
      seen: null,
      ...onRecord,
    })
    const connection = await bench.place.dialect.connect()
    closing.unshift(() => connection.close())
    const run = (sql: string) => connection.run([{ sql, values: [] }])
    const refused = [
      `delete from events where type = 'QueuePaused'`,
      `delete from events where type = 'ScheduleSet'`,
      ...['live', 'last', 'young'].map((id) => `delete from events where job = '${id}'`),
      'delete from events',
      `update events set at = 0`,
    ]
    await expect(run(`delete from events where job = 'old'`)).rejects.toThrow('only ever appended')
    await bench.prune()
    for (const sql of [...refused, 'delete from baselines', `update baselines set name = 'x'`]) {
      await expect(run(sql), sql).rejects.toThrow('only ever appended')
    }
    // Whatever it is that a user sets: a table of the same name is not asked.
    if (name === 'PostgreSQL') {
      await run(`create temporary table history as select 1000000::bigint as through`)
      await expect(run(`delete from events where job = 'young'`)).rejects.toThrow('only ever')
    }
    expect(await bench.problems()).toEqual([])
  })

  it('is watched from what is kept, and refuses a position from before', async () => {
    const bench = await Bench.in(name)
    await bench.submit('live', 'old')
    const watched = bench.store.watch(0)[Symbol.asyncIterator]()
    expect((await watched.next()).value?.position).toBe(1)
    await bench.forget('old')
    await bench.submit('last')
    bench.now = LATER
    await bench.submit('newest')
    await bench.prune()
    const { through } = await bench.mark()
    expect(through).toBe(5)
    expect(await seen(bench.store, 0, 3)).toEqual([1, 5, 6])
    expect(await seen(bench.store, through, 1)).toEqual([6])
    for (const from of [1, 2, through - 1]) {
      await expect(seen(bench.store, from, 1)).rejects.toMatchObject({ code: 'NoSuchPosition' })
      const past = bench.store.at({ position: from })
      await expect(past).rejects.toMatchObject({ code: 'BeforeHistory' })
    }
    await expect(bench.store.at({ time: 0 })).rejects.toMatchObject({ code: 'BeforeHistory' })
    expect(await (await bench.store.at({ position: through })).job('live')).not.toBeNull()
    // It had read one page; what comes next has been removed ahead of it.
    expect((await watched.next()).value?.position).toBe(2)
    await expect(watched.next()).rejects.toMatchObject({ code: 'NoSuchPosition' })
  })

  it('never loses the newest event, and positions go on behind it', async () => {
    const bench = await Bench.in(name)
    await bench.submit('a')
    await bench.forget('a')
    bench.now = LATER
    await bench.prune()
    expect(await bench.events()).toEqual([[3, 'a', 'JobForgotten']])
    expect(await bench.problems()).toEqual([])
    await bench.submit('a')
    const [, [position] = []] = await bench.events()
    expect(position).toBeGreaterThan(3)
    expect(await bench.problems()).toEqual([])
    await bench.open()
  })

  it('may lack the child that a parent recorded, and grants that filled a bucket', async () => {
    const bench = await Bench.in(name)
    const at = { job: 'parent', stage: 0, segment: 0, lease: 1, worker: 'w' } as const
    const effects = [child(plain({ type: 'child' }))]
    const parent = { job: 'parent', stage: 0, segment: 0, effect: 0 }
    const rate = { count: 1, perMs: 24 * HOUR_MS }
    const limits = [{ key: 'k', concurrency: null, rate }]
    await bench.must(
      {
        type: 'ConfigureQueue',
        queue: 'rated',
        concurrency: null,
        rate,
        ageingMs: null,
        ...onRecord,
      },
      { type: 'SubmitJob', job: 'parent', spec: plain({ type: 'parent' }) },
    )
    expect(await bench.claim('parent')).toEqual(['parent'])
    await bench.must(
      { type: 'CommitExecution', ...at, output: '1', effects },
      { type: 'StartEffect', ...at, effect: 0 },
      { type: 'SubmitJob', job: childId(parent), spec: plain({ type: 'child', parent }) },
      { type: 'FinishEffect', ...at, effect: 0 },
    )
    bench.now += 24 * HOUR_MS
    // Longer after the queue was configured than its bucket takes to be full.
    const limited = plain({ type: 'l' }, { queue: 'rated', limits })
    await bench.must({ type: 'SubmitJob', job: 'limited', spec: limited })
    expect(await bench.claim('l', 'rated')).toEqual(['limited'])
    await bench.forget(childId(parent), 'limited')
    await bench.submit('last', 'newest')
    bench.now += 2 * HOUR_MS
    await bench.prune()
    const left = new Set((await bench.events()).map(([, of]) => of))
    expect(left).toEqual(new Set([null, 'parent', 'last', 'newest']))
    expect(await bench.problems()).toEqual([])
    const path = await freshFile()
    const { schema } = bench.place
    const from = schema === undefined ? {} : { fromSchema: schema }
    await copyStore(bench.place.location, `sqlite:${path}`, from)
    const folder = await temporaryFolder()
    await copyStore(bench.place.location, folder, from)
    expect((await verifyDirectory(folder)).problems).toEqual([])
    const copy = await openDirectory(folder)
    expect(await copy.query({ kind: 'outcome', job: 'parent' })).toMatchObject({
      state: 'SUCCEEDED',
    })
    await copy.close()
    // A bucket that is not used up for longer than such a grant could is right; longer is wrong.
    await bench.place.inside(async (run, connection) => {
      await run('update limits set full_at = ?', bench.now + 30 * HOUR_MS)
      await run('update queues set full_at = ?', bench.now + 30 * HOUR_MS)
      const { problems } = await verifyIn(connection, bench.place.dialect)
      expect(problems).toContainEqual(expect.objectContaining({ table: 'limits', row: 'k' }))
      expect(problems).toContainEqual(expect.objectContaining({ table: 'queues', row: 'rated' }))
    })
  })

  it('takes what a repair kept of a forgotten job with it', async () => {
    const bench = await Bench.in(name)
    await bench.submit('kept', 'live')
    await bench.must({ type: 'CancelJob', job: 'kept', ...onRecord })
    await bench.place.plant((run) =>
      flip(run, 'events', `job = 'kept' and type = 'JobCancelled'`, 5, 2),
    )
    const { givenUp } = await repairSql(bench.place.dialect, { apply: true, giveUp: ['kept'] })
    expect(givenUp).toMatchObject([{ job: 'kept', isKept: true }])
    bench.now += 1
    await bench.must({ type: 'ForgetJob', job: 'kept', endedBefore: bench.now })
    await bench.submit('last')
    expect(await bench.rows('select name from baselines')).toEqual([['kept']])
    bench.now = LATER
    // A round has begun, and removed nothing yet: a copy takes none of it.
    const killed = failing(await bench.place.dialect.connect(), 2)
    await expect(bench.pruneOnce(killed)).rejects.toThrow('killed')
    const { schema } = bench.place
    const folder = await temporaryFolder()
    const from = schema === undefined ? {} : { fromSchema: schema }
    await copyStore(bench.place.location, folder, from)
    expect((await verifyDirectory(folder)).problems).toEqual([])
    await bench.prune()
    expect(await bench.rows('select name from baselines')).toEqual([])
    expect((await bench.events()).map(([, of]) => of)).toEqual(['live', 'last'])
    expect(await bench.problems()).toEqual([])
  })

  it('is removed by several processes at once, each event once, while work goes on', async () => {
    const bench = await Bench.in(name)
    const ids = names('job', 900)
    await bench.submit(...ids)
    await bench.forget(...ids)
    await bench.submit('last')
    bench.now = LATER
    const others = await Promise.all([bench.open(), bench.open()])
    const working = (async () => {
      for (const id of names('later', 30)) await bench.submit(id)
    })()
    await Promise.all([bench.prune(), bench.prune(), bench.prune(), working])
    expect(others).toHaveLength(2)
    const left = (await bench.events()).map(([, of]) => of)
    expect(left).toEqual(['last', ...names('later', 30)])
    expect(await bench.problems()).toEqual([])
  })

  it.each(IS_LONG ? [1, 2] : [1])(
    'verifies after any history, and can be removed again and again (seed %i)',
    async (seed) => {
      const bench = await Bench.in(name)
      await RandomStore.in(
        async (clock) => {
          const store = await openSql(bench.place.dialect, { clock, historyMs: Infinity })
          closing.unshift(() => store.close())
          return store
        },
        seed,
        200,
      )
      const before = await bench.events()
      const forgotten = before.filter(([, , type]) => type === 'JobForgotten')
      bench.now = LATER
      await bench.prune()
      expect(await bench.problems()).toEqual([])
      expect((await bench.events()).length).toBeLessThan(before.length - forgotten.length)
      await bench.open()
    },
  )

  it('has an end that `open` is told, and none if that is forever', async () => {
    const { place } = await Bench.in(name)
    const schema = place.schema === undefined ? {} : { schema: place.schema }
    const echo = job('echo', { input: typed<string>(), run: ({ input }) => input })
    const options = { ...schema, retention: { count: 0 } }
    const forever = await open(place.location, { ...options, history: 'forever' })
    forever.work([echo])
    const personal = 'ada@example.com'
    await (await forever.submit(echo, personal)).result()
    const count = async (type: string): Promise<number> => {
      let found = 0
      await place.inside(async (run) => {
        found = Number((await run('select count(*) from events where type = ?', type))[0]?.[0])
      })
      return found
    }
    await expect.poll(() => count('JobForgotten'), { timeout: 10_000 }).toBe(1)
    await forever.close()
    expect(await count('JobSubmitted')).toBe(1)
    const short = await open(place.location, { ...options, history: '1ms' })
    closing.unshift(() => short.close())
    const last = await short.submit(echo, 'last')
    await expect.poll(() => count('JobForgotten'), { timeout: 20_000 }).toBe(0)
    expect(await short.get(last.id)).toMatchObject({ state: 'QUEUED' })
    let found = 0
    await place.inside(async (run) => {
      for (const [record] of await run('select record from events')) {
        if (Buffer.from(record as Uint8Array).includes(personal)) found += 1
      }
    })
    expect(found).toBe(0)
  })
})

it('on PostgreSQL, waits for a transaction that forgets a job and is not over', async () => {
  const bench = await Bench.in('PostgreSQL')
  await bench.submit('a', 'last')
  await bench.must({ type: 'CancelJob', job: 'a', ...onRecord })
  bench.now += 1
  let letGo!: () => void
  const hold = new Promise<void>((resolve) => (letGo = resolve))
  let isHeld = false
  const { dialect } = bench.place
  const connect = async (): Promise<Connection> => {
    const inner = await dialect.connect()
    return {
      close: () => inner.close(),
      async run(asks) {
        if (isHeld || asks.at(-1)?.sql !== 'commit') return inner.run(asks)
        isHeld = true
        // All is written but for the commit.
        const written = await inner.run(asks.slice(0, -1))
        await hold
        return [...written, ...(await inner.run(asks.slice(-1)))]
      },
    }
  }
  const clock = { now: () => bench.now }
  const slow = await openSql({ ...dialect, connect }, { clock, historyMs: Infinity })
  closing.unshift(() => slow.close())
  const endedBefore = bench.now
  const forgetting = slow.execute([{ type: 'ForgetJob', job: 'a', endedBefore }])
  await expect.poll(() => isHeld).toBe(true)
  // Its position is before this one's.
  await bench.submit('newer', 'newest')
  bench.now = LATER
  await bench.pruneOnce()
  await bench.pruneOnce()
  expect(await bench.mark()).toMatchObject({ through: 0 })
  letGo()
  expect(await forgetting).toMatchObject([{ verdict: 'committed' }])
  await bench.prune()
  expect((await bench.events()).map(([, of]) => of)).toEqual(['last', 'newer', 'newest'])
  expect(await bench.problems()).toEqual([])
})
