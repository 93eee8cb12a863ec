import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { temporaryFolder } from '../../../test/support/engines.ts'
import type { ArtifactPlace, ArtifactRef, OpenOptions } from '../../index.ts'
import { job, open } from '../../index.ts'
import type { Store } from '../../store/index.ts'
import { MemoryStore, openDirectory } from '../../store/index.ts'
import { VirtualClock, neverFires } from '../../testing/clock.ts'
import { folderOf } from '../../worker/artifact/paths.ts'
import { ArtifactSweep, SWEPT_AT_ONCE } from './artifact-sweep.ts'
import { Pawl } from '../pawl.ts'
import { folderPlace, memoryPlace } from '../../worker/index.ts'

const write = job('write', { run: ({ artifact }) => artifact('a').write('x') })

function engineOn(store: Store, clock: VirtualClock, place: ArtifactPlace): Pawl {
  const pawl = new Pawl({
    store,
    timing: clock,
    upkeepTiming: neverFires,
    onError: (error) => {
      throw error
    },
    backup: null,
    onClose: () => undefined,
    artifacts: place,
  })
  onTestFinished(() => pawl.close())
  return pawl
}

/** Runs jobs to their end. */
async function written(pawl: Pawl, ids: readonly string[]): Promise<ArtifactRef[]> {
  const worker = pawl.work([write], { signals: [] })
  const refs: ArtifactRef[] = []
  for (const id of ids) refs.push(await (await pawl.submit(write, undefined, { id })).result())
  await worker.stop()
  return refs
}

async function forget(store: Store, clock: VirtualClock, ids: readonly string[]): Promise<void> {
  clock.moveTo(clock.now() + 10)
  const endedBefore = clock.now()
  await store.execute(ids.map((id) => ({ type: 'ForgetJob', job: id, endedBefore })))
}

async function* text(of: string): AsyncGenerator<Uint8Array, void, void> {
  yield Buffer.from(of)
}

const PLACES: readonly [string, () => Promise<ArtifactPlace>][] = [
  ['in memory', async () => memoryPlace()],
  ['in a folder', async () => folderPlace(await temporaryFolder())],
]

describe.each(PLACES)('artifacts %s', (_, make) => {
  it('go with the job that was forgotten, and others stay', async () => {
    const clock = new VirtualClock(1_000)
    const store = new MemoryStore(clock)
    const place = await make()
    const pawl = engineOn(store, clock, place)
    const [gone, kept] = await written(pawl, ['gone', 'kept'])
    await pawl.upkeep()
    expect(await place.size(gone?.$artifact ?? '')).toBe(1)
    await forget(store, clock, ['gone'])
    await pawl.upkeep()
    expect(await place.size(gone?.$artifact ?? '')).toBeNull()
    expect(await pawl.artifacts.check('kept')).toMatchObject([{ ref: kept, state: 'valid' }])
  })

  it('go with the job that was erased, though the process ended that erased it', async () => {
    const clock = new VirtualClock(1_000)
    const store = new MemoryStore(clock)
    const place = await make()
    const pawl = engineOn(store, clock, place)
    const [gone, kept] = await written(pawl, ['gone', 'kept'])
    await store.execute([{ type: 'EraseJob', job: 'gone', by: 'ops', reason: 'asked for' }])
    expect(await place.size(gone?.$artifact ?? '')).toBe(1)
    await pawl.upkeep()
    expect(await place.size(gone?.$artifact ?? '')).toBeNull()
    expect(await place.size(kept?.$artifact ?? '')).toBe(1)
  })

  it('of a forgotten job go, and those of another job with its id stay', async () => {
    const clock = new VirtualClock(1_000)
    const store = new MemoryStore(clock)
    const place = await make()
    const pawl = engineOn(store, clock, place)
    const [old] = await written(pawl, ['same'])
    await forget(store, clock, ['same'])
    const [young] = await written(pawl, ['same'])
    await pawl.upkeep()
    expect(await place.size(old?.$artifact ?? '')).toBeNull()
    expect(await place.size(young?.$artifact ?? '')).toBe(1)
  })

  it('go a bounded number at a time, by the call that comes next', async () => {
    const clock = new VirtualClock(1_000)
    const store = new MemoryStore(clock)
    const place = await make()
    const ids = Array.from({ length: SWEPT_AT_ONCE + 50 }, (__, i) => `job ${i}`)
    const refs = await written(engineOn(store, clock, place), ids)
    await forget(store, clock, ids)
    // The process that wrote them, and forgot the jobs, is gone.
    const next = engineOn(store, clock, place)
    const left = async (): Promise<number> => {
      const sizes = await Promise.all(refs.map(({ $artifact }) => place.size($artifact)))
      return sizes.filter((size) => size !== null).length
    }
    await next.upkeep()
    expect(await left()).toBe(50)
    await next.upkeep()
    expect(await left()).toBe(0)
  })

  it('whose folder does not say whose they are stay', async () => {
    const clock = new VirtualClock(1_000)
    const store = new MemoryStore(clock)
    const place = await make()
    const pawl = engineOn(store, clock, place)
    await place.write('ab/mine/notes', text('mine'))
    await place.write('ab/odd/owner.json', text('not JSON'))
    await place.write('ab/other/owner.json', text('{"job":1,"submittedAt":5}'))
    // As if a bit had turned, or the folder had been copied.
    await place.write('ab/moved/owner.json', text('{"job":"unknown","submittedAt":5}'))
    const lost = { store: null, job: 'unknown', submittedAt: 5 }
    await place.write(`${folderOf(lost)}/owner.json`, text(JSON.stringify(lost)))
    await pawl.upkeep()
    expect(await place.list('ab', '', 9)).toEqual(['mine', 'moved', 'odd', 'other'])
    expect(await place.size(`${folderOf(lost)}/owner.json`)).toBeNull()
  })

  it('of another store in the same place stay, even those of a job with the same id', async () => {
    const clock = new VirtualClock(1_000)
    const place = await make()
    const stores = [new MemoryStore(clock), await openDirectory(await temporaryFolder(), { clock })]
    const third = await openDirectory(await temporaryFolder(), { clock })
    const engines = [...stores, third].map((store) => engineOn(store, clock, place))
    const refs: ArtifactRef[] = []
    for (const pawl of engines) refs.push(...(await written(pawl, ['same'])))
    for (const pawl of engines) await pawl.upkeep()
    for (const [i, ref] of refs.entries()) {
      expect(await engines[i]?.artifacts.check('same')).toMatchObject([{ ref, state: 'valid' }])
    }
    expect(new Set(refs.map(({ $artifact }) => $artifact)).size).toBe(3)
    await forget(third, clock, ['same'])
    for (const pawl of engines) await pawl.upkeep()
    const sizes = await Promise.all(refs.map(({ $artifact }) => place.size($artifact)))
    expect(sizes).toEqual([1, 1, null])
  })

  it('of a job whose id is cut in two by the place stay', async () => {
    const clock = new VirtualClock(1_000)
    const store = new MemoryStore(clock)
    const place = await make()
    const whole = place.read.bind(place)
    place.read = async function* (path) {
      for await (const part of whole(path)) for (const byte of part) yield Uint8Array.of(byte)
    }
    const pawl = engineOn(store, clock, place)
    const [ref] = await written(pawl, ['grüße'])
    await forget(store, clock, [])
    await pawl.upkeep()
    expect(await place.size(ref?.$artifact ?? '')).toBe(1)
    await forget(store, clock, ['grüße'])
    await pawl.upkeep()
    expect(await place.size(ref?.$artifact ?? '')).toBeNull()
  })

  it('that cannot be looked at are told of, and those behind them go', async () => {
    const clock = new VirtualClock(1_000)
    const store = new MemoryStore(clock)
    const place = await make()
    const ids = Array.from({ length: 20 }, (__, i) => `job ${i}`)
    const refs = await written(engineOn(store, clock, place), ids)
    await forget(store, clock, ids)
    const [shard] = await place.list('', '', 1)
    const [list, remove] = [place.list.bind(place), place.remove.bind(place)]
    place.list = (folder, after, limit) => {
      if (folder === shard) throw new Error('no entry')
      return list(folder, after, limit)
    }
    const stuck = refs.find(({ $artifact }) => !$artifact.startsWith(`${shard}/`))?.$artifact ?? ''
    place.remove = (folder) => {
      if (stuck.startsWith(folder)) throw new Error('it is held')
      return remove(folder)
    }
    const errors = new Set<string>()
    const onError = ({ message }: Error): unknown => errors.add(message)
    const parts = { store, place, now: () => clock.now(), timing: neverFires, onError }
    expect(await new ArtifactSweep(parts).sweepSome()).toBe(true)
    const left = refs.map(({ $artifact }) => $artifact)
    const gone = await Promise.all(left.map((path) => place.size(path)))
    const stayed = left.filter((_path, i) => gone[i] !== null)
    expect(stayed.every((path) => path === stuck || path.startsWith(`${shard}/`))).toBe(true)
    expect(stayed).toContain(stuck)
    expect(errors).toEqual(new Set(['no entry', 'it is held']))
  })
})

it('a directory removes them by its retention, by itself, and after a restart', async () => {
  const folder = await temporaryFolder()
  const options: OpenOptions = { retention: { age: 0 } }
  const first = await open(folder)
  onTestFinished(() => first.close())
  const [ref] = await written(first, ['a'])
  await first.close()
  const second = await open(folder, options)
  onTestFinished(() => second.close())
  const file = join(folder, 'artifacts', ref?.$artifact ?? '')
  while ((await second.get('a')) !== null) await second.upkeep()
  await second.upkeep()
  await expect(readdir(join(file, '..'))).rejects.toMatchObject({ code: 'ENOENT' })
  await rm(join(folder, 'artifacts'), { recursive: true })
})

it('the sweep looks by itself, again and again, tidies up, and goes on after an error', async () => {
  const clock = new VirtualClock(86_400_000)
  const store = new MemoryStore(clock)
  const errors: string[] = []
  const rounds: number[] = []
  const tidied: number[] = []
  const place = memoryPlace()
  place.tidy = async (before) => void tidied.push(before)
  place.list = async () => {
    rounds.push(clock.now() - 86_400_000)
    if (rounds.length === 1) throw new Error('the place is away')
    return []
  }
  const onError = ({ message }: Error): unknown => errors.push(message)
  const sweep = new ArtifactSweep({ store, place, now: () => clock.now(), timing: clock, onError })
  for (let i = 0; i < 3; i++) {
    clock.moveTo(clock.nextAt)
    while (clock.fireOne()) await clock.turn()
  }
  await sweep.close()
  expect(clock.nextAt).toBe(Infinity)
  expect(errors).toEqual(['the place is away'])
  expect(rounds).toEqual([600_000, 1_200_000, 1_800_000])
  // A day before.
  expect(tidied).toEqual([1_200_000, 1_800_000])
})
