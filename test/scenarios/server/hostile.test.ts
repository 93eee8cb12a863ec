/**
 * Hostile requests, on raw sockets: malformed, oversized, smuggled, slow, and of callers that may not. The server lives,
 * answers only with statuses that it declares, its memory stays flat, and its store stays as it was, byte for byte.
 */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readdir, readFile } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it, onTestFinished } from 'vitest'
import { job, open, typed } from '../../../src/index.ts'
import type { Pawl } from '../../../src/index.ts'
import { OPERATIONS, STATUSES } from '../../../src/protocol/index.ts'
import type { HandlerLimits, PawlServer } from '../../../src/server/index.ts'
import { serve } from '../../../src/server/index.ts'
import { IS_LONG } from '../../support/campaign.ts'
import { temporaryFolder } from '../../support/engines.ts'

const TOKEN = 'token-that-may-submit-and-work'
/** It has every role but admin's, and may do nothing: there are no jobs of that type. */
const HELD = 'token-that-is-held-to-nothing'
const READER = 'token-that-may-only-read'
const BODY_BYTES = 20_000
/** Requests that are HTTP, a few at a time on connections that are kept, and those that are not. */
const WELL_FORMED = IS_LONG ? 200_000 : 46_000
const MALFORMED = IS_LONG ? 20_000 : 4_000
const PER_CONNECTION = 400
const CONNECTIONS = 16
const AT_ONCE = 40
/** The connection ended without an answer. */
const SILENT = 0
const MEGABYTE = 1_048_576

interface Target {
  readonly pawl: Pawl
  readonly server: PawlServer
  readonly folder: string
  readonly failures: Error[]
}

async function target(limits: HandlerLimits = {}): Promise<Target> {
  const folder = await temporaryFolder()
  const pawl = await open(folder)
  onTestFinished(() => pawl.close())
  const failures: Error[] = []
  const server = await serve(pawl, {
    port: 0,
    hosts: ['pawl.test'],
    tokens: [
      { token: TOKEN, roles: ['submit', 'work'] },
      { token: HELD, roles: ['submit', 'work', 'read', 'operate'], types: ['nothing'] },
      { token: READER, roles: ['read'] },
    ],
    limits: { bodyBytes: BODY_BYTES, requestMs: 1_000, open: 20, openPerToken: 10, ...limits },
    onError: (error) => failures.push(error),
  })
  onTestFinished(() => server.close())
  return { pawl, server, folder, failures }
}

/** The same numbers for the same seed. */
function dice(seed: number): (sides: number) => number {
  let state = seed
  return (sides) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * sides)
  }
}

type Roll = ReturnType<typeof dice>

function pick<T>(roll: Roll, from: readonly T[]): T {
  return from[roll(from.length)] as T
}

const CALLS = Object.values(OPERATIONS).filter(({ kind }) => kind === 'call' || kind === 'long')
const GOOD_HEADERS = [
  'host: pawl.test',
  `authorization: Bearer ${TOKEN}`,
  'content-type: application/json',
]
/** One of the good headers is replaced by each of these, or it is added. */
const BAD_HEADERS: readonly (readonly [number | null, string])[] = [
  [0, 'host: evil.example'],
  [0, 'host: pawl.test.evil.example'],
  [0, 'host: 127.0.0.1'],
  [1, 'authorization: Bearer wrong-wrong-wrong-wrong'],
  [1, `authorization: Basic ${TOKEN}`],
  [1, `authorization: Bearer ${TOKEN}x`],
  [1, `authorization: Bearer ${TOKEN} ${TOKEN}`],
  [1, 'authorization: Bearer '],
  [1, 'x-token: none'],
  [null, 'origin: https://evil.example'],
  [null, 'origin: null'],
  [null, 'origin: http://pawl.test.evil.example'],
]
const BAD_PATHS = [
  '/',
  '//v1/jobs',
  '/v1/../v1/jobs/a/cancel/..',
  '/v1/jobs/%00/cancel/x',
  '/v1/jobs/%ff',
  '/v1/jobs/%zz/cancel',
  '/v1/jobs?limit=1&limit=2',
  '/v1/jobs?__proto__=1',
  '/v1/query/toString',
  '/v1/query/__proto__',
  `/v1/jobs/${'x'.repeat(300)}`,
  '/V1/JOBS',
  '/v1/jobs/a/cancel;x=1',
  '/healthz/../v1/jobs/a/cancel',
]
const BAD_BODIES = [
  '',
  '{',
  'null',
  '[]',
  '7',
  '"text"',
  '{"a":}',
  '{"__proto__":{"roles":["admin"]}}',
  '{"constructor":{"prototype":{"a":1}}}',
  `${'['.repeat(5_000)}${']'.repeat(5_000)}`,
  `{"type":"mail","input":${'{"a":'.repeat(300)}1${'}'.repeat(300)}}`,
  '{"type":"mail","type2":1}',
  '{"type":""}',
  '{"type":7}',
  '{"type":"mail","priority":1e400}',
  '{"type":"mail","priority":5000}',
  '{"type":"mail","delay":"eventually"}',
  '{"type":"\\u0000","input":null}',
  '{"type":"\\ud800","input":null}',
  '{"commands":{}}',
  `{"commands":[${Array<string>(1_001).fill('null').join(',')}]}`,
  '{"commands":[null,7,"x",[],{}]}',
  '{"commands":[{"type":"SubmitJob"}]}',
  '{"commands":[{"type":"SubmitJob","job":"a","spec":null}]}',
  '{"commands":[{"type":"SubmitJob","job":"a","spec":{"type":"x","stages":7}}]}',
  '{"commands":[{"type":"SubmitJob","job":"a","spec":{},"__proto__":{"x":1}}]}',
  '{"commands":[{"type":"ForgetJob","job":"a","endedBefore":0}]}',
  '{"commands":[{"type":"PauseQueue","queue":"mail","by":"x","reason":""}]}',
  '{"commands":[{"type":"CommitExecution","job":"a","stage":0,"segment":0,"lease":1,"worker":"w","output":"1","effects":[]}]}',
  '{"worker":"w","request":1,"channels":[],"max":-1,"started":true}',
  '{"worker":"w","request":1,"channels":"all","max":1,"started":true}',
  '{"worker":"w","request":1,"channels":[],"max":1,"started":true,"waitMs":1e9}',
  '\ufeff{}',
  `{"type":"${'x'.repeat(BODY_BYTES)}"}`,
]
const METHODS = ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE', 'PROPFIND']

/** A request that is HTTP, and wrong in some way. Nothing that it may be answered with changes anything. */
function wellFormed(roll: Roll): string {
  const operation = pick(roll, CALLS)
  const headers = [...GOOD_HEADERS]
  if (roll(3) === 0) headers[1] = `authorization: Bearer ${HELD}`
  let { method, path } = {
    method: operation.method as string,
    path: operation.path.replaceAll(/\{\w+\}/g, 'none'),
  }
  let body = method === 'GET' ? '' : pick(roll, BAD_BODIES)
  const kind = roll(6)
  if (kind === 0) {
    const [at, header] = pick(roll, BAD_HEADERS)
    if (at === null) headers.push(header)
    else headers[at] = header
  } else if (kind === 1) path = pick(roll, BAD_PATHS)
  else if (kind === 2) {
    method = pick(roll, METHODS)
    body = method === 'GET' ? '' : pick(roll, BAD_BODIES)
  } else if (kind === 3 && method !== 'GET') {
    headers[2] = pick(roll, [
      'content-type: text/plain',
      'content-type: application/x-www-form-urlencoded',
      'x-none: 1',
    ])
  } else if (method === 'GET')
    path += pick(roll, ['?x=1', '?limit=0', '?limit=1e3', '?after=-1', '?state=DONE', '?job=x'])
  const length = method === 'GET' ? [] : [`content-length: ${Buffer.byteLength(body)}`]
  return `${method} ${path} HTTP/1.1\r\n${[...headers, ...length].join('\r\n')}\r\n\r\n${body}`
}

/** What is no request, or two things at once. The connection ends with it. */
function malformed(roll: Roll): string {
  const host = 'host: pawl.test'
  const auth = `authorization: Bearer ${TOKEN}`
  const smuggled = `POST /v1/jobs HTTP/1.1\r\n${host}\r\n${auth}\r\ncontent-type: application/json\r\ncontent-length: 15\r\n\r\n{"type":"mail"}`
  return pick(roll, [
    'GET / HTTP/1.1\r\n\r\n',
    `GET /healthz HTTP/9.9\r\n${host}\r\n\r\n`,
    `GET  /healthz HTTP/1.1\r\n${host}\r\n\r\n`,
    `${'A'.repeat(roll(2_000))}\r\n\r\n`,
    String.fromCodePoint(...Array.from({ length: 200 }, () => 1 + roll(255))),
    `POST /v1/jobs HTTP/1.1\r\n${host}\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n${smuggled}`,
    `POST /v1/jobs HTTP/1.1\r\n${host}\r\ntransfer-encoding: chunked\r\ntransfer-encoding: identity\r\n\r\n${smuggled}`,
    `POST /v1/jobs HTTP/1.1\r\n${host}\r\ntransfer-encoding: xchunked\r\n\r\n${smuggled}`,
    `POST /v1/jobs HTTP/1.1\r\n${host}\r\ncontent-length: 5\r\ncontent-length: 500\r\n\r\n12345`,
    `POST /v1/jobs HTTP/1.1\r\n${host}\r\ncontent-length: -1\r\n\r\n${smuggled}`,
    `POST /v1/jobs HTTP/1.1\r\n${host}\r\ncontent-length : 5\r\n\r\n12345`,
    `GET /healthz HTTP/1.1\r\n${host}\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`,
    `GET /healthz HTTP/1.1\r\n${host}\r\nx\u0000y: 1\r\n\r\n`,
    `GET /healthz HTTP/1.1\r\n${host}\r\n x: folded\r\n\r\n`,
    `GET /healthz HTTP/1.1\n${host}\n\n`,
    `CONNECT pawl.test:80 HTTP/1.1\r\n${host}\r\n\r\n`,
    `GET http://evil.example/v1/jobs HTTP/1.1\r\n${host}\r\n${auth}\r\nconnection: close\r\n\r\n`,
    `OPTIONS * HTTP/1.1\r\n${host}\r\nconnection: close\r\n\r\n`,
    `POST /v1/jobs HTTP/1.1\r\n${host}\r\n${auth}\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\nZZ\r\n`,
    `POST /v1/jobs HTTP/1.1\r\n${host}\r\nexpect: the-unexpected\r\ncontent-length: 0\r\nconnection: close\r\n\r\n`,
    `GET /v1/jobs HTTP/1.1\r\n${host}\r\nhost: evil.example\r\nconnection: close\r\n\r\n`,
  ])
}

/** Statuses of the answers that came, until the connection ended or there are so many. */
class Answers {
  readonly statuses: number[] = []
  /** The server says that it ends the connection. */
  isLast = false
  #rest: Buffer = Buffer.alloc(0)

  add(bytes: Buffer): void {
    this.#rest = Buffer.concat([this.#rest, bytes])
    for (;;) {
      const end = this.#rest.indexOf('\r\n\r\n')
      if (end === -1 || this.isLast) return
      const head = this.#rest.subarray(0, end).toString('latin1')
      const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(head)?.[1] ?? Number.NaN)
      const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0)
      if (this.#rest.length < end + 4 + length) return
      this.#rest = this.#rest.subarray(end + 4 + length)
      this.statuses.push(status)
      if (/\r\nconnection: close/i.test(head)) this.isLast = true
    }
  }
}

/** Sends some at once on a connection that is kept; if it ends, those without an answer on another. */
async function exchange(port: number, requests: readonly string[]): Promise<number[]> {
  const statuses: number[] = []
  let socket: Socket | null = null
  while (statuses.length < requests.length) {
    if (socket === null || socket.destroyed || !socket.writable) socket = await opened(port)
    const next = requests.slice(statuses.length, statuses.length + AT_ONCE)
    const answered = await sendSome(socket, next)
    // Not a word: the connection is what was refused.
    statuses.push(...(answered.length === 0 ? [SILENT] : answered))
  }
  socket?.destroy()
  return statuses
}

async function opened(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  socket.setNoDelay(true)
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  return socket
}

/** The answers, up to the last one that the server gives on this connection. */
function sendSome(socket: Socket, requests: readonly string[]): Promise<number[]> {
  return new Promise((resolve) => {
    const answers = new Answers()
    const end = (): void => {
      socket.off('data', onData)
      socket.off('close', end)
      if (answers.isLast) socket.destroy()
      resolve(answers.statuses)
    }
    const onData = (bytes: Buffer): void => {
      answers.add(bytes)
      if (answers.isLast || answers.statuses.length >= requests.length) end()
    }
    socket.on('data', onData)
    socket.on('close', end)
    socket.write(Buffer.from(requests.join(''), 'latin1'))
  })
}

/** Of every file of the store. */
async function stateOf({ pawl, folder }: Target): Promise<string> {
  const hash = createHash('sha256')
  for (const name of (await readdir(folder)).toSorted()) {
    const bytes = await readFile(join(folder, name)).catch(() => Buffer.alloc(0))
    hash.update(name).update(bytes)
  }
  hash.update(JSON.stringify((await pawl.metrics()).entries))
  return hash.digest('hex')
}

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

function heapBytes(): number {
  collect()
  return process.memoryUsage().heapUsed
}

function countOf(statuses: readonly number[]): Record<number, number> {
  const counts: Record<number, number> = {}
  for (const status of statuses) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

async function sendAll(
  port: number,
  make: () => string,
  count: number,
  each: number,
): Promise<number[]> {
  const statuses: number[] = []
  let left = count
  const send = async (): Promise<void> => {
    while (left > 0) {
      const requests = Array.from({ length: Math.min(each, left) }, make)
      left -= requests.length
      statuses.push(...(await exchange(port, requests)))
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, send))
  return statuses
}

function poll(text: string): string {
  return `POST /v1/news HTTP/1.1\r\n${GOOD_HEADERS.join('\r\n')}\r\ncontent-length: ${text.length}\r\n\r\n${text}`
}

describe('a server that is asked by enemies', () => {
  it('lives, answers what it declares, and changes nothing', { timeout: 600_000 }, async () => {
    const seed = 7
    const roll = dice(seed)
    const one = await target()
    const { port } = one.server
    await sendAll(port, () => wellFormed(roll), 2_000, PER_CONNECTION)
    const before = await stateOf(one)
    const heapBefore = heapBytes()
    const answered = await sendAll(port, () => wellFormed(roll), WELL_FORMED, PER_CONNECTION)
    const refused = await sendAll(port, () => malformed(roll), MALFORMED, 1)
    expect(answered).not.toContain(SILENT)
    // Of what is no request, some connections end without a word.
    const said = refused.filter((status) => status !== SILENT)
    expect(said.length).toBeGreaterThan(MALFORMED / 2)
    const counts = countOf([...answered, ...said])
    const strange = Object.keys(counts).filter((status) => !STATUSES.includes(Number(status)))
    expect({ seed, strange }).toEqual({ seed, strange: [] })
    expect(one.failures.map(({ message }) => message)).toEqual([])
    expect(counts[500]).toBe(undefined)
    for (const status of [400, 401, 403, 404, 405, 413, 415, 431])
      expect(counts[status]).toBeGreaterThan(0)
    expect(await stateOf(one)).toBe(before)
    expect((heapBytes() - heapBefore) / MEGABYTE).toBeLessThan(20)
    expect(await exchange(port, ['GET /readyz HTTP/1.1\r\nhost: pawl.test\r\n\r\n'])).toEqual([200])
  })

  it('cuts callers that are slow to say what they want', async () => {
    const { server } = await target()
    const heads = [
      'G',
      'GET /healthz HTTP/1.1\r\n',
      `POST /v1/jobs HTTP/1.1\r\n${GOOD_HEADERS.join('\r\n')}\r\ncontent-length: 100\r\n\r\n{"ty`,
    ]
    const sockets = await Promise.all(
      Array.from({ length: 60 }, async (_, i) => {
        const socket = await opened(server.port)
        socket.write(heads[i % heads.length] as string)
        socket.resume()
        return socket
      }),
    )
    for (const socket of sockets) if (!socket.closed) await once(socket, 'close')
    expect(
      await exchange(server.port, ['GET /readyz HTTP/1.1\r\nhost: pawl.test\r\n\r\n']),
    ).toEqual([200])
  })

  it('cuts callers that take nothing of a stream, and has room for others then', async () => {
    const { pawl, server } = await target({ open: 2, stuckMs: 300 })
    const big = job('big', { input: typed<string>(), run: () => null })
    const jobs = Array.from({ length: 40 }, () => ({ input: 'x'.repeat(500_000) }))
    await pawl.submitMany(big, jobs)
    const watch = `GET /v1/watch HTTP/1.1\r\nhost: pawl.test\r\nauthorization: Bearer ${READER}\r\n\r\n`
    const sockets = await Promise.all([opened(server.port), opened(server.port)])
    for (const socket of sockets) {
      socket.pause()
      socket.write(watch)
    }
    const other = watch.replace('/v1/watch', '/v1/watch?new=true')
    const status = async (): Promise<number> => {
      const socket = await opened(server.port)
      socket.write(other)
      const [bytes] = (await once(socket, 'data')) as [Buffer]
      socket.destroy()
      return Number(/^HTTP\/1\.1 (\d+)/.exec(bytes.toString())?.[1])
    }
    await expect.poll(status).toBe(429)
    await expect.poll(status).toBe(200)
    for (const socket of sockets) socket.destroy()
  })

  it('bounds open polls, of all and of each token, and answers others meanwhile', async () => {
    const { server } = await target()
    const body = JSON.stringify({ since: null, waitMs: 0 })
    const socket = await opened(server.port)
    const first = once(socket, 'data') as Promise<[Buffer]>
    socket.write(poll(body))
    const cursor = /"cursor":"([^"]+)"/.exec((await first)[0].toString())?.[1]
    socket.destroy()
    const waiting = poll(JSON.stringify({ since: cursor, waitMs: 30_000 }))
    const sockets = await Promise.all(Array.from({ length: 10 }, () => opened(server.port)))
    for (const one of sockets) one.write(waiting)
    await expect
      .poll(() => exchange(server.port, [waiting.replace('30000', '00000')]))
      .toEqual([400])
    await expect
      .poll(() => exchange(server.port, [poll(JSON.stringify({ since: cursor, waitMs: 1 }))]))
      .toEqual([429])
    expect(
      await exchange(server.port, ['GET /readyz HTTP/1.1\r\nhost: pawl.test\r\n\r\n']),
    ).toEqual([200])
    for (const one of sockets) one.destroy()
    await expect
      .poll(() => exchange(server.port, [poll(JSON.stringify({ since: cursor, waitMs: 1 }))]))
      .toEqual([200])
  })
})
