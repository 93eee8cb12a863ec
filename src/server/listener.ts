/**
 * A thin listener on node:http: makes requests of what comes in, and writes answers. Slow callers are cut: one that does
 * not send its request in time, and one that does not take its answer.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import type { Server as TlsServer } from 'node:https'
import { createServer as createTlsServer } from 'node:https'
import { readFileSync } from 'node:fs'
import type { AddressInfo, Socket } from 'node:net'
import { PROBLEM_TYPE, problemDetails } from '../protocol/index.ts'
import type { ServerProblem } from '../protocol/index.ts'
import { afterMs } from '../store/clock.ts'
import { problemAnswer, RequestRefused } from './errors.ts'
import { followFiles } from './followed-files.ts'
import type { TlsFiles } from './options.ts'
import type { AnswerFunction, IncomingCall, OutgoingAnswer } from './exchange.ts'

const HEADER_BYTES = 16_384
const HEADERS_MS = 10_000
const CHECK_MS = 500
/** Longer than callers keep a connection, so that it is they who end it. */
const KEEP_ALIVE_MS = 65_000
/** A caller that is told to stop may still be sending. */
const LINGER_MS = 500
const CLOSE_MS = 2_000
const SMALL_BYTES = 65_536

export interface ListenerTerms {
  readonly tls: TlsFiles | null
  readonly onError: (error: Error) => void
  readonly port: number
  readonly host: string
  readonly limits: { readonly requestMs: number; readonly stuckMs: number }
}

export interface Listener {
  readonly port: number
  close(): Promise<void>
}

export async function listen(handler: AnswerFunction, terms: ListenerTerms): Promise<Listener> {
  const { port, host, limits, tls, onError } = terms
  const options = {
    maxHeaderSize: HEADER_BYTES,
    headersTimeout: Math.min(HEADERS_MS, limits.requestMs),
    requestTimeout: limits.requestMs,
    connectionsCheckingInterval: CHECK_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    noDelay: true,
  }
  const server =
    tls === null
      ? createServer(options)
      : createTlsServer({ ...options, ...filesOf(tls), handshakeTimeout: HEADERS_MS })
  const { stuckMs } = limits
  server.on(
    'request',
    (request, response) => void serveRequest(handler, request, response, stuckMs),
  )
  server.on('checkExpectation', (request, response) => {
    const refused = new RequestRefused(
      'MalformedRequest',
      'Of `Expect`, only 100-continue is known.',
    )
    void writeAnswer(request, response, problemAnswer(refused, {}), stuckMs)
  })
  server.on('clientError', (error: NodeJS.ErrnoException, socket) =>
    refuse(error, socket as Socket),
  )
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      resolve()
    })
  })
  const stopFollowing = tls === null ? () => undefined : followCertificate(server, tls, onError)
  return {
    port: (server.address() as AddressInfo).port,
    close: () => {
      stopFollowing()
      return close(server, handler)
    },
  }
}

function filesOf({ cert, key }: TlsFiles): { readonly cert: string; readonly key: string } {
  return { cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') }
}

/** New connections get the new certificate. One that does not fit its key yet changes nothing, and is told. */
function followCertificate(
  server: Server,
  tls: TlsFiles,
  onError: (error: Error) => void,
): () => void {
  const read = (): void => (server as TlsServer).setSecureContext(filesOf(tls))
  return followFiles([tls.cert, tls.key], read, onError)
}

export async function serveRequest(
  handler: AnswerFunction,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  stuckMs: number,
): Promise<void> {
  const gone = new AbortController()
  // One that has its whole answer is no caller that is gone.
  const end = (): void => {
    if (!outgoing.writableFinished) gone.abort()
  }
  outgoing.on('close', end)
  // An error of a connection is its end, and nothing else.
  outgoing.on('error', end)
  incoming.on('error', end)
  // A framework may have taken its time: of a caller that left meanwhile, 'close' does not come again.
  if (outgoing.destroyed) gone.abort()
  const call = callOf(incoming, gone.signal)
  const answer = call instanceof RequestRefused ? problemAnswer(call, {}) : await handler(call)
  await writeAnswer(incoming, outgoing, answer, stuckMs)
}

/** Methods that a `Request` cannot have. */
const NOT_TAKEN = new Set(['CONNECT', 'TRACE', 'TRACK'])

function callOf(incoming: IncomingMessage, signal: AbortSignal): IncomingCall | RequestRefused {
  const { method = 'GET', url = '' } = incoming
  if (NOT_TAKEN.has(method))
    return new RequestRefused('MethodNotAllowed', `${method} is not taken.`)
  const full = `http://localhost${url}`
  if (!url.startsWith('/') || !URL.canParse(full)) {
    return new RequestRefused('MalformedRequest', 'The path is not well formed.')
  }
  const hasBody = method !== 'GET' && method !== 'HEAD'
  // Nothing of the body is read BEFORE it is asked for: not of a caller that is refused by its headers.
  return {
    method,
    url: full,
    headers: headersOf(incoming),
    body: hasBody ? incoming : null,
    signal,
  }
}

/** Node.js has their names in small letters. */
function headersOf({ headers }: IncomingMessage): IncomingCall['headers'] {
  return {
    get(name) {
      const value = Object.hasOwn(headers, name) ? headers[name] : undefined
      return Array.isArray(value) ? value.join(', ') : (value ?? null)
    },
  }
}

export async function writeAnswer(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  { status, headers, body }: OutgoingAnswer,
  stuckMs: number,
): Promise<void> {
  outgoing.statusCode = status
  for (const [name, value] of Object.entries(headers)) outgoing.setHeader(name, value)
  // What is left of a small request is read and thrown away; a large one is not waited for.
  const isCut = !incoming.complete && !(Number(incoming.headers['content-length']) <= SMALL_BYTES)
  if (isCut) outgoing.setHeader('connection', 'close')
  if (body instanceof ReadableStream) await stream(outgoing, body, stuckMs)
  else {
    // Of what a 304 does not send, the length would be that of what is not sent.
    if (status !== 304) outgoing.setHeader('content-length', Buffer.byteLength(body))
    outgoing.end(body)
    cutIfStuck(outgoing, stuckMs)
  }
  if (isCut) afterMs(LINGER_MS, () => incoming.destroy())
}

async function stream(
  outgoing: ServerResponse,
  body: ReadableStream<Uint8Array>,
  stuckMs: number,
): Promise<void> {
  const reader = body.getReader()
  outgoing.on('close', () => void reader.cancel().catch(() => undefined))
  outgoing.flushHeaders()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done || outgoing.destroyed) break
      if (!outgoing.write(value)) await drained(outgoing, stuckMs)
    }
  } finally {
    outgoing.end()
    // AFTER the last of a stream that is over, this does nothing.
    reader.cancel().catch(() => undefined)
  }
}

/** Resolved when there is room again, or the connection has ended. */
function drained(outgoing: ServerResponse, stuckMs: number): Promise<void> {
  return new Promise((resolve) => {
    const stop = afterMs(stuckMs, () => outgoing.destroy())
    const end = (): void => {
      stop()
      outgoing.off('drain', end)
      outgoing.off('close', end)
      resolve()
    }
    outgoing.on('drain', end)
    outgoing.on('close', end)
  })
}

function cutIfStuck(outgoing: ServerResponse, stuckMs: number): void {
  if (outgoing.writableFinished) return
  const stop = afterMs(stuckMs, () => outgoing.destroy())
  outgoing.on('close', stop)
}

const PROBLEM_OF_ERROR: Readonly<Record<string, ServerProblem>> = {
  HPE_HEADER_OVERFLOW: 'HeadersTooLarge',
  ERR_HTTP_REQUEST_TIMEOUT: 'RequestTimeout',
}
const REASONS: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  408: 'Request Timeout',
  431: 'Request Header Fields Too Large',
}

/** What came is no request: there is no response to write to, but the connection. */
function refuse(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy()
  const code = PROBLEM_OF_ERROR[error.code ?? ''] ?? 'MalformedRequest'
  const { status, ...problem } = problemDetails(
    code,
    'rejected',
    `${code}: the request is refused.`,
  )
  const body = JSON.stringify({ ...problem, status })
  socket.end(
    `HTTP/1.1 ${status} ${REASONS[status]}\r\nconnection: close\r\ncontent-type: ${PROBLEM_TYPE}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )
  afterMs(LINGER_MS, () => socket.destroy())
}

async function close(server: Server, handler: AnswerFunction): Promise<void> {
  handler.close()
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  server.closeIdleConnections()
  const stop = afterMs(CLOSE_MS, () => server.closeAllConnections(), true)
  await closed
  stop()
}
