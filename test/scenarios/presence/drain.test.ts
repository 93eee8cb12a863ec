/**
 * A worker that a person drains from wherever they are: it takes nothing more, finishes what it has, shows it, and stays so until
 * it is resumed or its process ends. Here the processes are engines that know nothing of each other.
 */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Pawl, Worker } from '../../../src/index.ts'
import { job, open, typed, UnknownWorker } from '../../../src/index.ts'
import { serve } from '../../../src/server/index.ts'
import { deferred, EVERY_ENGINE, temporaryFolder } from '../../support/engines.ts'
import type { SharedPlace } from '../shared/places.ts'
import { engineAt, SHARED } from '../shared/places.ts'

const SOON = { timeout: 20_000, interval: 20 }
const ANN = { by: 'ann', reason: 'the host is replaced' }

const echo = job('echo', { input: typed<number>(), run: ({ input }) => input })

/** Runs until it may end. */
function gated() {
  const [began, end] = [deferred(), deferred()]
  const definition = job('gated', {
    run: async () => {
      began.resolve()
      await end.promise
    },
  })
  return { definition, began: began.promise, end: end.resolve }
}

async function seenBy(pawl: Pawl, { name }: Worker) {
  return (await pawl.workers()).find(({ id }) => id === name)
}

async function isDraining(pawl: Pawl, worker: Worker): Promise<boolean | undefined> {
  return (await seenBy(pawl, worker))?.isDraining
}

async function entriesOfNewJob(pawl: Pawl): Promise<readonly string[]> {
  const { id } = await pawl.submit(echo, 0)
  return (await pawl.history(id)).map(({ type }) => type)
}

/** What it does once it was asked: by `other`, which sees it as `worker` of `home`. */
async function drains(home: Pawl, other: Pawl): Promise<void> {
  const long = gated()
  const worker = home.work([long.definition, echo], { concurrency: 4, name: 'mill' })
  const running = await home.submit(long.definition)
  await long.began
  await expect.poll(() => isDraining(other, worker), SOON).toBe(false)
  await other.drainWorker(worker.name, ANN)
  await expect.poll(() => isDraining(other, worker), SOON).toBe(true)
  expect(await seenBy(other, worker)).toMatchObject({ free: 0, used: 1, drained: ANN })
  expect(worker.hasRoom).toBe(false)
  // It finishes what it has, and takes nothing: not even what its own process submits.
  const waiting = await home.submit(echo, 1)
  expect((await home.explain(waiting.id)).reasons).toMatchObject([
    { what: 'workers-busy', message: expect.stringContaining('until they are resumed') },
  ])
  long.end()
  await running.result({ timeout: '20s' })
  await expect.poll(() => waiting.state(), SOON).toBe('QUEUED')
  // A claim that was under way is given back. From then on nothing is granted, not even with its submit.
  await expect.poll(() => entriesOfNewJob(home), SOON).toEqual(['JobSubmitted'])
  expect(worker.isDraining).toBe(true)
  await other.resumeWorker(worker.name)
  expect(await waiting.result({ timeout: '20s' })).toBe(1)
  await expect.poll(() => isDraining(other, worker), SOON).toBe(false)
  expect((await seenBy(other, worker))?.drained).toBe(null)
  await expect(other.drainWorker('nobody')).rejects.toThrow(UnknownWorker)
}

describe.each(EVERY_ENGINE)('a worker that is drained: %s', (_name, openEngine) => {
  it('by its own process takes nothing more until it is resumed', async () => {
    const pawl = await openEngine()
    await drains(pawl, pawl)
  })

  it('stops when it is told to, and leaves what waits to others', async () => {
    const pawl = await openEngine()
    const worker = pawl.work([echo])
    await pawl.drainWorker(worker.name)
    const waiting = await pawl.submit(echo, 1)
    await worker.stop()
    expect(await pawl.workers()).toEqual([])
    await expect(pawl.resumeWorker(worker.name)).rejects.toThrow(UnknownWorker)
    pawl.work([echo])
    expect(await waiting.result({ timeout: '20s' })).toBe(1)
  })
})

describe('a process whose only worker is drained', () => {
  it('lives until the worker stops', async () => {
    const program = new URL('drained-program.ts', import.meta.url).pathname
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--import', 'tsx', program, await temporaryFolder()],
      { timeout: 60_000 },
    )
    expect(stdout).toBe('drained\nresumed 7\nstopped\n')
  })
})

describe.each(Object.keys(SHARED))('a worker that another process drains: %s', (name) => {
  const fresh = SHARED[name] as () => Promise<SharedPlace>

  it('takes nothing more until another one resumes it', async () => {
    const place = await fresh()
    const [there, here] = [await engineAt(place), await engineAt(place)]
    await drains(there, here)
    expect([...there.errors, ...here.errors]).toEqual([])
  })

  it('does once what was asked once: what its own process says later stands', async () => {
    const place = await fresh()
    const [there, here] = [await engineAt(place), await engineAt(place)]
    const workers = [there.work([echo]), there.work([echo])] as const
    const [first, second] = workers
    await expect.poll(async () => (await here.workers()).length, SOON).toBe(2)
    await here.drainWorker(first.name, ANN)
    await expect.poll(() => first.isDraining, SOON).toBe(true)
    await there.resumeWorker(first.name)
    // With this, the process reads once more what was ever asked.
    await here.drainWorker(second.name, ANN)
    await expect.poll(() => second.isDraining, SOON).toBe(true)
    expect(first.isDraining).toBe(false)
  })

  it('is not known any more once it has stopped', async () => {
    const place = await fresh()
    const [there, here] = [await engineAt(place), await engineAt(place)]
    const worker = there.work([echo])
    await expect.poll(() => isDraining(here, worker), SOON).toBe(false)
    await there.close()
    await expect(here.drainWorker(worker.name)).rejects.toThrow(UnknownWorker)
  })
})

describe('a worker behind a server', () => {
  const TOKEN = 'token-of-the-admin-0123456789'

  async function served() {
    const home = await open(await temporaryFolder())
    onTestFinished(() => home.close())
    const tokens = [{ token: TOKEN, roles: ['admin'], name: 'ops' }] as const
    const server = await serve(home, { port: 0, tokens })
    onTestFinished(() => server.close())
    const client = async (): Promise<Pawl> => {
      const pawl = await open(server.url, { token: TOKEN, onError: () => undefined })
      onTestFinished(() => pawl.close())
      return pawl
    }
    return { home, client }
  }

  it('is drained by the process of the server', async () => {
    const { home, client } = await served()
    await drains(await client(), home)
  })

  it('is drained by another process behind it', async () => {
    const { client } = await served()
    await drains(await client(), await client())
  })

  it('drains one in the process of the server', async () => {
    const { home, client } = await served()
    await drains(home, await client())
  })
})
