/**
 * What somebody changed in the tables by hand is found without a verify: by opening the store, if it is
 * about the newest events, else by the examination of a store that is open, in one round of a small store.
 */
import { afterEach, describe, expect, it } from 'vitest'
import type { Command } from '../../../src/kernel/index.ts'
import type { Examined, Store } from '../../../src/store/index.ts'
import { DatabaseDamaged, repairDatabase } from '../../../src/store/index.ts'
import { job, open, typed } from '../../../src/index.ts'
import { deferred } from '../../support/engines.ts'
import { onRecord, pipeline, plain, stage } from '../../support/specs.ts'
import { RandomStore } from './random-store.ts'
import { flip } from './row-damages.ts'
import { SampleStore } from './sample-store.ts'
import type { Run, TestDatabase } from './test-databases.ts'
import { DATABASES } from './test-databases.ts'
import { IS_LONG } from '../../support/campaign.ts'

const echo = job('echo', { input: typed<string>(), run: ({ input }) => input })

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

async function placeIn(name: string): Promise<TestDatabase> {
  const place = await (DATABASES[name] as (typeof DATABASES)[string])()
  closing.push(() => place.close())
  return place
}

/** A segment of the wide pipeline. */
function ofWide(segment: number): string {
  return `job = 'wide' and stage = 0 and segment = ${segment}`
}

/** A whole round. */
async function examined(store: Store): Promise<Examined['violations']> {
  const found = new Set<string>()
  for (let calls = 1; calls <= 20; calls++) {
    const round = await store.query({ kind: 'examination', limit: 200, waitedMs: 1e9 })
    for (const { invariant, what } of round.violations) found.add(`${invariant}: ${what}`)
    if (round.isRoundOver) return [...found].map((what) => ({ invariant: 8, what }))
  }
  throw new Error('The round does not end.')
}

/** Each is found by a round, with the job that it is about. */
const DAMAGES: Readonly<
  Record<string, { plant: (run: Run) => Promise<unknown>; says: RegExp; repaired?: boolean }>
> = {
  'a row deleted, of a job that waits': {
    plant: (run) => run(`delete from work where job = 'later'`),
    says: /^8: later: it was submitted at position \d+ and not forgotten, and its row is missing$/,
  },
  'a row deleted, of a job that is over': {
    plant: (run) => run(`delete from work where job = 'done'`),
    says: /^8: done: .*its row is missing$/,
  },
  'a row deleted, of a segment': {
    plant: (run) => run(`delete from work where job = 'pipe' and stage = 1 and segment = 2`),
    says: /^8: pipe\/1\/2: it is missing$/,
  },
  'all rows of a pipeline deleted': {
    plant: (run) => run(`delete from work where job = 'pipe'`),
    says: /^8: pipe: .*its row is missing$/,
  },
  'a state changed': {
    plant: (run) => run(`update work set state = 'WAITING' where job = 'done'`),
    says: /^8: done: state is 'WAITING', and must be 'COMPLETED'$/,
  },
  'an attempt changed': {
    plant: (run) => run(`update work set attempt = 9 where job = 'held'`),
    says: /^8: held: attempt is 9, and must be 1$/,
  },
  'records swapped': {
    plant: async (run) => {
      const [[done] = []] = await run(`select record from work where job = 'done'`)
      const [[held] = []] = await run(`select record from work where job = 'held'`)
      await run(`update work set record = ? where job = 'held'`, done as Uint8Array)
      await run(`update work set record = ? where job = 'done'`, held as Uint8Array)
    },
    says: /^8: (?:held|done): its record is not what the events say: .*task/,
  },
  'a record damaged': {
    plant: (run) => flip(run, 'work', `job = 'held'`, 5, 2),
    says: /^8: .*held.*checksum/,
  },
  'a row of a forgotten job': {
    plant: async (run) => {
      const [[position] = []] = await run(
        `select position from events where job = 'forgotten' and type = 'JobSubmitted'`,
      )
      await run(
        `update work set job = 'forgotten', position = ? where job = 'done'`,
        position as number,
      )
    },
    says: /^8: forgotten: it was forgotten, and its row is there$/,
  },
  'a row that leads to the events of another job': {
    plant: (run) =>
      run(
        `update work set last_position = (select last_position from work where job = 'held') where job = 'done'`,
      ),
    says: /^8: done: it leads to an event of held/,
  },
}

describe.each(Object.keys(DATABASES))('the examination of a store on %s', (name) => {
  it('finds nothing where nothing is wrong', async () => {
    const place = await placeIn(name)
    const store = await new SampleStore().tell((clock) => place.open(clock))
    closing.unshift(() => store.close())
    expect(await examined(store)).toEqual([])
  })

  it.each(IS_LONG ? [1, 2] : [1])('finds nothing while work goes on (seed %i)', async (seed) => {
    const place = await placeIn(name)
    const looker = await place.open({ now: () => 0 })
    closing.unshift(() => looker.close())
    const work = { isOver: false }
    const looking = (async () => {
      let rounds = 0
      for (; !work.isOver; rounds++) expect(await examined(looker)).toEqual([])
      return rounds
    })()
    const { store } = await RandomStore.in((clock) => place.open(clock), seed, 150)
    closing.unshift(() => store.close())
    work.isOver = true
    expect(await looking).toBeGreaterThan(3)
    expect(await examined(store)).toEqual([])
  })

  it('finds what was changed by hand, names the job, and says no more once it is repaired', async () => {
    const place = await placeIn(name)
    const store = await new SampleStore().tell((clock) => place.open(clock))
    closing.unshift(() => store.close())
    const location = place.schema === undefined ? {} : { schema: place.schema }
    for (const [what, { plant, says }] of Object.entries(DAMAGES)) {
      await place.plant(plant)
      const found = await examined(store)
      expect([what, found.map((one) => one.what)]).toEqual([
        what,
        expect.arrayContaining([expect.stringMatching(says)]),
      ])
      await repairDatabase(place.location, { ...location, apply: true })
      expect([what, await examined(store)]).toEqual([what, []])
    }
  })

  it('finds an id that was submitted again although it was not forgotten', async () => {
    const place = await placeIn(name)
    const store = await place.open({ now: () => 1_000 })
    closing.unshift(() => store.close())
    const submit: Command = { type: 'SubmitJob', job: 'twice', spec: plain({ type: 'red' }) }
    await store.execute([submit])
    await place.plant((run) => run(`delete from work`))
    // The row is gone, so the id looks unused.
    expect(await store.execute([submit])).toMatchObject([{ verdict: 'committed' }])
    expect((await examined(store)).map(({ what }) => what)).toEqual([
      expect.stringMatching(/^8: twice: it was submitted at position 1 and not forgotten/),
    ])
  })

  it('goes through all jobs of a larger store, a bounded number at a time', async () => {
    const place = await placeIn(name)
    const store = await place.open({ now: () => 1_000 })
    closing.unshift(() => store.close())
    const ids = Array.from({ length: 220 }, (_, i) => `job ${i}`)
    const spec = plain({ type: 'red' })
    await store.execute(ids.map((id): Command => ({ type: 'SubmitJob', job: id, spec })))
    await place.plant((run) => run(`delete from work where job in ('job 3', 'job 130', 'job 219')`))
    const says = (await examined(store)).map(({ what }) => /job \d+/.exec(what)?.[0])
    expect(says).toEqual(['job 3', 'job 130', 'job 219'])
  })
})

describe.each(Object.keys(DATABASES))('a store on %s', (name) => {
  const clock = { now: () => 2_000 }

  it('does not open if a row of its newest events is missing or changed', async () => {
    const place = await placeIn(name)
    const sample = new SampleStore()
    await (await sample.tell((told) => place.open(told))).close()
    const location = place.schema === undefined ? {} : { schema: place.schema }
    const planted: readonly (readonly [RegExp, string])[] = [
      [/work \(again\): it is missing/, `delete from work where job = 'again'`],
      [/work \(again\): state is 'DEAD'/, `update work set state = 'DEAD' where job = 'again'`],
      [/work \(parent\): attempt is 4/, `update work set attempt = 4 where job = 'parent'`],
      [
        /work \(forgotten\): its job is gone, and the row is there/,
        `update work set job = 'forgotten' where job = 'later'`,
      ],
      [
        /work \(parent\): its record is not what the events say/,
        `update work set record = (select record from work where job = 'dead') where job = 'parent'`,
      ],
    ]
    for (const [says, sql] of planted) {
      await place.plant((run) => run(sql))
      const opened = place.open(clock)
      await expect(opened).rejects.toThrow(DatabaseDamaged)
      await expect(opened).rejects.toThrow(says)
      await repairDatabase(place.location, { ...location, apply: true })
      await (await place.open(clock)).close()
    }
  })

  it('does not open if a row was put back whole to an earlier moment', async () => {
    const place = await placeIn(name)
    const store = await place.open(clock)
    await store.execute([{ type: 'SubmitJob', job: 'back', spec: plain() }])
    await place.plant((run) =>
      run(`create temporary table earlier as select * from work where job = 'back'`),
    )
    await store.execute([{ type: 'CancelJob', job: 'back', ...onRecord }])
    await store.close()
    await place.plant(async (run) => {
      await run(`delete from work where job = 'back'`)
      await run(`insert into work select * from earlier`)
    })
    await expect(place.open(clock)).rejects.toThrow(
      /work \(back\): the newest of its rows is of position 1, and its newest event of 2/,
    )
  })

  it('does not open if a row of a job that is too large to be folded is missing or changed', async () => {
    const place = await placeIn(name)
    const store = await place.open(clock)
    const input = JSON.stringify(Array.from({ length: 250 }, (_, i) => i))
    const spec = pipeline([stage('each', { each: 'input' })], { type: 'wide', input })
    await store.execute([{ type: 'SubmitJob', job: 'wide', spec }])
    await store.execute([{ type: 'OpenStage', job: 'wide', stage: 0 }])
    const channels = [{ queue: 'default', type: 'wide', stage: 'each' }]
    const [claimed] = await store.claim({
      worker: 'w',
      request: 1,
      channels,
      max: 1,
      started: true,
    })
    expect(claimed?.segment).toBe(0)
    await store.close()
    await (await place.open(clock)).close()
    const location = place.schema === undefined ? {} : { schema: place.schema }
    const planted: readonly (readonly [RegExp, string])[] = [
      [/work \(wide\/0\/0\): it is missing/, `delete from work where ${ofWide(0)}`],
      [/work \(wide\/0\/0\): state is 'DEAD'/, `update work set state = 'DEAD' where ${ofWide(0)}`],
      [/work \(wide\/0\/0\): attempt is 7/, `update work set attempt = 7 where ${ofWide(0)}`],
      [
        /work \(wide\/0\/0\): its newest event is at position/,
        `update work set last_position = 1 where ${ofWide(0)}`,
      ],
      [
        /work \(wide\/0\/0\): version is/,
        `update work set record = (select record from work where ${ofWide(200)}) where ${ofWide(0)}`,
      ],
    ]
    for (const [says, sql] of planted) {
      await place.plant((run) => run(sql))
      await expect(place.open(clock), sql).rejects.toThrow(says)
      await repairDatabase(place.location, { ...location, apply: true })
      await (await place.open(clock)).close()
    }
  })

  it('opens after a job with many segments was forgotten, and another one has its id', async () => {
    const place = await placeIn(name)
    let time = 1_000
    const store = await place.open({ now: () => time })
    const segments = Array.from({ length: 250 }, (_, i) => i)
    const spec = pipeline([stage('each', { each: 'input' })], { input: JSON.stringify(segments) })
    const submitted: readonly Command[] = [
      { type: 'SubmitJob', job: 'again', spec },
      { type: 'OpenStage', job: 'again', stage: 0 },
    ]
    await store.execute(submitted)
    await store.execute([{ type: 'CancelJob', job: 'again', ...onRecord }])
    await store.execute(
      segments.map((segment) => ({ type: 'StopTask', job: 'again', stage: 0, segment })),
    )
    time += 1
    const forget: Command = { type: 'ForgetJob', job: 'again', endedBefore: time }
    expect(await store.execute([forget])).toMatchObject([{ verdict: 'committed' }])
    expect(await store.execute(submitted)).toMatchObject([
      { verdict: 'committed' },
      { verdict: 'committed' },
    ])
    await store.close()
    const again = await place.open(clock)
    expect(await again.query({ kind: 'overview', job: 'again' })).toMatchObject({ state: 'QUEUED' })
    await again.close()
  })

  it('says in its health which job is broken, by itself', async () => {
    const place = await placeIn(name)
    const told = deferred<Error>()
    const pawl = await open(place.location, {
      ...(place.schema === undefined ? {} : { schema: place.schema }),
      onError: told.resolve,
    })
    closing.unshift(() => pawl.close())
    const handle = await pawl.submit(echo, 'a')
    await place.plant((run) => run(`delete from work`))
    expect((await told.promise).message).toContain(handle.id)
    const { isWell, broken } = await pawl.health()
    expect(isWell).toBe(false)
    expect(broken).toMatchObject([{ invariant: 8, what: expect.stringContaining(handle.id) }])
  })
})
