/**
 * Texts of any characters over HTTP: what can be kept comes back as it was given, and what cannot is refused in words. Nothing
 * is replaced.
 */
import { describe, expect, it, onTestFinished } from 'vitest'
import { job, typed } from '../../../src/index.ts'
import { serve } from '../../../src/server/index.ts'
import { EVERY_ENGINE } from '../../support/engines.ts'
import { callServer, serverInFront } from '../../support/server-calls.ts'
import { failure, plain } from '../../support/specs.ts'

const LINES = 'line\u2028para\u2029'
const BIDI = 'safe\u202Egnp.exe\u2066'
const WIDE = '𝕌𝕟𝕚 e\u0301 é 😀 \u200B\uFEFF'
const HALF = 'half \uD800 and \uDC00'
const NUL = 'nul \u0000 and \u001b[31m'

const KEPT = [LINES, BIDI, WIDE]
const REFUSED = [HALF, NUL]

describe.each(EVERY_ENGINE)('%s', (_, openEngine) => {
  it('names, keys and tags of any characters are kept and found, or refused', async () => {
    const pawl = await openEngine()
    const server = await serve(pawl, { port: 0 })
    onTestFinished(() => server.close())
    const { url } = server
    for (const text of KEPT) {
      const names = { type: text, id: `id ${text}`, key: text, queue: text, group: text }
      const { status, body } = await callServer(url, 'jobs.submit', {
        ...names,
        tags: [text],
        by: text,
      })
      expect([status, body]).toEqual([200, { job: `id ${text}` }])
      const { id, ...others } = names
      const shown = await callServer(url, 'jobs.show', { job: id })
      expect(shown.body).toMatchObject({ id, ...others, tags: [text] })
      for (const filter of [{ tag: text }, { key: text }, { queue: text }, { type: text }]) {
        const { body: page } = await callServer(url, 'jobs.list', filter)
        expect(page['jobs'], JSON.stringify(filter)).toMatchObject([{ id }])
      }
    }
    const before = (await pawl.counts({ by: 'type', limit: 10 })).total
    for (const text of REFUSED) {
      for (const field of ['type', 'id', 'key', 'queue', 'group', 'tags', 'by']) {
        const given = { type: 'note', [field]: field === 'tags' ? [text] : text }
        const { status, body } = await callServer(url, 'jobs.submit', given)
        expect([field, text, status]).toEqual([field, text, 409])
        expect(body, field).toMatchObject({ kind: 'rejected', detail: expect.any(String) })
        expect(body['detail']).toContain('a text without U+0000 and without halves of characters')
      }
    }
    expect((await pawl.counts({ by: 'type', limit: 10 })).total).toBe(before)
  })

  it('payloads, their keys, errors and reasons are kept, whatever is in them', async () => {
    const pawl = await openEngine()
    const server = await serve(pawl, { port: 0 })
    onTestFinished(() => server.close())
    const { url } = server
    const all = [...KEPT, ...REFUSED]
    const input = Object.fromEntries(all.map((text) => [text, [text]]))
    const { body } = await callServer(url, 'jobs.submit', { type: 'note', input, metadata: all })
    const id = body['job'] as string
    const shown = await callServer(url, 'jobs.show', { job: id })
    expect(shown.body).toMatchObject({ input, metadata: all })
    const echo = job('note', { input: typed<unknown>(), run: ({ input: given }) => given })
    pawl.work([echo])
    expect(await pawl.handle(id, echo).result({ timeout: '20s' })).toEqual(input)
    expect((await callServer(url, 'jobs.result', { job: id })).body['result']).toEqual(input)
    // Errors and reasons as another program says them.
    const error = failure({ message: all.join(' '), stack: all.join('\n') })
    const commands = [{ type: 'SubmitJob', job: 'fails', spec: plain({ type: 'fails' }) }]
    await callServer(url, 'store.execute', { commands })
    const claim = {
      worker: 'py-1',
      request: 1,
      channels: [{ queue: 'default', type: 'fails', stage: null }],
      max: 1,
      started: true,
      waitMs: 10_000,
    }
    const { claimed } = (await callServer(url, 'store.claim', claim)).body as {
      claimed: readonly { readonly lease: number }[]
    }
    const place = { job: 'fails', stage: 0, segment: 0, lease: claimed[0]?.lease, worker: 'py-1' }
    const failed = await callServer(url, 'store.execute', {
      commands: [{ type: 'FailTask', ...place, error }],
    })
    expect(failed.body['answers']).toMatchObject([{ rejection: null }])
    expect((await callServer(url, 'jobs.show', { job: 'fails' })).body['error']).toEqual(error)
    const reason = all.join(' ')
    const cancelled = await callServer(url, 'jobs.cancel', { job: 'fails', by: 'ada', reason })
    expect(cancelled.status).toBe(200)
    const after = await callServer(url, 'jobs.show', { job: 'fails' })
    expect(after.body).toMatchObject({ cancelled: { by: 'ada', reason } })
  })
})

describe('a request', () => {
  it('whose bytes are no text, or whose path is none, is refused', async () => {
    const { server, pawl } = await serverInFront()
    const bytes = Buffer.concat([
      Buffer.from('{"type":"note","input":"'),
      Buffer.from([0xed, 0xa0, 0x80]),
      Buffer.from('"}'),
    ])
    const response = await fetch(`${server.url}/v1/jobs`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: bytes,
    })
    expect([response.status, await response.json()]).toMatchObject([
      400,
      { code: 'MalformedJson', detail: 'The body is no UTF-8 text.' },
    ])
    for (const path of ['%ED%A0%80', '%FF', '%']) {
      const found = await fetch(`${server.url}/v1/jobs/${path}`)
      expect([path, found.status]).toEqual([path, 404])
    }
    for (const query of ['tag=%ED%A0%80', 'tag=%FF']) {
      const found = await fetch(`${server.url}/v1/jobs?${query}`)
      expect([query, found.status]).toEqual([query, 400])
    }
    expect((await pawl.list()).jobs).toEqual([])
  })

  it('may have a percent sign that stands for itself', async () => {
    const { server, pawl } = await serverInFront()
    const { id } = await pawl.submit(job('note', { run: () => null }), undefined, {
      tags: ['100%'],
    })
    for (const query of ['tag=100%', 'tag=100%25']) {
      const found = await fetch(`${server.url}/v1/jobs?${query}`)
      expect([query, found.status, await found.json()]).toMatchObject([
        query,
        200,
        { jobs: [{ id }] },
      ])
    }
  })
})
