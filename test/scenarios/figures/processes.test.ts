/**
 * What a server shows of processes that it only shares a database with: one that submits, and one that works. Each says every ten
 * seconds what it did, so these tests wait for so long.
 */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { Pawl } from '../../../src/index.ts'
import { open } from '../../../src/index.ts'
import type { Figures } from '../../../src/protocol/index.ts'
import { serve } from '../../../src/server/index.ts'
import { buildFiles, removeBuilt, THREADS } from '../../support/built.ts'
import { CutProxy } from '../../support/cut-proxy.ts'
import { freshSchema } from '../../support/postgres.ts'
import { freshFile } from '../../support/sqlite.ts'
import { callServer, serverInFront } from '../../support/server-calls.ts'
import { WorkerProcess } from '../presence/worker-process.ts'
import type { SharedPlace } from '../shared/places.ts'
import { engineAt, SHARED } from '../shared/places.ts'
import { amountOf } from '../../support/figure-amounts.ts'
import { brief } from './jobs.ts'
import type { FiguresTask } from './program.ts'

/** A beat, a look of the server, and what a busy machine needs. */
const WITHIN_A_BEAT = { timeout: 20_000, interval: 500 }
/** What was done just BEFORE a word is in the lines with the next one. */
const WITHIN_TWO = { timeout: 40_000, interval: 500 }

let built: string
beforeAll(async () => {
  built = await buildFiles({ program: 'test/scenarios/figures/program.ts', ...THREADS })
})
afterAll(() => removeBuilt(built))

interface Shown {
  readonly pawl: Pawl
  readonly figures: () => Promise<Figures>
  /** How many entries of each kind the lines come to. */
  readonly amounts: () => Promise<{ readonly submitted: number; readonly committed: number }>
}

async function served(pawl: Pawl): Promise<Shown> {
  const server = await serve(pawl, { port: 0 })
  onTestFinished(() => server.close())
  const figures = async (): Promise<Figures> =>
    (await callServer(server.url, 'figures')).body as unknown as Figures
  return {
    pawl,
    figures,
    amounts: async () => {
      const shown = await figures()
      return {
        submitted: Math.round(amountOf(shown, 'submitted')),
        committed: Math.round(amountOf(shown, 'committed')),
      }
    },
  }
}

function started(place: SharedPlace, submits: number | null): WorkerProcess {
  const task: FiguresTask = { ...place, submits }
  return new WorkerProcess(built, task)
}

/** From a look until the next one, nothing that began in between is older than the history. */
async function begun({ figures }: Shown): Promise<void> {
  await expect.poll(async () => (await figures()).times.length, WITHIN_A_BEAT).toBeGreaterThan(0)
}

/** Two processes work for a while, and are killed; a third one begins, and is closed. */
async function kept(name: string): Promise<void> {
  const place = await (SHARED[name] as () => Promise<SharedPlace>)()
  const shown = await served(await engineAt(place))
  await begun(shown)
  const worker = started(place, null)
  await worker.said('ready')
  const client = started(place, 300)
  await client.said('submitted')
  await expect
    .poll(async () => {
      const { processes, flow, rates } = await shown.figures()
      const most = Math.max(...rates.submitted.map((rate) => rate ?? 0))
      const moved = flow.moves.map(({ of, from, to }) => `${of} ${from} ${to}`).toSorted()
      return { processes, moved, isSeen: most > 1 }
    }, WITHIN_A_BEAT)
    .toEqual({
      processes: 2,
      moved: ['job QUEUED RUNNING', 'job RUNNING SUCCEEDED', 'job null QUEUED'],
      isSeen: true,
    })
  // One that only submits is no worker.
  expect(await shown.pawl.workers()).toHaveLength(1)
  await expect.poll(shown.amounts, WITHIN_TWO).toEqual({ submitted: 300, committed: 300 })
  await Promise.all([worker.kill(), client.kill()])
  const next = await engineAt(place)
  await next.submit(brief, 300)
  await expect.poll(async () => (await shown.figures()).processes, WITHIN_TWO).toBe(1)
  // It has spoken. What it does now, it says as it leaves.
  await next.submitMany(brief, [{ input: 301 }, { input: 302 }])
  await next.close()
  await expect.poll(shown.amounts, WITHIN_TWO).toEqual({ submitted: 303, committed: 300 })
  expect(await shown.pawl.workers()).toEqual([])
  for (const line of Object.values((await shown.figures()).rates)) {
    expect(line.every((rate) => rate === null || rate >= 0)).toBe(true)
  }
}

describe('a server', () => {
  it('shows what other processes do, within a beat, and takes nothing back when they are killed or closed', async () => {
    // Nearly all of it is waiting.
    await Promise.all(Object.keys(SHARED).map(kept))
  }, 150_000)
})

describe('a server whose PostgreSQL goes away', () => {
  it('answers all the time, and has a hole where it could not look', async () => {
    const { url, schema } = await freshSchema()
    const proxy = await CutProxy.to(url)
    const shown = await served(
      await engineAt({ location: proxy.through(url), options: { schema } }),
    )
    onTestFinished(() => proxy.mend())
    await begun(shown)
    proxy.cut('all')
    for (let asked = 0; asked < 14; asked++) {
      const { times } = await shown.figures()
      expect(times.length).toBeGreaterThan(0)
      await new Promise((resolve) => setTimeout(resolve, 1_000))
    }
    proxy.mend()
    await expect
      .poll(async () => {
        const known = (await shown.figures()).rates.submitted.map((rate) => rate !== null)
        const hole = known.indexOf(false)
        return hole > 0 && known.lastIndexOf(true) > hole
      }, WITHIN_A_BEAT)
      .toBe(true)
  }, 120_000)
})

describe('what remote workers do', () => {
  it('is counted once: by the server that writes it, also in front of another server', async () => {
    const { pawl, server } = await serverInFront({}, `sqlite:${await freshFile()}`)
    const near = await served(pawl)
    const remote = await open(server.url)
    onTestFinished(() => remote.close())
    const far = await served(remote)
    await Promise.all([begun(near), begun(far)])
    remote.work([brief])
    await remote.submitMany(
      brief,
      Array.from({ length: 30 }, (_, input) => ({ input })),
    )
    const all = { submitted: 30, committed: 30 }
    await expect.poll(near.amounts, WITHIN_A_BEAT).toEqual(all)
    // By then the server has said what it wrote, as it would to processes beside it.
    await new Promise((resolve) => setTimeout(resolve, 10_000))
    await expect.poll(far.amounts, WITHIN_A_BEAT).toEqual(all)
    const seen = await Promise.all([near.figures(), far.figures()])
    expect(seen.map(({ processes }) => processes)).toEqual([1, 1])
  }, 120_000)
})

describe('a token', () => {
  const READER = 'reader-0123456789abcdef'
  const HELD = 'held-0123456789abcdef'
  const CLIENT = 'client-0123456789abcdef'

  it('that may see metrics may see figures, and one that is held to types may not', async () => {
    const { call } = await serverInFront({
      tokens: [
        { token: READER, roles: ['read'] },
        { token: HELD, roles: ['read'], types: ['brief'] },
        { token: CLIENT, roles: ['submit'] },
      ],
      // Without a dashboard it begins when it is asked.
      dashboard: false,
    })
    const all = await call('figures', { range: '24h' }, READER)
    expect(all).toMatchObject({ status: 200, body: { range: '24h', times: [], queues: [] } })
    expect((await call('figures', {}, HELD)).status).toBe(403)
    expect((await call('figures', {}, CLIENT)).status).toBe(403)
    expect((await call('figures', { range: '2h' }, READER)).status).toBe(400)
  })
})
