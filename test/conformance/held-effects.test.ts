/**
 * Jobs with an effect whose outcome a person has to say, on every store: counted, and listed by a list of their own, plain jobs and
 * pipelines; a job leaves when the last of its effects is resolved.
 */
import { describe, expect, it } from 'vitest'
import type { Command, JobState } from '../../src/kernel/index.ts'
import type { Clock, JobsPage, QueryOf, Store } from '../../src/store/index.ts'
import { openDirectory } from '../../src/store/index.ts'
import { openPostgres, openSqliteStore } from '../../src/store/sql/open-sql.ts'
import { SimDisk } from '../faults/sim/sim-disk.ts'
import {
  claimed,
  ONCE,
  openStages,
  resolved,
  senderTo,
  submitHeld,
  submitHeldPipeline,
} from '../support/held-jobs.ts'
import { freshSchema } from '../support/postgres.ts'
import { failure, onRecord, plain, promise } from '../support/specs.ts'
import { freshFile } from '../support/sqlite.ts'
import { CHANNEL, claim, reportOf, setUp, simulated, STORES, TestClock } from './bench.ts'

/** A page after the other. */
async function held(
  store: Store,
  filter: Partial<QueryOf<'jobs'>> = {},
  limit = 100,
): Promise<string[]> {
  const ids: string[] = []
  for (
    let next: number | null = filter.newest === true ? Number.MAX_SAFE_INTEGER : 0;
    next !== null;
  ) {
    const from: { readonly after: number } = { after: next }
    const asked = { kind: 'jobs', heldEffects: true, ...filter, limit } as const
    const page: JobsPage = await store.query({ ...asked, ...from })
    expect(page.jobs.length).toBeLessThanOrEqual(limit)
    ids.push(...page.jobs.map(({ id }) => id))
    next = page.next
  }
  return ids
}

/** In which states they are counted; pipelines are counted again when upkeep looks at them. */
async function counted(
  store: Store,
  filter: Partial<QueryOf<'counts'>> = {},
): Promise<Partial<Record<JobState, number>>> {
  await store.query({ kind: 'upkeep', limit: 100, forgets: false })
  const asked = { kind: 'counts', heldEffects: true, ...filter, limit: 100 } as const
  const { states } = await store.query(asked)
  return Object.fromEntries(Object.entries(states).filter(([, count]) => count > 0))
}

describe.each(Object.keys(STORES))('of jobs with held effects, the %s store', (kind) => {
  it('keeps a list and a count, and drops a job when its last effect is resolved', async () => {
    const { store, clock, send } = await setUp(kind)
    await submitHeld(store, 'a')
    clock.time += 5
    await submitHeld(store, 'b', {}, [
      promise({ name: 'charge' }),
      promise({ name: 'charge' }),
      promise({ name: 'mail', idempotent: true }),
    ])
    await send({ type: 'SubmitJob', job: 'c', spec: plain({ type: 'order' }) })
    expect(await held(store)).toEqual(['a', 'b'])
    expect(await counted(store)).toEqual({ QUARANTINED: 2 })
    expect((await store.query({ kind: 'metrics' })).heldEffects).toBe(2)
    const { jobs } = await store.query({ kind: 'quarantine', heldEffects: true, limit: 9 })
    expect(jobs.map(({ id, tasks }) => ({ id, held: tasks.map((one) => one.held) }))).toEqual([
      {
        id: 'a',
        held: [[{ effect: 0, start: 1, name: 'charge', nth: null, error: null, worker: 'w' }]],
      },
      {
        id: 'b',
        held: [
          [
            { effect: 0, start: 1, name: 'charge', nth: 1, error: null, worker: 'w' },
            { effect: 1, start: 1, name: 'charge', nth: 2, error: null, worker: 'w' },
          ],
        ],
      },
    ])
    expect(jobs[1]?.tasks[0]).toMatchObject({ since: clock.time, endedBy: 'LeaseRevoked' })

    expect((await send(resolved('a', 'happened'))).verdict).toBe('committed')
    expect(await held(store)).toEqual(['b'])
    expect(await counted(store)).toEqual({ QUARANTINED: 1 })
    expect((await send(resolved('b', 'again'))).verdict).toBe('committed')
    expect(await held(store)).toEqual(['b'])
    expect((await send(resolved('b', 'happened', { effect: 1 }))).verdict).toBe('committed')
    expect(await held(store)).toEqual([])
    expect(await counted(store)).toEqual({})
    expect((await store.query({ kind: 'metrics' })).heldEffects).toBe(0)
    await store.close()
  })

  it('lists it again when it is held again, and never once it is erased and forgotten', async () => {
    const { store, clock, send } = await setUp(kind)
    await submitHeld(store, 'a')
    await send(resolved('a', 'again'))
    expect(await held(store)).toEqual([])
    const again = await claimed(store, 'order', null)
    await senderTo(store)({ type: 'StartEffect', ...reportOf(again), effect: 0 })
    clock.time += 60_000
    const { worker: _, ...lease } = reportOf(again)
    await senderTo(store)({ type: 'ExpireLease', ...lease })
    expect(await held(store)).toEqual(['a'])
    // Its commit stands: it is not over, whatever a person says but the outcome.
    const erased = { type: 'EraseJob', job: 'a', ...onRecord } as const
    for (const command of [{ type: 'CancelJob', job: 'a', ...onRecord } as const, erased]) {
      expect((await send(command)).verdict).toBe('rejected')
    }
    expect(await held(store)).toEqual(['a'])
    await senderTo(store)(resolved('a', 'happened', { start: 2 }))
    await senderTo(store)(erased)
    clock.time += 1
    await senderTo(store)({ type: 'ForgetJob', job: 'a', endedBefore: clock.time })
    expect([await held(store), await counted(store)]).toEqual([[], {}])
    await senderTo(store)({ type: 'SubmitJob', job: 'a', spec: plain({ type: 'order' }) })
    expect([await held(store), await counted(store)]).toEqual([[], {}])
    await store.close()
  })

  it('has pipelines among them, while they run and in quarantine, each once', async () => {
    const { store, send } = await setUp(kind)
    await submitHeldPipeline(store, 'runs', 'rhw')
    await submitHeldPipeline(store, 'stuck', 'dhfh')
    await submitHeldPipeline(store, 'other', 'fd')
    expect(await held(store)).toEqual(['runs', 'stuck'])
    expect(await held(store, { state: 'RUNNING' })).toEqual(['runs'])
    expect(await counted(store)).toEqual({ RUNNING: 1, QUARANTINED: 1 })
    expect((await store.query({ kind: 'metrics' })).heldEffects).toBe(2)
    const { jobs } = await store.query({ kind: 'quarantine', heldEffects: true, limit: 9 })
    const places = jobs.flatMap(({ id, tasks }) =>
      tasks.map(({ stageName, segment }) => `${id} ${stageName} ${segment}`),
    )
    expect(places).toEqual(['runs charge 1', 'stuck charge 1', 'stuck charge 3'])
    await send(resolved('stuck', 'happened', { segment: 1 }))
    expect(await held(store)).toEqual(['runs', 'stuck'])
    expect(await counted(store)).toEqual({ RUNNING: 1, QUARANTINED: 1 })
    await send(resolved('stuck', 'happened', { segment: 3 }))
    expect(await held(store)).toEqual(['runs'])
    expect(await counted(store)).toEqual({ RUNNING: 1 })
    // Cancelled, it cannot end before a person said what became of the effect.
    await senderTo(store)({ type: 'CancelJob', job: 'runs', ...onRecord })
    await openStages(store)
    expect(await held(store)).toEqual(['runs'])
    expect(Object.values(await counted(store))).toEqual([1])
    await senderTo(store)(resolved('runs', 'happened', { segment: 1 }))
    expect([await held(store), await counted(store)]).toEqual([[], {}])
    await store.close()
  })

  it('finds one behind very many in quarantine, by any filter and in either order', async () => {
    const { store, send } = await setUp(kind)
    const commands = Array.from({ length: 300 }, (_, i): Command => {
      return { type: 'SubmitJob', job: `q${i}`, spec: plain({ type: 'order', key: `k${i}` }, ONCE) }
    })
    await store.execute(commands)
    const channels = [{ ...CHANNEL, type: 'order' }]
    for (const one of await store.claim(claim({ channels, max: 300 }))) {
      await send({ type: 'FailTask', ...reportOf(one), error: failure() })
    }
    await submitHeld(store, 'x', { tags: ['vip'], type: 'gold' })
    await submitHeld(store, 'y', { group: 'g' })
    await submitHeld(store, 'z', { key: 'k' })
    await send({ type: 'SubmitJob', job: 'busy', spec: plain({ type: 'busy' }) })
    await claimed(store, 'busy', null)
    for (const limit of [1, 2, 50]) {
      expect(await held(store, {}, limit)).toEqual(['x', 'y', 'z'])
      expect(await held(store, { newest: true }, limit)).toEqual(['z', 'y', 'x'])
    }
    const first = await store.query({ kind: 'jobs', heldEffects: true, limit: 1 })
    expect(first.jobs.map(({ id }) => id)).toEqual(['x'])
    expect(await held(store, { tag: 'vip' })).toEqual(['x'])
    expect(await held(store, { type: 'order' }, 1)).toEqual(['y', 'z'])
    expect(await held(store, { group: 'g' })).toEqual(['y'])
    expect(await held(store, { state: 'QUARANTINED' })).toEqual(['x', 'y', 'z'])
    expect(await held(store, { state: 'SUCCEEDED' })).toEqual([])
    expect(await held(store, { key: 'k' })).toEqual(['z'])
    // Others are found by these, too, and have no held effects.
    expect(await held(store, { key: 'k7' })).toEqual([])
    expect(await held(store, { worker: 'w' })).toEqual([])
    expect(await counted(store)).toEqual({ QUARANTINED: 3 })
    expect(await counted(store, { type: 'gold' })).toEqual({ QUARANTINED: 1 })
    const by = await store.query({ kind: 'counts', heldEffects: true, by: 'type', limit: 9 })
    expect(by.groups.map(({ name, states }) => [name, states.QUARANTINED])).toEqual([
      ['gold', 1],
      ['order', 2],
    ])
    const unknown = [{ tag: 'vip' }, { error: 'e' }, { by: 'tag' }, { by: 'error' }] as const
    for (const one of unknown) {
      const asked = { kind: 'counts', heldEffects: true, limit: 9, ...one } as const
      await expect(store.query(asked)).rejects.toMatchObject({ code: 'BadRequest' })
    }
    await store.close()
  })
})

/** Each gives a way to open the same store again and again. */
const PLACES: Readonly<Record<string, () => Promise<(clock: Clock) => Promise<Store>>>> = {
  directory: async () => {
    const disk = new SimDisk()
    return (clock) => openDirectory('/store', { ...simulated(clock), disk })
  },
  'directory with checkpoints': async () => {
    const disk = new SimDisk()
    return (clock) => openDirectory('/store', { ...simulated(clock), disk, checkpointBytes: 1 })
  },
  SQLite: async () => {
    const path = await freshFile()
    return (clock) => openSqliteStore({ path, clock })
  },
  PostgreSQL: async () => {
    const place = await freshSchema()
    return (clock) => openPostgres({ ...place, clock })
  },
}

it.each(Object.keys(PLACES))(
  'a store in a place of %s has them when it is opened again',
  async (kind) => {
    const clock = new TestClock()
    const open = await (PLACES[kind] as (typeof PLACES)[string])()
    let store = await open(clock)
    await submitHeld(store, 'a')
    await submitHeld(store, 'b')
    await submitHeldPipeline(store, 'runs', 'hhd')
    await senderTo(store)(resolved('b', 'happened'))
    await store.close()
    store = await open(clock)
    expect(await held(store)).toEqual(['a', 'runs'])
    expect(await counted(store)).toEqual({ QUARANTINED: 2 })
    await senderTo(store)(resolved('a', 'happened'))
    await senderTo(store)(resolved('runs', 'happened'))
    await senderTo(store)(resolved('runs', 'happened', { segment: 1 }))
    await store.close()
    store = await open(clock)
    expect([await held(store), await counted(store)]).toEqual([[], {}])
    await store.close()
  },
)
