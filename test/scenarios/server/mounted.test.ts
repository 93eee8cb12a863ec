/**
 * The server, its dashboard included, mounted in web servers that people have already: each is the real one, on loopback.
 */
import { once } from 'node:events'
import type { Server } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { Pawl } from '../../../src/index.ts'
import { job, open } from '../../../src/index.ts'
import { SERVER_PROBLEMS } from '../../../src/protocol/index.ts'
import { createHandler, createMiddleware } from '../../../src/server/index.ts'
import { startBrowser } from '../../support/browser.ts'
import { builtDashboard } from '../../support/dashboard.ts'
import { openPage } from '../../support/dashboard-page.ts'
import { deferred } from '../../support/engines.ts'

const note = job('note', { run: () => null })

let pawl: Pawl
beforeAll(async () => {
  pawl = await open('memory:')
})
afterAll(() => pawl.close())

interface Mounted {
  /** Where the server is. */
  readonly url: string
  readonly close: () => Promise<unknown>
}

const NO_TOKENS = { unprotected: true } as const
const BELOW = '/ops/pawl'

async function listening(server: Server): Promise<Mounted> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const close = async (): Promise<void> => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  return { url: `http://127.0.0.1:${port}${BELOW}`, close }
}

const SERVERS: Readonly<Record<string, () => Promise<Mounted>>> = {
  'node:http': async () => {
    const pawlAt = createMiddleware(pawl, { ...NO_TOKENS, path: BELOW })
    const own = createServer((request, response) =>
      pawlAt(request, response, () => response.writeHead(404).end('of the program')),
    )
    return listening(own)
  },
  Express: async () => {
    const app = express()
    app.use(BELOW, createMiddleware(pawl, NO_TOKENS))
    app.use(express.json())
    app.use((_request, response) => void response.status(404).send('of the program'))
    return listening(createServer(app))
  },
  'Express, by its whole path': async () => {
    const app = express()
    app.use(createMiddleware(pawl, { ...NO_TOKENS, path: BELOW }))
    app.use((_request, response) => void response.status(404).send('of the program'))
    return listening(createServer(app))
  },
  Fastify: async () => {
    const app = fastify()
    const pawlAt = createMiddleware(pawl, { ...NO_TOKENS, path: BELOW })
    app.register(async (scope) => {
      scope.removeAllContentTypeParsers()
      scope.addContentTypeParser('*', (_request, _payload, done) => done(null))
      scope.all(`${BELOW}/*`, (request, reply) => {
        reply.hijack()
        pawlAt(request.raw, reply.raw)
      })
    })
    app.setNotFoundHandler((_request, reply) => reply.code(404).send('of the program'))
    const address = await app.listen({ port: 0, host: '127.0.0.1' })
    return { url: `${address}${BELOW}`, close: () => app.close() }
  },
}

describe.each(Object.entries(SERVERS))('mounted in %s', (_name, mount) => {
  let mounted: Mounted
  beforeAll(async () => {
    mounted = await mount()
  })
  afterAll(() => mounted.close())

  it('takes jobs, and shows them', async () => {
    const submitted = await fetch(`${mounted.url}/v1/jobs`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ type: 'mail', input: { to: 'ä@example.com' } }),
    })
    expect(submitted.status).toBe(200)
    const { job: id } = (await submitted.json()) as { job: string }
    const shown = await fetch(`${mounted.url}/v1/jobs/${id}`)
    expect(await shown.json()).toMatchObject({ id, input: { to: 'ä@example.com' } })
  })

  it('streams entries as they become durable', async () => {
    const gone = new AbortController()
    onTestFinished(() => gone.abort())
    const watched = await fetch(`${mounted.url}/v1/watch`, { signal: gone.signal })
    expect(watched.headers.get('content-type')).toBe('text/event-stream')
    // What compresses the answers of a program keeps them back, unless it is told not to.
    expect(watched.headers.get('cache-control')).toBe('no-store, no-transform')
    const { id } = await pawl.submit(note)
    const decoder = new TextDecoder()
    let text = ''
    for await (const chunk of watched.body as ReadableStream<Uint8Array>) {
      text += decoder.decode(chunk, { stream: true })
      if (text.includes(id)) break
    }
    expect(text).toContain(id)
  })

  it('answers what it does not know below its path, and leaves all else to the program', async () => {
    const below = await fetch(`${mounted.url}/v1/nothing`)
    expect([below.status, ((await below.json()) as { code: string }).code]).toEqual([
      404,
      'NoSuchRoute',
    ])
    for (const path of ['/', '/ops', '/ops/pawls', '/v1/jobs']) {
      const other = await fetch(new URL(path, mounted.url))
      expect([path, other.status, await other.text()]).toEqual([path, 404, 'of the program'])
    }
  })
})

describe('mounted in Hono', () => {
  it('takes jobs, and shows them', async () => {
    const app = new Hono()
    const handler = createHandler(pawl, { ...NO_TOKENS, path: BELOW })
    app.all(`${BELOW}/*`, ({ req }) => handler(req.raw))
    const submitted = await app.request(`${BELOW}/v1/jobs`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"type":"mail"}',
    })
    const { job: id } = (await submitted.json()) as { job: string }
    expect(await (await app.request(`${BELOW}/v1/jobs/${id}`)).json()).toMatchObject({ id })
    expect((await app.request('/elsewhere')).status).toBe(404)
  })
})

describe('a middleware', () => {
  it('behind a parser of bodies says that it comes too late, and takes nothing', async () => {
    const app = express()
    app.use(express.json())
    app.use(BELOW, createMiddleware(pawl, NO_TOKENS))
    const { url, close } = await listening(createServer(app))
    onTestFinished(() => void close())
    const { total } = await pawl.counts()
    const answer = await fetch(`${url}/v1/jobs`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"type":"mail"}',
    })
    expect(answer.status).toBe(500)
    expect(await answer.json()).toMatchObject({
      code: 'BodyTaken',
      kind: SERVER_PROBLEMS.BodyTaken.kind,
      detail: expect.stringContaining('before what parses bodies'),
    })
    expect((await pawl.counts()).total).toBe(total)
    expect((await fetch(`${url}/healthz`)).status, 'what has no body is answered').toBe(200)
  })

  it('keeps no stream open for a caller that left BEFORE the program let its request through', async () => {
    const [arrived, left] = [deferred(), deferred()]
    const pawlAt = createMiddleware(pawl, { ...NO_TOKENS, path: BELOW, limits: { open: 1 } })
    const own = createServer((request, response) => {
      if (!request.url?.endsWith('from=0')) return pawlAt(request, response)
      arrived.resolve()
      // AFTER all that its end makes known.
      response.once('close', () => setImmediate(left.resolve))
      void left.promise.then(() => pawlAt(request, response))
    })
    const { url, close } = await listening(own)
    onTestFinished(() => void close())
    const gone = new AbortController()
    const watched = fetch(`${url}/v1/watch?from=0`, { signal: gone.signal }).catch(() => null)
    await arrived.promise
    gone.abort()
    await Promise.all([watched, left.promise])
    const status = async (): Promise<number> => {
      const other = await fetch(`${url}/v1/watch?from=1`)
      await other.body?.cancel()
      return other.status
    }
    await expect.poll(status).toBe(200)
  })

  it('needs tokens, or that they are done without', () => {
    expect(() => createMiddleware(pawl)).toThrow(/createMiddleware\(\) needs `tokens`/)
  })

  it('ends its streams when it is closed, and the server of the program goes on', async () => {
    const pawlAt = createMiddleware(pawl, NO_TOKENS)
    const app = express()
    app.use(BELOW, pawlAt)
    app.get('/own', (_request, response) => void response.send('well'))
    const { url, close } = await listening(createServer(app))
    onTestFinished(() => void close())
    const watched = await fetch(`${url}/v1/watch?from=9999999`)
    const ended = watched.text()
    pawlAt.close()
    await ended
    expect(await (await fetch(new URL('/own', url))).text()).toBe('well')
  })
})

it('the dashboard works below the path of a program of Express', async () => {
  const built = await builtDashboard()
  onTestFinished(() => built.remove())
  const app = express()
  app.use(BELOW, built.middleware(pawl))
  const { url, close } = await listening(createServer(app))
  onTestFinished(() => void close())
  const browser = await startBrowser()
  if (browser === null) return
  onTestFinished(() => browser.close())
  const { id } = await pawl.submit(note)
  const { page, faults, go } = await openPage(browser, `${url}/dashboard`)
  expect(page.url(), 'led to the page').toContain('/dashboard/')
  await go('jobs')
  await page.getByText(id).waitFor()
  expect(faults).toEqual([])
})
