/**
 * A thin listener on node:http: makes requests of what comes in, and writes answers. Slow callers are cut: one that does
 * not send its request in time, and one that does not take its answer.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { PROBLEM_TYPE, problemDetails } from '../protocol/index.ts'
import type { ServerProblem } from '../protocol/index.ts'
import { afterMs } from '../store/clock.ts'
import { problemResponse, RequestRefused } from './errors.ts'
import type { RequestHandler } from './handler.ts'

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
  readonly port: number
  readonly host: string
  readonly limits: { readonly requestMs: number; readonly stuckMs: number }
}

export interface Listener {
  readonly port: number
  close(): Promise<void>
}

export async function listen(
  handler: RequestHandler,
  { port, host, limits }: ListenerTerms,
): Promise<Listener> {
  const server = createServer({
    maxHeaderSize: HEADER_BYTES,
    headersTimeout: Math.min(HEADERS_MS, limits.requestMs),
    requestTimeout: limits.requestMs,
    connectionsCheckingInterval: CHECK_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    noDelay: true,
  })
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
    void write(request, response, problemResponse(refused, {}), stuckMs)
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
  return { port: (server.address() as AddressInfo).port, close: () => close(server, handler) }
}

async function serveRequest(
  handler: RequestHandler,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  stuckMs: number,
): Promise<void> {
  const gone = new AbortController()
  outgoing.on('close', () => gone.abort())
  // An error of a connection is its end, and nothing else.
  outgoing.on('error', () => gone.abort())
  incoming.on('error', () => gone.abort())
  const request = requestOf(incoming, gone.signal)
  const response =
    request instanceof RequestRefused ? problemResponse(request, {}) : await handler(request)
  await write(incoming, outgoing, response, stuckMs)
}

/** Methods that a `Request` cannot have. */
const NOT_TAKEN = new Set(['CONNECT', 'TRACE', 'TRACK'])

function requestOf(incoming: IncomingMessage, signal: AbortSignal): Request | RequestRefused {
  const { method = 'GET', url = '' } = incoming
  if (NOT_TAKEN.has(method))
    return new RequestRefused('MethodNotAllowed', `${method} is not taken.`)
  try {
    if (!url.startsWith('/')) throw new RangeError(url)
    const hasBody = method !== 'GET' && method !== 'HEAD'
    return new Request(`http://localhost${url}`, {
      method,
      headers: headersOf(incoming),
      signal,
      ...(hasBody ? { body: bodyOf(incoming), duplex: 'half' } : {}),
    })
  } catch {
    return new RequestRefused('MalformedRequest', 'The path or a header is not well formed.')
  }
}

function headersOf({ headers }: IncomingMessage): Headers {
  const own = new Headers()
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) own.set(name, Array.isArray(value) ? value.join(', ') : value)
  }
  return own
}

/** Nothing is read BEFORE it is asked for: not of a caller that is refused by its headers. */
function bodyOf(incoming: IncomingMessage): ReadableStream<Uint8Array> {
  let chunks: AsyncIterator<Uint8Array> | null = null
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        chunks ??= incoming[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>
        const { done, value } = await chunks.next()
        if (done === true) controller.close()
        else controller.enqueue(value)
      },
    },
    { highWaterMark: 0 },
  )
}

async function write(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  response: Response,
  stuckMs: number,
): Promise<void> {
  const isStream = response.headers.get('content-type') === 'text/event-stream'
  const body = isStream ? null : Buffer.from(await response.arrayBuffer())
  outgoing.statusCode = response.status
  response.headers.forEach((value, name) => outgoing.setHeader(name, value))
  // What is left of a small request is read and thrown away; a large one is not waited for.
  const isCut = !incoming.complete && !(Number(incoming.headers['content-length']) <= SMALL_BYTES)
  if (isCut) outgoing.setHeader('connection', 'close')
  if (body === null) {
    await stream(outgoing, response.body as ReadableStream<Uint8Array>, stuckMs)
  } else {
    outgoing.setHeader('content-length', body.byteLength)
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

async function close(server: Server, handler: RequestHandler): Promise<void> {
  handler.close()
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  server.closeIdleConnections()
  const stop = afterMs(CLOSE_MS, () => server.closeAllConnections(), true)
  await closed
  stop()
}
