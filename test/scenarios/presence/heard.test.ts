/**
 * What workers say is the same in every process on a store: who serves what, how far a job is, and which
 * handlers have fallen silent. Here the processes are engines that know nothing of each other.
 */
import { hostname } from 'node:os'
import { readFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import type { Notice, Pawl } from '../../../src/index.ts'
import { job, open, pipeline, TerminalError, typed } from '../../../src/index.ts'
import { PAWL_VERSION } from '../../../src/engine/presence/presence-loop.ts'
import { deferred, EVERY_ENGINE } from '../../support/engines.ts'
import { serverInFront } from '../../support/server-calls.ts'
import type { SharedPlace } from '../shared/places.ts'
import { engineAt, SHARED } from '../shared/places.ts'

const echo = job('echo', {
  version: 2,
  upgrades: { 1: (input) => input },
  input: typed<number>(),
  run: ({ input }) => input,
})
const OFTEN = { timeout: 20_000, interval: 50 }

/** Says how far it is, and ends when it may. */
function talking(mayEnd: Promise<void>) {
  return job('talking', {
    run: async ({ progress, log }) => {
      progress({ done: 1 })
      log('half of it')
      await mayEnd
    },
  })
}

describe.each(EVERY_ENGINE)('the workers of an engine: %s', (_, openEngine) => {
  it('are listed while they work, and what they hold with them', async () => {
    const pawl = await openEngine()
    expect(await pawl.workers()).toEqual([])
    const end = deferred()
    const long = talking(end.promise)
    const worker = pawl.work([long, echo], { concurrency: 4, name: 'mill' })
    const handle = await pawl.submit(long)
    await expect.poll(async () => (await pawl.workers())[0]?.held, OFTEN).toBe(1)
    const [info] = await pawl.workers()
    expect(info).toMatchObject({
      id: worker.name,
      name: 'mill',
      isHere: true,
      host: hostname(),
      pid: process.pid,
      version: PAWL_VERSION,
      serves: [
        { type: 'talking', stage: null, queue: 'default', version: 1 },
        { type: 'echo', stage: null, queue: 'default', version: 2 },
      ],
      used: 1,
      free: 3,
      isDraining: false,
      held: 1,
      holds: [{ job: handle.id, stage: 0, segment: 0 }],
    })
    expect(info?.heardAt.getTime()).toBeGreaterThanOrEqual(info?.startedAt.getTime() ?? Infinity)
    const stopping = worker.stop()
    expect((await pawl.workers())[0]).toMatchObject({ isDraining: true, free: 0 })
    end.resolve()
    await stopping
    expect(await pawl.workers()).toEqual([])
  })

  it('handle.progress() gives what the handler says, and ends with the job', async () => {
    const pawl = await openEngine()
    const next = [deferred(), deferred()]
    const counting = job('counting', {
      run: async ({ progress }) => {
        for (const [i, { promise }] of next.entries()) {
          progress(i)
          await promise
        }
      },
    })
    pawl.work([counting])
    const handle = await pawl.submit(counting)
    const seen: unknown[] = []
    for await (const value of handle.progress()) {
      seen.push(value)
      next[value as number]?.resolve()
    }
    expect(seen).toEqual([0, 1])
    await expect(first(pawl.handle('unknown').progress())).rejects.toMatchObject({
      code: 'UnknownJob',
    })
  })
})

async function first(values: AsyncIterable<unknown>): Promise<unknown> {
  for await (const value of values) return value
  return undefined
}

describe.each(Object.keys(SHARED))('what is said in another process: %s', (name) => {
  const fresh = SHARED[name] as () => Promise<SharedPlace>

  it('its workers are listed here, until it is closed', async () => {
    const place = await fresh()
    const [here, there] = [await engineAt(place), await engineAt(place)]
    const worker = there.work([echo], { name: 'far' })
    await expect.poll(() => idsAt(here), OFTEN).toEqual([worker.name])
    expect((await here.workers())[0]).toMatchObject({ isHere: false, name: 'far', free: 10 })
    expect((await there.workers())[0]).toMatchObject({ isHere: true })
    await there.close()
    expect(await idsAt(here)).toEqual([])
  })

  it('explain says no-worker only if no process serves the type', async () => {
    const place = await fresh()
    const [here, there] = [await engineAt(place), await engineAt(place)]
    const handle = await here.submit(echo, 1, { delay: '1h' })
    const reasons = async (): Promise<string[]> =>
      (await here.explain(handle.id)).reasons.map(({ what }) => what)
    expect(await reasons()).toEqual(['not-due', 'no-worker'])
    const { reasons: said } = await here.explain(handle.id)
    expect(said[1]?.message).toBe(
      `No worker takes jobs 'echo' from queue 'default': start one with work([…]).`,
    )
    const worker = there.work([echo])
    await expect.poll(reasons, OFTEN).toEqual(['not-due'])
    await worker.stop()
    await expect.poll(reasons, OFTEN).toEqual(['not-due', 'no-worker'])
  })

  it('is gone once its job is erased here, also in the process whose handler said it', async () => {
    const place = await fresh()
    const [here, there] = [await engineAt(place), await engineAt(place)]
    const said = job('said', {
      run: ({ progress }) => {
        progress('secret')
        throw new TerminalError('no')
      },
    })
    there.work([said])
    const { id } = await there.submit(said)
    await expect.poll(async () => (await here.get(id))?.state, OFTEN).toBe('FAILED')
    expect((await there.get(id))?.progress).toBe('secret')
    await here.erase(id)
    expect(await first(there.handle(id).progress())).toBeUndefined()
    expect(await first(here.handle(id).progress())).toBeUndefined()
  })

  it('explain knows that all places elsewhere are taken', async () => {
    const place = await fresh()
    const [here, there] = [await engineAt(place), await engineAt(place)]
    const end = deferred()
    const long = talking(end.promise)
    there.work([long], { concurrency: 1 })
    await here.submitMany(long, [{}, {}] as never)
    const waiting = async (): Promise<string | undefined> => {
      const { jobs } = await here.list({ state: 'QUEUED' })
      const [last] = jobs
      return last === undefined ? undefined : (await here.explain(last.id)).reasons[0]?.message
    }
    await expect.poll(waiting, OFTEN).toBe('All 1 places of its workers are taken.')
    end.resolve()
  })

  it('health counts jobs as served that another process serves', async () => {
    const place = await fresh()
    const notices: Notice[] = []
    const here = await engineAt(place, {
      unservedAfter: '1ms',
      onNotice: (notice) => notices.push(notice),
    })
    const there = await engineAt(place)
    const end = deferred()
    const long = talking(end.promise)
    there.work([long], { concurrency: 1 })
    await expect.poll(() => idsAt(here), OFTEN).toHaveLength(1)
    await here.submitMany(long, [{}, {}] as never)
    await here.submit(echo, 1)
    const unserved = async (): Promise<string[]> =>
      (await here.health()).unserved.map(({ type }) => type)
    await expect.poll(unserved, OFTEN).toEqual(['echo'])
    expect(notices.filter(({ kind }) => kind === 'unserved')).toMatchObject([{ type: 'echo' }])
    end.resolve()
  })

  it('progress and lines are in get, and progress() follows them', async () => {
    const place = await fresh()
    const [here, there] = [await engineAt(place), await engineAt(place)]
    const end = deferred()
    const long = talking(end.promise)
    there.work([long])
    const handle = await here.submit(long)
    await expect.poll(async () => (await handle.info()).lines, OFTEN).toEqual(['half of it'])
    expect(await handle.info()).toMatchObject({ progress: { done: 1 } })
    const seen: unknown[] = []
    for await (const value of handle.progress()) {
      seen.push(value)
      end.resolve()
    }
    expect(seen).toEqual([{ done: 1 }])
  })

  it('a handler that fell silent is known in every process, by the time of the authority', async () => {
    const place = await fresh()
    const notices: { readonly here: Notice[]; readonly there: Notice[] } = { here: [], there: [] }
    const here = await engineAt(place, { onNotice: (notice) => notices.here.push(notice) })
    const there = await engineAt(place, { onNotice: (notice) => notices.there.push(notice) })
    const end = deferred()
    const silent = job('silent', { stalled: { after: '50ms' }, run: () => end.promise })
    there.work([silent])
    const before = Date.now() - 60_000
    const handle = await here.submit(silent)
    await expect.poll(() => notices.here.filter(isStalled), OFTEN).toHaveLength(1)
    const told = notices.here.find(isStalled)
    expect(told).toEqual(notices.there.find(isStalled))
    expect(told).toMatchObject({ job: handle.id, type: 'silent' })
    for (const pawl of [here, there]) await expectStalled(pawl, handle.id, before)
    end.resolve()
    await handle.result()
    await expect.poll(async () => (await here.health()).stalled, OFTEN).toEqual([])
    expect(notices.here.filter(isStalled)).toHaveLength(1)
  })

  it('without presence each process knows only its own, and says so', async () => {
    const place = await fresh()
    const here = await engineAt(place)
    const there = await engineAt(place, { presence: false })
    there.work([echo])
    expect(await (await here.submit(echo, 1)).result()).toBe(1)
    expect(await idsAt(here)).toEqual([])
    expect(await idsAt(there)).toHaveLength(1)
    const other = job('other', { run: () => 1 })
    const handle = await there.submit(other)
    const [reason] = (await there.explain(handle.id)).reasons
    expect(reason?.message).toContain('whether one of another process does is not known here')
  })

  it('stages are served by name and version', async () => {
    const place = await fresh()
    const [here, there] = [await engineAt(place), await engineAt(place)]
    const two = pipeline('two', { input: typed<number>() })
      .stage('a', { run: () => 1 })
      .stage('b', { after: 'a', version: 4, queue: 'slow', run: () => 2 })
    there.work([two])
    await expect.poll(() => idsAt(here), OFTEN).toHaveLength(1)
    expect((await here.workers())[0]?.serves).toEqual([
      { type: 'two', stage: 'a', queue: 'default', version: 1 },
      { type: 'two', stage: 'b', queue: 'slow', version: 4 },
    ])
  })
})

function isStalled({ kind }: Notice): boolean {
  return kind === 'stalled'
}

async function idsAt(pawl: Pawl): Promise<string[]> {
  return (await pawl.workers()).map(({ id }) => id)
}

async function expectStalled(pawl: Pawl, id: string, before: number): Promise<void> {
  const [task] = (await pawl.health()).stalled
  expect(task).toMatchObject({ job: id })
  expect(Number(task?.since)).toBeGreaterThan(before)
  expect((await pawl.get(id))?.stalledSince).toEqual(task?.since)
  const { reasons } = await pawl.explain(id)
  expect(reasons.map(({ what }) => what)).toEqual(['running', 'stalled'])
}

it('a process that says what cannot be read is not heard, and hides no other', async () => {
  const { pawl, call } = await serverInFront()
  const { id } = await pawl.submit(echo, 7)
  const worker = {
    id: 'w-1',
    name: null,
    serves: [],
    used: 0,
    free: 1,
    isDraining: false,
    drained: null,
    held: 0,
    holds: [],
    startedAt: 1,
  }
  const good = { host: 'h', pid: 1, version: '0.1.0', workers: [worker], stalled: [] }
  const waitMs = { count: 1, sum: 1, counts: null }
  const said = [
    good,
    'x',
    null,
    {},
    { ...good, workers: [{ ...worker, serves: null }] },
    { ...good, stalled: [null] },
    { ...good, totals: { since: 1, waitMs } },
  ]
  const reports = [{ job: id, saidAt: 1, text: '{"progress":"x"' }]
  for (const [i, one] of said.entries()) {
    const text = one === 'x' ? one : JSON.stringify(one)
    const { status } = await call('presence.say', { session: `remote-${i}`, text, reports })
    expect(status).toBe(200)
  }
  const listed = await call('workers.list')
  expect(listed.body['workers']).toMatchObject([{ id: 'w-1', pid: 1 }])
  expect((await call('health')).body).toMatchObject({ isWell: true })
  expect((await call('jobs.explain', { job: id })).status).toBe(200)
  expect((await call('jobs.show', { job: id })).body).toMatchObject({
    id,
    lines: [],
  })
  await expect.poll(async () => (await call('figures')).body['now']).toBeGreaterThan(1)
})

describe('opening', () => {
  it('an engine in memory takes no presence, and only true and false are', async () => {
    await expect(open('memory:', { presence: true })).rejects.toThrow('takes no `presence`')
    const wrong = open('./x', { presence: 'yes' as never })
    await expect(wrong).rejects.toThrow('`presence` is true or false, not yes.')
  })

  it('a worker says the version that the package has', async () => {
    const text = await readFile(new URL('../../../package.json', import.meta.url), 'utf8')
    expect((JSON.parse(text) as { version: string }).version).toBe(PAWL_VERSION)
  })
})
