/**
 * Steps on databases: their values are in their events, and a task's own row is as small for the last step
 * as for the first.
 */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { Command } from '../../src/kernel/index.ts'
import type { Claimed, Store } from '../../src/store/index.ts'
import { copyStore, openDirectory, openSqliteStore } from '../../src/store/index.ts'
import { repairSql } from '../../src/store/sql/verify/repair-database.ts'
import { verifySql } from '../../src/store/sql/verify/verify-database.ts'
import type { SqlStore } from '../../src/store/sql/sql-store.ts'
import { temporaryFolder } from '../support/engines.ts'
import { failure, onRecord, pipeline, plain, stage } from '../support/specs.ts'
import { freshFile } from '../support/sqlite.ts'
import type { TestDatabase } from './verify/test-databases.ts'
import { DATABASES } from './verify/test-databases.ts'

const STEPS = 60
const clock = { now: () => 1_000 }
const OWN = { type: 'test', queue: 'default', stage: null }
const FIRST = { type: 'pipe', queue: 'default', stage: 'first' }

let requests = 0

/** Claims the one task that is ready. */
async function claim(
  store: Pick<Store, 'claim'>,
  channel = OWN as typeof OWN | typeof FIRST,
): Promise<Claimed> {
  requests += 1
  const channels = [channel]
  const claims = await store.claim({
    worker: 'w',
    request: requests,
    channels,
    max: 1,
    started: true,
  })
  expect(claims).toHaveLength(1)
  return claims[0] as Claimed
}

function addressOf({ job, stage: stageIndex, segment, lease }: Claimed) {
  return { job, stage: stageIndex, segment, lease, worker: 'w' }
}

async function must(store: Pick<Store, 'execute'>, ...commands: Command[]): Promise<void> {
  const answers = await store.execute(commands)
  expect(answers.map(({ verdict, rejection }) => rejection ?? verdict)).toEqual(
    commands.map(() => 'committed'),
  )
}

function stepOf(claimed: Claimed, i: number): Command {
  return {
    type: 'RecordStep',
    ...addressOf(claimed),
    name: `step ${i}`,
    value: `"${'v'.repeat(100)} ${i}"`,
    definitionVersion: 1,
  }
}

const values = (count: number, from = 0): string[] => {
  return Array.from({ length: count }, (_, i) => `"${'v'.repeat(100)} ${from + i}"`)
}

describe.each(Object.keys(DATABASES))('steps on %s', (name) => {
  let place: TestDatabase
  let store: SqlStore
  let other: SqlStore
  beforeAll(async () => {
    place = await (DATABASES[name] as (typeof DATABASES)[string])()
    store = await place.open(clock)
    other = await place.open(clock)
  })
  afterAll(async () => {
    await store.close()
    await other.close()
    await place.close()
  })

  async function rowBytes(job: string, stageIndex: number): Promise<number> {
    let bytes = 0
    await place.inside(async (run) => {
      const [row] = await run(
        `select length(record) from work where job = ? and stage = ?`,
        job,
        stageIndex,
      )
      bytes = Number(row?.[0])
    })
    return bytes
  }

  async function mustBeWhole(): Promise<void> {
    expect((await verifySql(place.dialect)).problems).toEqual([])
  }

  it.each([
    ['plain', OWN, -1],
    ['pipe', FIRST, 0],
  ] as const)(
    'leave the row of a %s as small as it was, and come back in another process',
    async (job, channel, row) => {
      const spec = job === 'plain' ? plain() : { ...pipeline([stage('first')]), type: 'pipe' }
      await must(store, { type: 'SubmitJob', job, spec })
      if (job === 'pipe') await must(store, { type: 'OpenStage', job, stage: 0 })
      const first = await claim(store, channel)
      const bytes: number[] = []
      for (let i = 0; i < STEPS; i++) {
        await must(store, stepOf(first, i))
        bytes.push(await rowBytes(job, row))
      }
      // A number may take another byte.
      expect(bytes.at(-1)).toBeLessThanOrEqual((bytes[0] as number) + 4)
      await must(store, { type: 'ReleaseLease', ...addressOf(first) })
      await mustBeWhole()
      const second = await claim(other, channel)
      expect(second.steps.map(({ value }) => value)).toEqual(values(STEPS))
      // The first value counts, in this process and in the other one.
      const again = { ...stepOf(second, 3), value: '"other"' } as Command
      expect(await other.execute([again])).toMatchObject([{ value: values(1, 3)[0] }])
      await must(other, stepOf(second, STEPS))
      await must(other, {
        type: 'CommitExecution',
        ...addressOf(second),
        output: 'null',
        effects: [],
      })
      await mustBeWhole()
      expect(await store.query({ kind: 'task', job, stage: 0, segment: 0 })).toMatchObject({
        steps: { length: STEPS + 1 },
      })
    },
  )

  it('are dropped with new input, and those behind it count', async () => {
    const policy = { ...plain().policy, retry: { ...plain().policy?.retry, max: 0 } }
    await must(store, { type: 'SubmitJob', job: 'anew', spec: { ...plain(), policy } as never })
    const first = await claim(store)
    await must(store, stepOf(first, 0), stepOf(first, 1))
    await must(store, { type: 'FailTask', ...addressOf(first), error: failure() })
    const address = { job: 'anew', stage: 0, segment: 0, attempt: 1 }
    await must(store, { type: 'RetryTask', ...address, input: '"new"', ...onRecord })
    const second = await claim(other)
    expect(second.steps).toEqual([])
    await must(other, stepOf(second, 7))
    await must(other, { type: 'ReleaseLease', ...addressOf(second) })
    const third = await claim(store)
    expect(third.steps.map(({ value }) => value)).toEqual(values(1, 7))
    await must(store, { type: 'CommitExecution', ...addressOf(third), output: 'null', effects: [] })
    await mustBeWhole()
  })

  it('that a job was submitted with come first, until new input drops them', async () => {
    const policy = { ...plain().policy, retry: { ...plain().policy?.retry, max: 0 } }
    const steps = [
      { name: 'fetch', value: `"${'k'.repeat(2_000)}"` },
      { name: 'parse', value: '"kept"' },
    ]
    const spec = { ...plain({ steps }), policy } as never
    await must(store, { type: 'SubmitJob', job: 'rerun', spec })
    const first = await claim(store)
    const kept = steps.map((step) => ({ ...step, lease: 0 }))
    expect(first.steps).toEqual(kept)
    await must(store, { type: 'ReleaseLease', ...addressOf(first) })
    expect(await rowBytes('rerun', -1)).toBeLessThan(200)
    await mustBeWhole()
    const second = await claim(other)
    expect(second.steps).toEqual(kept)
    await must(other, stepOf(second, 0), { type: 'ReleaseLease', ...addressOf(second) })
    await mustBeWhole()
    const third = await claim(store)
    expect(third.steps.map(({ value }) => value)).toEqual([
      ...steps.map(({ value }) => value),
      ...values(1),
    ])
    // Of a step that was kept the value counts that was kept.
    const again = { ...stepOf(third, 0), name: 'parse', value: '"other"' } as Command
    expect(await store.execute([again])).toMatchObject([{ value: '"kept"' }])
    await must(store, { type: 'FailTask', ...addressOf(third), error: failure() })
    const address = { job: 'rerun', stage: 0, segment: 0, attempt: 3 }
    await must(store, { type: 'RetryTask', ...address, input: '"new"', ...onRecord })
    const fourth = await claim(other)
    expect(fourth.steps).toEqual([])
    await must(other, stepOf(fourth, 7), { type: 'ReleaseLease', ...addressOf(fourth) })
    const fifth = await claim(store)
    expect(fifth.steps.map(({ value }) => value)).toEqual(values(1, 7))
    await must(store, { type: 'CommitExecution', ...addressOf(fifth), output: 'null', effects: [] })
    await mustBeWhole()
  })

  it.each([0, 1])('of which one is missing (%i) are damage, and no conflict', async (missing) => {
    const own = await (DATABASES[name] as (typeof DATABASES)[string])()
    const [one, two] = [await own.open(clock), await own.open(clock)]
    onTestFinished(async () => {
      for (const each of [one, two, own]) await each.close()
    })
    await must(one, { type: 'SubmitJob', job: 'lacking', spec: plain() })
    const first = await claim(one)
    // The newest event of the task is a step.
    await must(one, stepOf(first, 0), stepOf(first, 1))
    await own.plant((run) =>
      run(
        `delete from events where position = (
          select max(position) from events where type = 'StepRecorded'
        ) - ?`,
        1 - missing,
      ),
    )
    const release: Command = { type: 'ReleaseLease', ...addressOf(first) }
    const said = /job lacking is damaged: [12] of its steps are in no event/
    const released = two.execute([release])
    await expect(released).rejects.toMatchObject({ code: 'CorruptRecord' })
    await expect(released).rejects.toThrow(said)
    await expect(released).rejects.toThrow(own.dialect.where)
    await expect(two.query({ kind: 'job', job: 'lacking' })).rejects.toThrow(said)
  })

  it('that are damaged are lost when the job is kept as its row says', async () => {
    await must(store, { type: 'SubmitJob', job: 'damaged', spec: plain() })
    const first = await claim(store)
    await must(store, stepOf(first, 0), stepOf(first, 1), {
      type: 'ReleaseLease',
      ...addressOf(first),
    })
    await place.plant((run) =>
      run(
        `update events set record = ? where job = 'damaged' and type = 'StepRecorded'`,
        new Uint8Array(20),
      ),
    )
    const { givenUp, left } = await repairSql(place.dialect, { apply: true, giveUp: ['damaged'] })
    expect([givenUp, left]).toMatchObject([[{ job: 'damaged', isKept: true }], []])
    const second = await claim(other)
    expect(second.steps).toEqual([])
    await must(other, stepOf(second, 5), { type: 'ReleaseLease', ...addressOf(second) })
    expect((await claim(store)).steps.map(({ value }) => value)).toEqual(values(1, 5))
  })
})

it('a step that another process records while the task is loaded is seen all the same', async () => {
  const place = await (DATABASES['PostgreSQL'] as (typeof DATABASES)[string])()
  const store = await place.open(clock)
  const other = await place.open(clock)
  const connection = await place.dialect.connect()
  onTestFinished(async () => {
    for (const one of [store, other, connection, place]) await one.close()
  })
  const run = (sql: string) => connection.run([{ sql, values: [] }])
  await must(store, { type: 'SubmitJob', job: 'shared', spec: plain() })
  const claimed = await claim(store)
  await must(store, stepOf(claimed, 0))
  // From now on a transaction holds its locks for a while AFTER it has written all.
  await run(`create function linger() returns trigger language plpgsql as
    $$ begin perform pg_sleep(1); return null; end $$`)
  await run(`create constraint trigger linger after insert on events deferrable initially deferred
    for each row execute function linger()`)
  const first = must(store, stepOf(claimed, 1))
  const sleeping = `select count(*)::int4 from pg_stat_activity where wait_event = 'PgSleep'`
  await expect.poll(async () => (await run(sleeping))[0]?.rows[0]?.[0]).toBe(1)
  // It waits for the lock of the row.
  await must(other, stepOf(claimed, 2))
  await first
  await must(other, { type: 'ReleaseLease', ...addressOf(claimed) })
  expect((await claim(store)).steps.map(({ value }) => value)).toEqual(values(3))
})

it('steps that a copied job had before its history begins stay with it, and others follow', async () => {
  const folder = await temporaryFolder()
  const path = await freshFile()
  const directory = await openDirectory(folder, { segmentBytes: 16 * 1_024, historyMs: 0 })
  const kept = { name: 'kept', value: '"kept"' }
  await must(directory, { type: 'SubmitJob', job: 'copied', spec: plain({ steps: [kept] }) })
  const first = await claim(directory)
  await must(directory, stepOf(first, 0), stepOf(first, 1), {
    type: 'ReleaseLease',
    ...addressOf(first),
  })
  // Enough that the segment with the steps goes.
  for (let i = 0; i < 6; i++) {
    const filling = Array.from({ length: 40 }, (_, n): Command => {
      return {
        type: 'SubmitJob',
        job: `fill ${i} ${n}`,
        spec: { ...plain(), type: 'other', input: `"${'x'.repeat(500)}"` },
      }
    })
    await must(directory, ...filling)
    await directory.checkpoint()
  }
  await directory.close()
  await copyStore(folder, `sqlite:${path}`)
  const store = await openSqliteStore({ path })
  const second = await claim(store)
  expect(second.steps.map(({ value }) => value)).toEqual(['"kept"', ...values(2)])
  await must(store, stepOf(second, 2), { type: 'ReleaseLease', ...addressOf(second) })
  await store.close()
  const again = await openSqliteStore({ path })
  const third = await claim(again)
  expect(third.steps.map(({ value }) => value)).toEqual(['"kept"', ...values(3)])
  await again.close()
})
