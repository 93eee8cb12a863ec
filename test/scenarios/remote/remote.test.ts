/**
 * An engine behind a server: clients and workers in other processes, or on other machines, use it as any other.
 */
import { describe, expect, it, onTestFinished } from 'vitest'
import type { OpenOptions, Pawl } from '../../../src/index.ts'
import { child, effect, job, open, pipeline, typed } from '../../../src/index.ts'
import type { PawlServer } from '../../../src/server/index.ts'
import { serve } from '../../../src/server/index.ts'
import { CutProxy } from '../../support/cut-proxy.ts'
import { deferred, temporaryFolder } from '../../support/engines.ts'

const TOKEN = 'token-of-the-admin-0123456789'
const RESULT = { timeout: '20s' } as const

interface Served {
  readonly home: Pawl
  readonly server: PawlServer
  readonly client: (options?: OpenOptions, url?: string) => Promise<Pawl>
}

async function served(): Promise<Served> {
  const home = await open(await temporaryFolder())
  onTestFinished(() => home.close())
  const server = await serve(home, {
    port: 0,
    graceMs: 500,
    tokens: [{ token: TOKEN, roles: ['admin'], name: 'ops' }],
  })
  onTestFinished(() => server.close())
  const client = async (options: OpenOptions = {}, url = server.url): Promise<Pawl> => {
    const pawl = await open(url, { token: TOKEN, onError: () => undefined, ...options })
    onTestFinished(() => pawl.close())
    return pawl
  }
  return { home, server, client }
}

const greet = job('greet', {
  input: typed<{ name: string }>(),
  run: async ({ input, step }) => `${await step('word', () => 'Hello')}, ${input.name}!`,
})

describe('behind a server', () => {
  it('a client submits, a worker of another engine runs it, and the client has the result', async () => {
    const { client } = await served()
    const [submitter, worker] = [await client(), await client()]
    worker.work([greet])
    const handle = await submitter.submit(greet, { name: 'Ada' })
    expect(await handle.result(RESULT)).toBe('Hello, Ada!')
    expect(await submitter.get(handle.id)).toMatchObject({ state: 'SUCCEEDED', steps: ['word'] })
  })

  it('children, effects and pipelines go their way', async () => {
    const { home, client } = await served()
    const told: string[] = []
    const tell = effect('tell', {
      input: typed<string>(),
      run: (input) => void told.push(input),
    })
    const parent = job('parent', {
      effects: [tell],
      run: ({ commit }) => commit('done', [tell('a')], [child(greet, { name: 'Bob' })]),
    })
    const sum = pipeline('sum', { input: typed<number[]>() })
      .stage('double', { each: 'input', run: ({ segment }) => segment * 2 })
      .stage('add', {
        after: 'double',
        run: async ({ outputs }) => (await outputs.double.toArray()).reduce((a, b) => a + b, 0),
      })
    const worker = await client()
    worker.work([greet, parent, sum])
    const submitter = await client()
    expect(await (await submitter.submit(parent)).result(RESULT)).toBe('done')
    expect(told).toEqual(['a'])
    expect(await (await submitter.submit(sum, [1, 2, 3])).result(RESULT)).toBe(12)
    await expect
      .poll(async () => (await home.list({ type: 'greet', state: 'SUCCEEDED' })).jobs.length)
      .toBe(1)
  })

  it('what a handler says is seen by others, and is gone when its job is erased', async () => {
    const { client } = await served()
    const gate = deferred()
    const talks = job('talks', {
      run: async ({ progress }) => {
        progress(0.25)
        await gate.promise
      },
    })
    const worker = await client()
    worker.work([talks])
    const operator = await client()
    const handle = await operator.submit(talks)
    await expect.poll(async () => (await operator.get(handle.id))?.progress).toBe(0.25)
    gate.resolve()
    await handle.result(RESULT)
    await operator.erase(handle.id)
    expect((await operator.list()).jobs).toMatchObject([{ erasedAt: expect.any(Date) as Date }])
  })

  it('a handler is told that an operator cancelled its job, within a moment', async () => {
    const { client } = await served()
    const [operator, worker] = [await client(), await client()]
    const begun = deferred()
    const stopped = deferred<unknown>()
    const waits = job('waits', {
      lease: '60s',
      run: ({ signal }) => {
        begun.resolve()
        return new Promise((_, reject) => {
          signal.addEventListener('abort', () => {
            stopped.resolve(signal.reason)
            reject(signal.reason as Error)
          })
        })
      },
    })
    worker.work([waits])
    const { id } = await operator.submit(waits)
    await begun.promise
    await operator.cancel(id, { by: 'ada' })
    expect(await stopped.promise).toMatchObject({ code: 'Aborted' })
  })

  it('the server shows the workers of clients, and each client those of all', async () => {
    const { home, client } = await served()
    const [one, other] = [await client(), await client()]
    one.work([greet], { name: 'far' })
    await expect.poll(async () => (await home.workers()).map(({ name }) => name)).toEqual(['far'])
    await expect.poll(async () => (await other.workers()).map(({ name }) => name)).toEqual(['far'])
    const { id } = await other.submit(greet, { name: 'x' }, { delay: '1h' })
    expect((await home.explain(id)).reasons.map(({ what }) => what)).not.toContain('no-worker')
  })

  it('a worker whose connection is cut loses its lease, is told so, and does no harm', async () => {
    const { server, client } = await served()
    const proxy = await CutProxy.to(server.url)
    const far = await client({}, proxy.through(server.url))
    const near = await client()
    const begun = deferred()
    const mayEnd = deferred()
    const runs: string[] = []
    const slow = (where: string) =>
      job('slow', {
        lease: '60s',
        run: async () => {
          runs.push(where)
          if (where === 'far') {
            begun.resolve()
            await mayEnd.promise
          }
          return where
        },
      })
    far.work([slow('far')])
    const handle = await near.submit(slow('near'))
    await begun.promise
    proxy.cut('all')
    near.work([slow('near')])
    // Its lease is of a minute: presence revokes it, by the connection that is gone.
    expect(await handle.result(RESULT)).toBe('near')
    proxy.mend()
    mayEnd.resolve()
    await expect.poll(() => runs).toEqual(['far', 'near'])
    expect(await (await near.get(handle.id))?.output).toBe('near')
    const types = (await near.history(handle.id)).map(({ type }) => type)
    expect(types).toContain('LeaseRevoked')
  })

  it('what was under way when the connection was cut is done once, and answered', async () => {
    const { home, server, client } = await served()
    const proxy = await CutProxy.to(server.url)
    const far = await client({}, proxy.through(server.url))
    far.work([greet])
    const submitting = Array.from({ length: 40 }, async (_, i) => {
      const handle = await far.submit(greet, { name: `${i}` })
      return handle.result(RESULT)
    })
    for (let i = 0; i < 5; i++) {
      await new Promise((resolve) => setTimeout(resolve, 20))
      proxy.cut('all')
      await new Promise((resolve) => setTimeout(resolve, 20))
      proxy.mend()
    }
    const results = await Promise.all(submitting)
    expect(results).toEqual(Array.from({ length: 40 }, (_, i) => `Hello, ${i}!`))
    expect((await home.list({ type: 'greet', limit: 100 })).jobs).toHaveLength(40)
  })

  it('a watch goes on behind the last entry when its connection was cut', async () => {
    const { home, server, client } = await served()
    const proxy = await CutProxy.to(server.url)
    const far = await client({}, proxy.through(server.url))
    const seen: string[] = []
    const watching = (async () => {
      for await (const { entry } of far.watch()) {
        if (entry.type === 'JobSubmitted') seen.push(entry.job)
        if (seen.length === 6) return
      }
    })()
    for (let i = 0; i < 6; i++) {
      await home.submit(greet, { name: 'x' }, { id: `job-${i}` })
      await expect.poll(() => seen.length).toBe(i + 1)
      if (i % 2 === 0) proxy.cut('all')
      proxy.mend()
    }
    await watching
    expect(seen).toEqual(['job-0', 'job-1', 'job-2', 'job-3', 'job-4', 'job-5'])
  })

  it('transactions of the user are refused, and so is what the server says', async () => {
    const { server, client } = await served()
    const far = await client()
    const tx = { query: async () => [] }
    await expect(far.submit(greet, { name: 'x' }, { tx })).rejects.toThrow(
      /cannot be submitted in a transaction/,
    )
    await expect(far.backup('/nowhere')).rejects.toThrow(/where the server opens it/)
    await expect(open(server.url, { token: TOKEN, retention: { count: 1 } })).rejects.toThrow(
      /takes no `retention`/,
    )
  })

  it('a wrong token, a wrong address and no server are told apart when it is opened', async () => {
    const { server } = await served()
    const wrong = open(server.url, { token: 'another-token-than-this' })
    await expect(wrong).rejects.toMatchObject({ name: 'ServerRefused', code: 'Unauthorized' })
    await expect(wrong).rejects.not.toThrow(/another-token/)
    await expect(open('http://127.0.0.1:1')).rejects.toMatchObject({ code: 'ServerUnreachable' })
  })
})
