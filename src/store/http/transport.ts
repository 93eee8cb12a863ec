/**
 * Requests to a server, over connections that are kept. Only what failed in transport is repeated: no answer came, or one
 * that is not of a Pawl server, as of a proxy whose server is away. An answer is final. Repeats are bounded in time, and
 * come at intervals that vary, so that callers which were cut together do not come back together.
 */
import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http'
import { Agent, request as requestHttp } from 'node:http'
import { Agent as TlsAgent, request as requestHttps } from 'node:https'
import type { Operation, ProblemDetails } from '../../protocol/index.ts'
import { pathOf, PROBLEM_TYPE } from '../../protocol/index.ts'
import { afterMs, nowUs, pause, systemClock } from '../clock.ts'
import { StoreClosed } from '../errors.ts'
import { share } from '../random.ts'
import { errorOf, ServerUnreachable } from './errors.ts'

export interface TransportOptions {
  /** `http://host:port/path`. */
  readonly url: string
  readonly token?: string | undefined
}

/** How long a call goes on trying, and once the store is about to be closed. */
const PATIENCE_MS = 30_000
const LAST_PATIENCE_MS = 1_000
const FIRST_PAUSE_MS = 50
const LONGEST_PAUSE_MS = 2_000
/** An answer that does not come for so long, beside the time that it may be held, does not come. */
const SILENCE_MS = 60_000
/** Shorter than a server keeps them. */
const IDLE_MS = 30_000

interface Answered {
  readonly response: IncomingMessage
  readonly text: string
}

/** No answer of a Pawl server came: the request may be repeated. */
class TransportFailure {
  readonly why: string
  readonly cause: unknown

  constructor(why: string, cause?: unknown) {
    this.why = why
    this.cause = cause
  }
}

export interface RequestTerms {
  /** As JSON text, where the caller has it already. */
  readonly body?: string
  /** For how long the server may hold the answer. */
  readonly heldMs?: number
  /** A process that does nothing else may end meanwhile. */
  readonly isIdle?: boolean
  readonly signal?: AbortSignal
  /** False: one attempt. */
  readonly isPatient?: boolean
}

export class Transport {
  readonly #base: URL
  readonly #token: string | undefined
  readonly #agent: Agent
  /** Ends of requests that are under way. */
  readonly #open = new Set<() => void>()
  #isClosed = false
  #patienceMs = PATIENCE_MS
  #aheadMs = 0
  #bestMs = Infinity

  constructor({ url, token }: TransportOptions) {
    this.#base = new URL(url)
    this.#token = token
    const terms = { keepAlive: true, timeout: IDLE_MS, noDelay: true }
    this.#agent = this.#isTls ? new TlsAgent(terms) : new Agent(terms)
  }

  /** Without what stands before the host: no message shows a password. */
  get address(): string {
    return `${this.#base.protocol}//${this.#base.host}`
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** How far the authority's time is ahead of this machine's. */
  get aheadMs(): number {
    return this.#aheadMs
  }

  expectClose(): void {
    this.#patienceMs = LAST_PATIENCE_MS
  }

  close(): void {
    this.#isClosed = true
    for (const abort of this.#open) abort()
    this.#agent.destroy()
  }

  async call(operation: Operation, input: object, options: RequestTerms = {}): Promise<unknown> {
    const begunUs = nowUs()
    for (let attempt = 0; ; attempt++) {
      if (this.isClosed) throw new StoreClosed()
      const answered = await this.#attempt(operation, input, options)
      if (!(answered instanceof TransportFailure)) return this.#outputOf(answered)
      const triedMs = (nowUs() - begunUs) / 1_000
      const isOver = triedMs >= this.#patienceMs || options.isPatient === false
      if (this.isClosed) throw new StoreClosed()
      if (isOver || options.signal?.aborted === true) {
        throw new ServerUnreachable(this.address, answered.why, triedMs, answered.cause)
      }
      const pauseMs = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(attempt, 10))
      await pause(pauseMs * (0.5 + share()), options.isIdle)
    }
  }

  /** The answer as it comes in, once its head is there. Throws what the server refuses it with. */
  async stream(
    operation: Operation,
    input: object,
    options: EventStreamTerms,
  ): Promise<IncomingMessage> {
    if (this.isClosed) throw new StoreClosed()
    const { request } = this.#begin(operation, input, {}, options.headers)
    const abort = (): void => void request.destroy()
    options.signal.addEventListener('abort', abort)
    if (options.signal.aborted) abort()
    const response = await headOf(request)
    if (response instanceof TransportFailure) {
      throw new ServerUnreachable(this.address, response.why, 0, response.cause)
    }
    if (response.statusCode === 200) return response
    const text = await textOf(response)
    if (isProblem(response)) throw errorOf(JSON.parse(text) as ProblemDetails)
    throw new ServerUnreachable(this.address, notOurs(response), 0)
  }

  async #attempt(
    operation: Operation,
    input: object,
    options: RequestTerms,
  ): Promise<Answered | TransportFailure> {
    const { heldMs = 0, isIdle = false, signal } = options
    const sentUs = nowUs()
    const { request, body } = this.#begin(operation, input, options)
    const abort = (): void => void request.destroy(new Error('The call was ended.'))
    const stop = afterMs(heldMs + SILENCE_MS, () => request.destroy(new Error('No answer came.')))
    this.#open.add(abort)
    signal?.addEventListener('abort', abort)
    if (this.#isClosed || signal?.aborted === true) abort()
    if (isIdle) request.on('socket', (socket) => socket.unref())
    try {
      request.end(body)
      const response = await headOf(request)
      if (response instanceof TransportFailure) return response
      const text = await textOf(response)
      if (heldMs === 0) this.#noteTime(response, sentUs)
      return isOurs(response) ? { response, text } : new TransportFailure(notOurs(response))
    } catch (error) {
      return new TransportFailure(`${(error as Error).message}.`, error)
    } finally {
      stop()
      this.#open.delete(abort)
      signal?.removeEventListener('abort', abort)
    }
  }

  #begin(
    operation: Operation,
    input: object,
    options: RequestTerms,
    headers: Readonly<Record<string, string>> = {},
  ): { readonly request: ClientRequest; readonly body: string | undefined } {
    const { path, rest } = pathOf(operation, input as Record<string, unknown>)
    const isGet = operation.method === 'GET'
    const body = isGet ? undefined : (options.body ?? JSON.stringify(rest))
    const terms: RequestOptions = {
      agent: this.#agent,
      method: operation.method,
      host: this.#base.hostname.replace(/^\[|\]$/g, ''),
      port: this.#base.port,
      path: `${this.#base.pathname.replace(/\/$/, '')}${path}${isGet ? queryOf(rest) : ''}`,
      headers: {
        ...headers,
        ...(this.#token === undefined ? {} : { authorization: `Bearer ${this.#token}` }),
        ...(body === undefined
          ? {}
          : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
      },
    }
    const request = this.#isTls ? requestHttps(terms) : requestHttp(terms)
    // Without a listener, an error after the answer would end the process.
    request.on('error', () => undefined)
    if (isGet && operation.kind === 'events') request.end()
    return { request, body }
  }

  get #isTls(): boolean {
    return this.#base.protocol === 'https:'
  }

  #outputOf({ response, text }: Answered): unknown {
    const body = JSON.parse(text) as unknown
    if (response.statusCode === 200) return body
    throw errorOf(body as ProblemDetails)
  }

  /** The quicker an answer came, the better it tells the time. */
  #noteTime({ headers }: IncomingMessage, sentUs: number): void {
    const time = Number(headers['pawl-time'] ?? Number.NaN)
    const tookMs = (nowUs() - sentUs) / 1_000
    if (Number.isNaN(time) || tookMs > this.#bestMs) {
      this.#bestMs *= 1.01
      return
    }
    this.#bestMs = tookMs
    this.#aheadMs = time - (systemClock.now() - tookMs / 2)
  }
}

export interface EventStreamTerms {
  readonly signal: AbortSignal
  readonly headers: Readonly<Record<string, string>>
}

function queryOf(rest: object): string {
  const query = new URLSearchParams()
  const values: [string, string | number | boolean | undefined][] = Object.entries(rest)
  for (const [name, value] of values) {
    if (value !== undefined) query.set(name, String(value))
  }
  return query.size === 0 ? '' : `?${query.toString()}`
}

function headOf(request: ClientRequest): Promise<IncomingMessage | TransportFailure> {
  return new Promise((resolve) => {
    request.on('response', resolve)
    request.on('error', (error) => resolve(new TransportFailure(`${error.message}.`, error)))
    request.on('close', () => resolve(new TransportFailure('The connection ended.')))
  })
}

async function textOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk as Buffer)
  if (!response.complete) throw new Error('The connection ended in the middle of the answer')
  return Buffer.concat(chunks).toString()
}

function isProblem({ headers }: IncomingMessage): boolean {
  return (headers['content-type'] ?? '').startsWith(PROBLEM_TYPE)
}

/** Every answer of a Pawl server is JSON, and one that is no problem says the time. */
function isOurs(response: IncomingMessage): boolean {
  return isProblem(response) || (response.statusCode === 200 && 'pawl-time' in response.headers)
}

function notOurs({ statusCode }: IncomingMessage): string {
  return `what answers there (status ${statusCode}) is no Pawl server, or a proxy whose server is away.`
}
