/**
 * Jobs that are pushed to a URL: a real listener stands for the function, and takes only what is signed and in time.
 */
import { createHash } from 'node:crypto'
import { createServer } from 'node:http'
import type { IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { contract, open, RetryAfter, TerminalError, typed } from '../../../src/index.ts'
import type { Pawl } from '../../../src/index.ts'
import type { PushedJob } from '../../../src/push/index.ts'
import { receivePush } from '../../../src/push/index.ts'
import { SIGNATURE_HEADER, signatureOf } from '../../../src/push/signature.ts'
import { pushJob } from '../../../src/server/index.ts'
import { deferred } from '../../support/engines.ts'

const KEY = 'key-of-pushed-jobs-that-is-long-enough'
const NEXT_KEY = 'the-next-key-of-pushed-jobs-is-long-too'
const RESULT = { timeout: '20s' } as const

type Receive = (job: PushedJob) => unknown

interface Function {
  readonly url: string
  /** What came, as it came. */
  readonly seen: { readonly body: string; readonly signature: string | null }[]
}

/** A function behind a URL: what `receivePush` answers, over a real listener. */
async function functionOf(receive: Receive, keys: readonly string[] = [KEY]): Promise<Function> {
  const seen: Function['seen'] = []
  const server = createServer((incoming, outgoing) => {
    void (async () => {
      const body = await textOf(incoming)
      const headers = incoming.headers as Record<string, string>
      seen.push({ body, signature: headers[SIGNATURE_HEADER] ?? null })
      const request = new Request('http://localhost/', { method: 'POST', headers, body })
      const response = await receivePush(request, { keys }, receive)
      outgoing.writeHead(response.status, { 'content-type': 'application/json' })
      outgoing.end(await response.text())
    })()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, seen }
}

async function textOf(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}

async function engine(): Promise<Pawl> {
  const pawl = await open('memory:', { onError: () => undefined })
  onTestFinished(() => pawl.close())
  return pawl
}

const resize = contract('resize', {
  input: typed<{ width: number }>(),
  lease: '10s',
  retry: { max: 2, delay: 0 },
})

describe('a pushed job', () => {
  it('is run by the function behind the URL, whose answer is the result', async () => {
    const got: PushedJob[] = []
    const { url } = await functionOf((job) => {
      got.push(job)
      return { width: (job.input as { width: number }).width * 2 }
    })
    const pawl = await engine()
    pawl.work([pushJob(resize, { url, key: KEY })])
    const handle = await pawl.submit(resize, { width: 7 }, { metadata: { for: 'ada' } })
    expect(await handle.result(RESULT)).toEqual({ width: 14 })
    expect(got).toMatchObject([
      { id: handle.id, type: 'resize', attempt: 1, metadata: { for: 'ada' }, schedule: null },
    ])
    // Below the lease of 10 s, from when it began.
    const { startedAt } = (await handle.info()).executions[0] ?? {}
    const given = (got[0]?.deadline.getTime() ?? 0) - (startedAt?.getTime() ?? 0)
    expect(given).toBeGreaterThan(7_000)
    expect(given).toBeLessThan(10_000)
  })

  it('is tried again, given up, or put off, as the function says', async () => {
    const { url } = await functionOf(({ id, attempt }) => {
      if (id === 'fatal') throw new TerminalError('no such picture', { code: 'NoPicture' })
      if (attempt === 1 && id === 'later') throw new RetryAfter(0, { free: true })
      if (attempt === 1) throw Object.assign(new Error('disk full'), { code: 'ENOSPC' })
      return attempt
    })
    const pawl = await engine()
    pawl.work([pushJob(resize, { url, key: KEY })])
    const again = await pawl.submit(resize, { width: 1 })
    expect(await again.result(RESULT)).toBe(2)
    expect((await again.info()).executions[0]?.error).toMatchObject({
      code: 'ENOSPC',
      message: 'disk full',
    })
    const later = await pawl.submit(resize, { width: 1 }, { id: 'later' })
    expect(await later.result(RESULT)).toBe(2)
    expect((await later.info()).retryCount).toBe(0)
    await pawl.submit(resize, { width: 1 }, { id: 'fatal' })
    await expect.poll(async () => (await pawl.get('fatal'))?.state).toBe('FAILED')
    expect((await pawl.get('fatal'))?.error).toMatchObject({ code: 'NoPicture' })
    expect((await pawl.get('fatal'))?.attempt).toBe(1)
  })

  it('fails if its function answers with a number that would be kept as another, or with no text', async () => {
    const answers = ['{"output":{"id":9007199254740993}}', Buffer.from([0x7b, 0xff])]
    const server = createServer((_, outgoing) => {
      outgoing.writeHead(200, { 'content-type': 'application/json' }).end(answers.shift())
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
    const pawl = await engine()
    const once = contract('count', { input: typed<null>(), lease: '10s', retry: { max: 0 } })
    pawl.work([pushJob(once, { url, key: KEY })])
    for (const says of [
      'The answer has the number 9007199254740993 at `output.id`, which would be kept as 9007199254740992',
      'It answered 200 without an `output`.',
    ]) {
      const { id } = await pawl.submit(once, null)
      await expect.poll(async () => (await pawl.get(id))?.state).toBe('QUARANTINED')
      expect((await pawl.get(id))?.error?.message).toContain(says)
    }
  })

  it('is given up, or put off, as its function says, whatever numbers are in what it says', async () => {
    const statuses = [429, 503, 200, 422]
    const server = createServer((_, outgoing) => {
      const status = statuses.shift() as number
      const body = '{"code":"Said","id":9007199254740993,"output":9007199254740993}'
      outgoing.writeHead(status, { 'retry-after': '0' }).end(status === 200 ? '{"output":1}' : body)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
    const pawl = await engine()
    // By its own policy it would not be tried again within the test.
    const patient = contract('patient', { retry: { max: 2, delay: '1h' } })
    pawl.work([pushJob(patient, { url, key: KEY })])
    expect(await (await pawl.submit(patient)).result(RESULT)).toBe(1)
    const { id } = await pawl.submit(patient)
    await expect.poll(async () => (await pawl.get(id))?.state).toBe('FAILED')
    expect((await pawl.get(id))?.error).toMatchObject({ code: 'Said' })
  })

  it('is not waited for beyond its deadline, nor when it was cancelled', async () => {
    const told = deferred<unknown>()
    const gate = deferred()
    onTestFinished(() => gate.resolve())
    const { url, seen } = await functionOf(async ({ signal }) => {
      signal.addEventListener('abort', () => told.resolve('at the deadline'))
      await gate.promise
    })
    const pawl = await engine()
    pawl.work([pushJob(resize, { url, key: KEY, deadline: 200 })])
    const slow = await pawl.submit(resize, { width: 1 })
    await expect.poll(async () => (await slow.info()).state).toBe('QUARANTINED')
    expect((await slow.info()).error).toMatchObject({ code: 'PushTimeout' })
    expect(await told.promise).toBe('at the deadline')
    const patient = contract('patient', { lease: '60s' })
    pawl.work([pushJob(patient, { url, key: KEY })])
    const before = seen.length
    const cancelled = await pawl.submit(patient)
    await expect.poll(() => seen.length).toBe(before + 1)
    await cancelled.cancel({ by: 'ada', reason: 'mistake' })
    await expect(cancelled.result(RESULT)).rejects.toThrow(/cancelled/)
  })

  it('goes on while the key is changed: the function takes both for a while', async () => {
    const { url } = await functionOf(() => 'done', [NEXT_KEY, KEY])
    const pawl = await engine()
    pawl.work([pushJob(resize, { url, key: NEXT_KEY })])
    expect(await (await pawl.submit(resize, { width: 1 })).result(RESULT)).toBe('done')
  })

  it('is not sent by a deadline that is not below the lease, in the clear, or with a short key', () => {
    const good = { url: 'https://functions.example/resize', key: KEY }
    expect(pushJob(resize, good).name).toBe('resize')
    expect(() => pushJob(resize, { ...good, deadline: '10s' })).toThrow(/less than the lease/)
    expect(() => pushJob(resize, { ...good, url: 'http://functions.example/' })).toThrow(/https/)
    expect(() => pushJob(resize, { ...good, url: 'https://a:b@functions.example' })).toThrow(
      /password/,
    )
    expect(() => pushJob(resize, { ...good, key: 'short' })).toThrow(/32 characters/)
    expect(() => pushJob({ name: 'x' } as never, good)).toThrow(/takes what contract/)
  })

  it('is not sent on to where a redirect leads', async () => {
    const target = await functionOf(() => 'stolen')
    const redirecting = createServer((_, outgoing) => {
      outgoing.writeHead(307, { location: target.url })
      outgoing.end()
    })
    await new Promise<void>((resolve) => redirecting.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void redirecting.close())
    const url = `http://127.0.0.1:${(redirecting.address() as AddressInfo).port}/`
    const pawl = await engine()
    pawl.work([pushJob(resize, { url, key: KEY })])
    const { id } = await pawl.submit(resize, { width: 1 })
    await expect.poll(async () => (await pawl.get(id))?.state).toBe('QUARANTINED')
    expect(target.seen).toEqual([])
  })
})

describe('the receiving end', () => {
  const body = JSON.stringify({
    job: { id: 'a', type: 'resize', attempt: 1, metadata: null, schedule: null },
    input: 1,
    deadlineAt: Date.now() + 60_000,
  })
  const signed = (text: string, time = Date.now(), key = KEY): Record<string, string> => ({
    [SIGNATURE_HEADER]: signatureOf(key, time, text),
  })
  const hash = createHash('sha256').update(`${Date.now()}.${body}`).digest('hex')

  it.each([
    ['without a signature', body, {}, 401],
    [
      'with a hash that anybody can make',
      body,
      { [SIGNATURE_HEADER]: `t=${Date.now()},v1=${hash}` },
      401,
    ],
    ['with another key', body, signed(body, Date.now(), NEXT_KEY), 401],
    ['of another body', body.replace('"a"', '"b"'), signed(body), 401],
    ['of ten minutes ago', body, signed(body, Date.now() - 600_000), 401],
    ['of ten minutes ahead', body, signed(body, Date.now() + 600_000), 401],
    [
      'with a time that is not the one that was signed',
      body,
      { [SIGNATURE_HEADER]: signatureOf(KEY, 1, body).replace('t=1', `t=${Date.now()}`) },
      401,
    ],
    [
      'with a signature that is cut',
      body,
      { [SIGNATURE_HEADER]: signatureOf(KEY, Date.now(), body).slice(0, -2) },
      401,
    ],
    ['that is no job', '[]', signed('[]'), 400],
    [
      'whose deadline has passed',
      body.replace(/\d{13}/, '1'),
      signed(body.replace(/\d{13}/, '1')),
      409,
    ],
    ['that is too large', 'x'.repeat(2_000), signed('x'.repeat(2_000)), 413],
  ])('takes nothing %s', async (_, text, headers, status) => {
    let isRun = false
    const request = new Request('http://localhost/', { method: 'POST', body: text, headers })
    const options = { keys: [KEY], mostBytes: 1_000 }
    const response = await receivePush(request, options, () => (isRun = true))
    expect({ status: response.status, isRun }).toEqual({ status, isRun: false })
  })

  it('takes what is signed, and answers a GET with nothing', async () => {
    const request = new Request('http://localhost/', {
      method: 'POST',
      body,
      headers: signed(body),
    })
    const response = await receivePush(request, { keys: [KEY] }, ({ input }) => input)
    expect(await response.json()).toEqual({ output: 1 })
    const get = await receivePush(new Request('http://localhost/'), { keys: [KEY] }, () => 1)
    expect(get.status).toBe(405)
    await expect(receivePush(request, { keys: [] }, () => 1)).rejects.toThrow(/needs `keys`/)
  })
})
