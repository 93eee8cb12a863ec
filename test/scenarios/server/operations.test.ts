/**
 * The operations of clients and operators, by real requests to a real server: what they answer fits the catalogue.
 */
import { describe, expect, it, onTestFinished } from 'vitest'
import { job, open } from '../../../src/index.ts'
import type { Pawl } from '../../../src/index.ts'
import type { PawlServer, ServeOptions } from '../../../src/server/index.ts'
import { createHandler, serve } from '../../../src/server/index.ts'
import type { Answered } from '../../support/server-calls.ts'
import { callServer, serverInFront } from '../../support/server-calls.ts'

async function served(
  options: ServeOptions = {},
): Promise<{ pawl: Pawl; server: PawlServer; call: typeof callServer }> {
  const { pawl, server } = await serverInFront(options)
  return { pawl, server, call: callServer }
}

const fails = job('mail', {
  retry: { max: 0 },
  run: () => {
    throw new Error('no such mailbox')
  },
})

describe('over HTTP', () => {
  it('a job is submitted, shown, listed, explained and cancelled', async () => {
    const { server, call } = await served()
    const { url } = server
    const { body } = await call(url, 'jobs.submit', {
      type: 'mail',
      input: { to: 'ada' },
      key: 'k',
    })
    const id = body['job'] as string
    expect(
      (await call(url, 'jobs.submit', { type: 'mail', input: { to: 'ada' }, key: 'k' })).body,
    ).toEqual(body)
    const shown = await call(url, 'jobs.show', { job: id })
    expect(shown.body).toMatchObject({ id, type: 'mail', state: 'QUEUED', input: { to: 'ada' } })
    const listed = await call(url, 'jobs.list', { type: 'mail', limit: 10 })
    expect(listed.body['jobs']).toMatchObject([{ id }])
    expect((await call(url, 'jobs.explain', { job: id })).body['reasons']).toMatchObject([
      { what: 'no-worker' },
    ])
    expect((await call(url, 'jobs.cancel', { job: id, by: 'ada', reason: 'mistake' })).status).toBe(
      200,
    )
    const history = await call(url, 'jobs.history', { job: id })
    expect(history.body['items']).toMatchObject([
      { type: 'JobSubmitted' },
      { type: 'JobCancelled', by: 'ada', reason: 'mistake' },
    ])
  })

  it('a job in quarantine is found, retried and discarded', async () => {
    const { pawl, server, call } = await served()
    const { url } = server
    const worker = pawl.work([fails])
    const { id } = await pawl.submit(fails)
    await expect
      .poll(async () => (await call(url, 'quarantine.list')).body['jobs'])
      .toMatchObject([{ id }])
    expect((await call(url, 'quarantine.groups')).body['groups']).toMatchObject([{ count: 1 }])
    await worker.stop()
    expect((await call(url, 'jobs.retry', { job: id })).status).toBe(200)
    const second = await call(url, 'jobs.discard', { job: id })
    expect(second).toMatchObject({ status: 409, body: { code: 'TaskNotDead', kind: 'rejected' } })
    pawl.work([fails])
    await expect.poll(async () => (await pawl.get(id))?.state).toBe('QUARANTINED')
    expect((await call(url, 'jobs.discard', { job: id })).status).toBe(200)
    expect((await pawl.get(id))?.state).toBe('FAILED')
  })

  it('is measured as text, for callers that may read', async () => {
    const token = 'token-that-may-read-0123'
    const { pawl, server } = await served({ tokens: [{ token, roles: ['read'] }] })
    await pawl.submit(fails)
    expect((await fetch(`${server.url}/metrics`)).status).toBe(401)
    const answer = await fetch(`${server.url}/metrics`, {
      headers: { authorization: `Bearer ${token}` },
    })
    expect(answer.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
    expect(await answer.text()).toContain('pawl_queue_waiting{queue="default"} 1\n')
  })

  it('queues, schedules, workers, health and metrics are shown', async () => {
    const { pawl, server, call } = await served()
    const { url } = server
    pawl.work([fails])
    await pawl.schedule('nightly', { cron: '0 3 * * *', job: fails })
    expect((await call(url, 'queues.pause', { queue: 'mail', reason: 'full' })).status).toBe(200)
    expect((await call(url, 'queues.show', { queue: 'mail' })).body['pausedAt']).toBeTypeOf(
      'string',
    )
    expect((await call(url, 'queues.resume', { queue: 'mail' })).status).toBe(200)
    expect((await call(url, 'queues.configure', { queue: 'mail', concurrency: 3 })).status).toBe(
      200,
    )
    expect((await call(url, 'schedules.list')).body['schedules']).toMatchObject([{ id: 'nightly' }])
    expect((await call(url, 'schedules.pause', { schedule: 'nightly' })).status).toBe(200)
    expect((await call(url, 'schedules.resume', { schedule: 'nightly' })).status).toBe(200)
    expect((await call(url, 'schedules.remove', { schedule: 'nightly' })).status).toBe(200)
    expect((await call(url, 'workers.list')).body['workers']).toHaveLength(1)
    expect((await call(url, 'health')).body['isWell']).toBe(true)
    expect((await call(url, 'metrics')).status).toBe(200)
    expect((await call(url, 'openapi')).body['openapi']).toBe('3.1.0')
    expect((await call(url, 'healthz')).body).toEqual({ status: 'ok' })
    expect((await call(url, 'readyz')).body).toEqual({ status: 'ready' })
  })

  it('what is wrong is said with what was given and what to write', async () => {
    const { server, call } = await served()
    const { url } = server
    const cases: [Answered, number, string, RegExp][] = [
      [await call(url, 'jobs.show', { job: 'none' }), 404, 'UnknownJob', /never submitted/],
      [await call(url, 'jobs.submit', { typ: 'a' }), 400, 'InvalidInput', /`type` is missing/],
      [
        await call(url, 'jobs.submit', { type: 'a', prio: 1 }),
        400,
        'InvalidInput',
        /`prio` is not known/,
      ],
      [
        await call(url, 'jobs.list', { limit: 'x' }),
        400,
        'InvalidInput',
        /`limit` is "x": write a whole number/,
      ],
      [
        await call(url, 'jobs.submit', { type: 'a', lease: 'soon' }),
        400,
        'InvalidDefinition',
        /soon/,
      ],
      [
        await call(url, 'store.execute', {
          commands: [{ type: 'PauseQueue', queue: 'a', by: 'b', reason: '', why: 1 }],
        }),
        400,
        'UnknownField',
        /`commands\[0\]\.why` is not known: a PauseQueue has 'by', 'reason', 'queue'/,
      ],
    ]
    for (const [{ status, body }, wanted, code, says] of cases) {
      expect({ status, code: body['code'] }).toEqual({ status: wanted, code })
      expect(body['detail']).toMatch(says)
    }
  })

  it('a malformed command is answered rejected, beside good ones', async () => {
    const { server, call } = await served()
    const good = { type: 'PauseQueue', queue: 'a', by: 'b', reason: '' }
    const commands = [
      good,
      null,
      { type: 'Explode' },
      { type: 'PauseQueue', queue: '' },
      7,
      'x',
      [],
    ]
    const { body } = await call(server.url, 'store.execute', { commands })
    const verdicts = (body['answers'] as { verdict: string }[]).map(({ verdict }) => verdict)
    expect(verdicts).toEqual(['committed', ...Array<string>(6).fill('rejected')])
  })

  it('a definition of the server checks what is submitted by its name', async () => {
    const mail = job('mail', { lease: '7s', run: () => null })
    const { pawl, server, call } = await served({ definitions: [mail] })
    const { body } = await call(server.url, 'jobs.submit', { type: 'mail' })
    expect((await pawl.get(body['job'] as string))?.maxRetries).toBe(3)
    const twice = await call(server.url, 'jobs.submit', { type: 'mail', lease: '9s' })
    expect(twice.body['detail']).toMatch(/has a definition of 'mail', which says `lease`/)
  })

  it('a claim waits until there is something, and the same request gets the same lease', async () => {
    const { pawl, server, call } = await served()
    const claim = {
      worker: 'w',
      request: 1,
      channels: [{ queue: 'default', type: 'mail', stage: null }],
      max: 1,
      started: true,
      waitMs: 20_000,
    }
    const claiming = call(server.url, 'store.claim', claim)
    const { id } = await pawl.submit(fails)
    const first = (await claiming).body['claimed'] as { job: string; lease: number }[]
    expect(first).toMatchObject([{ job: id }])
    const again = await call(server.url, 'store.claim', claim)
    expect(again.body['claimed']).toMatchObject([{ job: id, lease: first[0]?.lease }])
    const report = { job: id, stage: 0, segment: 0, lease: first[0]?.lease, worker: 'w' }
    const commands = [{ type: 'CommitExecution', ...report, output: '1', effects: [] }]
    expect((await call(server.url, 'store.execute', { commands })).body['answers']).toMatchObject([
      { verdict: 'committed' },
    ])
    expect(await pawl.handle(id).result()).toBe(1)
  })
})

describe('a page in a browser', () => {
  it('is refused under another name than the server has, and from another origin', async () => {
    const pawl = await open('memory:')
    onTestFinished(() => pawl.close())
    const handler = createHandler(pawl, { unprotected: true, origins: ['https://ops.example'] })
    const codeFor = async (headers: Record<string, string>): Promise<unknown> => {
      const response = await handler(new Request('http://localhost/v1/jobs', { headers }))
      return response.status === 200 ? 200 : ((await response.json()) as Answered['body'])['code']
    }
    expect(await codeFor({ host: 'localhost:7295' })).toBe(200)
    expect(await codeFor({ host: '[::1]:7295' })).toBe(200)
    expect(await codeFor({ host: 'rebound.example:7295' })).toBe('HostNotAllowed')
    expect(await codeFor({ host: 'localhost.example' })).toBe('HostNotAllowed')
    expect(await codeFor({ host: 'localhost', origin: 'https://evil.example' })).toBe(
      'OriginNotAllowed',
    )
    expect(await codeFor({ host: 'localhost', origin: 'null' })).toBe('OriginNotAllowed')
    expect(await codeFor({ host: 'localhost', origin: 'http://localhost' })).toBe(200)
    expect(await codeFor({ host: 'localhost', origin: 'https://ops.example' })).toBe(200)
    handler.close()
  })

  it('cannot send a form, and gets no leave to read', async () => {
    const { server } = await served()
    const form = await fetch(`${server.url}/v1/jobs`, { method: 'POST', body: '{"type":"mail"}' })
    expect(form.status).toBe(415)
    const preflight = await fetch(`${server.url}/v1/jobs`, { method: 'OPTIONS' })
    expect(preflight.status).toBe(405)
    expect(preflight.headers.get('access-control-allow-origin')).toBe(null)
  })
})

describe('a body', () => {
  it.each([
    ['too deep', `{"type":"mail","input":${'['.repeat(200)}${']'.repeat(200)}}`, 'MalformedJson'],
    ['too long', JSON.stringify({ type: 'mail', input: 'x'.repeat(3_000) }), 'BodyTooLarge'],
    ['no JSON', '{"type":', 'MalformedJson'],
    ['a list', '[]', 'InvalidInput'],
  ])('that is %s is refused, and nothing is submitted', async (_, body, code) => {
    const { pawl, server } = await served({ limits: { bodyBytes: 2_000 } })
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(`${server.url}/v1/jobs`, { method: 'POST', headers, body })
    expect(await response.json()).toMatchObject({ code, kind: 'rejected', status: response.status })
    expect((await pawl.list()).jobs).toEqual([])
  })
})

describe('a body that does not say how long it is', () => {
  it('is read up to the bound, and no further', async () => {
    const pawl = await open('memory:')
    onTestFinished(() => pawl.close())
    const handler = createHandler(pawl, { unprotected: true, limits: { bodyBytes: 2_000 } })
    let pulled = 0
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        pulled += 1
        if (pulled > 100) controller.close()
        else controller.enqueue(Buffer.alloc(1_000, ' '))
      },
    })
    const headers = { 'content-type': 'application/json' }
    const terms = { method: 'POST', headers, body, duplex: 'half' } as const
    const response = await handler(new Request('http://localhost/v1/jobs', terms))
    expect(await response.json()).toMatchObject({ code: 'BodyTooLarge', status: 413 })
    expect(pulled).toBeLessThan(6)
    handler.close()
  })
})

describe('a handler without a listener', () => {
  it('is mounted under a path, and answers what is below it', async () => {
    const pawl = await open('memory:')
    onTestFinished(() => pawl.close())
    const token = 'a-token-of-some-length'
    const handler = createHandler(pawl, { path: '/jobs', tokens: [{ token, roles: ['read'] }] })
    const ask = (path: string): Promise<Response> =>
      handler(
        new Request(`https://app.example${path}`, {
          headers: { authorization: `Bearer ${token}` },
        }),
      )
    expect((await ask('/jobs/v1/jobs')).status).toBe(200)
    expect((await ask('/v1/jobs')).status).toBe(404)
    expect((await ask('/jobsv1/jobs')).status).toBe(404)
    handler.close()
  })

  it('is not made without tokens, unless that is said', async () => {
    const pawl = await open('memory:')
    onTestFinished(() => pawl.close())
    expect(() => createHandler(pawl)).toThrow(/needs `tokens`/)
    expect(() => createHandler({} as Pawl, { unprotected: true })).toThrow(/what open\(\) gives/)
    await expect(serve(pawl, { host: '0.0.0.0' })).rejects.toThrow(/needs `tokens`/)
    const short = { token: 'short', roles: ['read'] as const }
    await expect(serve(pawl, { tokens: [short] })).rejects.toThrow(/at least 16 characters/)
  })
})
