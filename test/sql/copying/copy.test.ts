/**
 * Stores are copied into others: all that is asked of the copy is answered as before, it verifies, and
 * work goes on in it. What was cut short does not open.
 */
import { describe, expect, it } from 'vitest'
import type { Command, JobSpec } from '../../../src/kernel/index.ts'
import type {
  DirectoryOptions,
  DirectoryStore,
  JobSummary,
  Store,
} from '../../../src/store/index.ts'
import {
  CopyByBackup,
  copyStore,
  CopyUnfinished,
  NotEmpty,
  openDirectory,
  SourceDamaged,
  verifyDatabase,
  verifyDirectory,
} from '../../../src/store/index.ts'
import { Dice } from '../../model/properties/dice.ts'
import { pipeline, plain, stage } from '../../support/specs.ts'
import { SimDisk } from '../../faults/sim/sim-disk.ts'
import { RandomStore } from '../verify/random-store.ts'
import type { TestDatabase } from '../verify/test-databases.ts'
import { DATABASES } from '../verify/test-databases.ts'
import { flip } from '../verify/row-damages.ts'
import { SampleStore } from '../verify/sample-store.ts'

const FOLDER = '/store'

/** Somewhere to copy a store to, or from. */
interface Spot {
  readonly location: string
  readonly schema: string | undefined
  readonly ports: DirectoryOptions
  open(clock: { now: () => number }): Promise<Store>
  verify(): Promise<readonly unknown[]>
  close(): Promise<void>
}

function directory(options: Partial<DirectoryOptions> = {}): Spot & { disk: SimDisk } {
  const disk = new SimDisk()
  const ports = { disk, own: async () => ({ release: async () => undefined }) }
  return {
    location: FOLDER,
    schema: undefined,
    disk,
    ports: { ...ports, segmentBytes: 16 * 1_024 },
    open: (clock) =>
      openDirectory(FOLDER, { ...ports, segmentBytes: 16 * 1_024, clock, ...options }),
    verify: async () => (await verifyDirectory(FOLDER, ports)).problems,
    close: async () => undefined,
  }
}

async function database(name: string): Promise<Spot & { place: TestDatabase }> {
  const place = await (DATABASES[name] as (typeof DATABASES)[string])()
  const { location, schema } = place
  return {
    location,
    schema,
    place,
    ports: {},
    open: (clock) => place.open(clock),
    verify: async () => {
      const options = schema === undefined ? {} : { schema }
      return (await verifyDatabase(location, options)).problems
    },
    close: () => place.close(),
  }
}

async function copy(
  from: Spot,
  to: Spot,
  look: (done: number, total: number) => void = () => undefined,
): Promise<number[]> {
  const seen: number[] = []
  await copyStore(from.location, to.location, {
    ...(from.schema === undefined ? {} : { fromSchema: from.schema }),
    ...(to.schema === undefined ? {} : { toSchema: to.schema }),
    from: from.ports,
    to: to.ports,
    onProgress: (done, total) => {
      seen.push(done / total)
      look(done, total)
    },
  })
  return seen
}

/** Those whose beginnings are not there. */
async function oldJobs(spot: Spot): Promise<string[]> {
  const names = new Set<string>()
  await (spot as Awaited<ReturnType<typeof database>>).place.inside(async (run) => {
    for (const [name] of await run(`select name from baselines where kind = 'job'`)) {
      if (String(name).startsWith('elder')) names.add(String(name))
    }
  })
  return [...names].toSorted()
}

const OLD = ['elder-done', 'elder-pipe', 'elder-waiting']

/** Entries of each job, as far as they are known. */
async function histories(random: RandomStore): Promise<unknown> {
  const found: Record<string, unknown> = {}
  for (const id of random.model.world.jobs.keys()) {
    const entries = await random.store.query({ kind: 'history', job: id, limit: 1_000 })
    // What it was submitted by is known again in a copy, whatever was kept.
    found[id] = entries.map(({ entry }) => entry).filter(({ type }) => type !== 'JobSubmitted')
  }
  return found
}

const elder = (job: string, spec: JobSpec): Command => ({ type: 'SubmitJob', job, spec })
const lease = { job: 'elder-done', stage: 0, segment: 0, lease: 1, worker: 'w' }
const AGAIN = { rerunOf: 'older still', asked: { by: 'ann', reason: 'why not' } }
/** Jobs that are older than the history that is kept: nothing else happens to some of them. */
const ELDERS: readonly Command[] = [
  elder('elder-waiting', plain({ delayMs: 1_000_000, key: 'k', type: 'old' })),
  elder('elder-pipe', pipeline([stage('one', { each: 'input' })], { input: '[1,2]', type: 'old' })),
  { type: 'OpenStage', job: 'elder-pipe', stage: 0 },
  elder('elder-done', plain({ type: 'old', ...AGAIN })),
  { type: 'GrantLease', ...lease, request: 1, started: true },
  { type: 'CommitExecution', ...lease, output: '1', effects: [] },
]
/** And what happens to one of them much later. */
const LATER: Command = { type: 'CancelJob', job: 'elder-pipe', by: 'ops', reason: 'late' }

/** So much happens that the beginning of the history goes. */
async function age(random: RandomStore): Promise<void> {
  for (let life = 1; life <= 60; life++) {
    const job = `short-${life}`
    const input = JSON.stringify('x'.repeat(500))
    await random.both(elder(job, plain({ type: 'short', input })))
    const own = { ...lease, job }
    await random.both({ type: 'GrantLease', ...own, request: life + 1, started: true })
    await random.both({ type: 'CommitExecution', ...own, output: input, effects: [] })
    random.now += 1
    if (life % 3 > 0) await random.both({ type: 'ForgetJob', job, endedBefore: random.now })
    if (life % 20 === 0) await (random.store as DirectoryStore).checkpoint()
  }
  await random.both(LATER)
}

/** All events are there, and their rows are not. */
function stop(done: number, total: number): void {
  if (done * 2 >= total) throw new RangeError('enough')
}

/** All jobs as time travel shows them now, which begins with what the copy began with. */
async function past(store: Store): Promise<JobSummary[]> {
  const jobs: JobSummary[] = []
  const snapshot = await store.at({ time: Number.MAX_SAFE_INTEGER })
  for await (const job of snapshot.jobs({})) jobs.push(job)
  return jobs
}

async function present(store: Store): Promise<readonly JobSummary[]> {
  return (await store.query({ kind: 'jobs', limit: 10_000 })).jobs
}

const WAYS: readonly (readonly string[])[] = [
  ['SQLite', 'PostgreSQL', 'directory'],
  ['PostgreSQL', 'directory', 'SQLite'],
]

describe.each(WAYS)('a directory that goes to %s, to %s and to %s', (...way) => {
  it.each([
    ['whole', {}],
    ['without its oldest history', { checkpointBytes: 1, historyMs: 0 }],
  ])('is the same everywhere, %s', async (_how, options) => {
    let from: Spot = directory(options)
    const dice = new Dice(5)
    const isOld = 'historyMs' in options
    const random = await RandomStore.in((clock) => from.open(clock), 3, isOld ? 0 : 150, ELDERS)
    if (isOld) await age(random)
    await random.compare()
    for (const [leg, name] of way.entries()) {
      const to = name === 'directory' ? directory() : await database(name)
      const known = name === 'directory' ? null : await histories(random)
      await random.store.close()
      const seen = await copy(from, to)
      expect(seen.at(-1)).toBe(1)
      expect(seen).toEqual(seen.toSorted((a, b) => a - b))
      expect(await to.verify()).toEqual([])
      random.store = await to.open({ now: () => random.now })
      await random.compare()
      if (known !== null) expect(await histories(random)).toEqual(known)
      if (leg === 0) expect(await oldJobs(to)).toEqual(isOld ? OLD : [])
      // Work goes on, and it is still whole.
      for (let count = 1; count <= 30; count++) await random.step(dice, 10_000 * (leg + 1) + count)
      await random.compare()
      expect(await past(random.store)).toEqual(await present(random.store))
      if (isOld) {
        await expect(random.store.at({ position: 1 })).rejects.toMatchObject({
          code: 'BeforeHistory',
        })
      }
      if (name !== 'directory') expect(await to.verify()).toEqual([])
      await from.close()
      from = to
    }
    // Also jobs with held effects were among those that were compared.
    if (!isOld) expect(random.held).toBeGreaterThan(0)
    await random.store.close()
    expect(await from.verify()).toEqual([])
    await from.close()
  })
})

describe.each(Object.keys(DATABASES))('a copy into %s', (name) => {
  it('that is cut short does not open, and is not gone on with', async () => {
    const source = await database('SQLite')
    await (await new SampleStore().tell((clock) => source.open(clock))).close()
    await source.place.plant((run) =>
      flip(run, 'events', `job = 'done' and type = 'LeaseGranted'`, 5, 5),
    )
    const target = await database(name)
    await expect(copy(source, target)).rejects.toThrow(SourceDamaged)
    await expect(target.open({ now: () => 0 })).rejects.toThrow(CopyUnfinished)
    await expect(copy(source, target)).rejects.toThrow(CopyUnfinished)
    await expect(copy(target, await database(name))).rejects.toThrow(CopyUnfinished)
    await source.close()
    await target.close()
  })

  it('that its caller breaks off is no store', async () => {
    const source = await database('SQLite')
    await (await new SampleStore().tell((clock) => source.open(clock))).close()
    const target = await database(name)
    await expect(copy(source, target, stop)).rejects.toThrow('enough')
    await expect(target.open({ now: () => 0 })).rejects.toThrow(CopyUnfinished)
    await source.close()
    await target.close()
  })

  it('needs a place of its own', async () => {
    const target = await database(name)
    await (await new SampleStore().tell((clock) => target.open(clock))).close()
    await expect(copy(target, target)).rejects.toThrow(NotEmpty)
    expect(await target.verify()).toEqual([])
    await (await target.open({ now: () => 2_000 })).close()
    await target.close()
  })
})

describe('a copy into a directory', () => {
  it('that is cut short does not open, and is not gone on with', async () => {
    const source = await database('SQLite')
    await (await new SampleStore().tell((clock) => source.open(clock))).close()
    await source.place.plant((run) =>
      flip(run, 'events', `job = 'done' and type = 'LeaseGranted'`, 5, 5),
    )
    const target = directory()
    await expect(copy(source, target)).rejects.toThrow(/LeaseGranted|position/)
    await expect(target.open({ now: () => 0 })).rejects.toThrow(CopyUnfinished)
    await expect(target.verify()).rejects.toThrow(CopyUnfinished)
    await expect(copy(source, target)).rejects.toThrow(CopyUnfinished)
    await source.close()
  })

  it('needs a place of its own, and is a backup if it comes from one', async () => {
    const source = await database('SQLite')
    await (await source.open({ now: () => 0 })).close()
    const target = directory()
    await (await target.open({ now: () => 0 })).close()
    await expect(copy(source, target)).rejects.toThrow(NotEmpty)
    await expect(copy(target, directory())).rejects.toThrow(CopyByBackup)
    await source.close()
  })
})
