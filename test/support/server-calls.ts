/**
 * Calls of a real server, as the catalogue says: each operation by its path, its query or its body. What is answered must fit
 * the catalogue, too.
 */
import { expect, onTestFinished } from 'vitest'
import type { OpenOptions, Pawl } from '../../src/index.ts'
import { open } from '../../src/index.ts'
import type { OperationName } from '../../src/protocol/index.ts'
import { misfit, OPERATIONS, pathOf } from '../../src/protocol/index.ts'
import type { PawlServer, ServeOptions } from '../../src/server/index.ts'
import { serve } from '../../src/server/index.ts'

export interface Answered {
  readonly status: number
  readonly body: Record<string, unknown>
}

export interface Server {
  readonly pawl: Pawl
  readonly server: PawlServer
  readonly call: (
    name: OperationName,
    input?: Record<string, unknown>,
    token?: string,
  ) => Promise<Answered>
  /** Of an operation that answers with events, until it has enough or the stream ends. */
  readonly events: (
    name: OperationName,
    input: Record<string, unknown>,
    options?: EventOptions,
  ) => Promise<readonly SentEvent[]>
}

interface EventOptions {
  readonly token?: string | undefined
  readonly last?: number
  /** Enough. */
  readonly count?: number
}

export interface SentEvent {
  readonly id: string | null
  readonly data: Record<string, unknown>
}

/** An engine in memory, unless another store is said, and a server in front of it, until the test ends. */
export async function serverInFront(
  options: ServeOptions = {},
  store = 'memory:',
  engine: OpenOptions = {},
): Promise<Server> {
  const pawl = await open(store, engine)
  onTestFinished(() => pawl.close())
  const server = await serve(pawl, { port: 0, ...options })
  onTestFinished(() => server.close())
  const { url } = server
  return {
    pawl,
    server,
    call: (name, input = {}, token) => callServer(url, name, input, token),
    events: (name, input, given = {}) => eventsFrom(url, name, input, given),
  }
}

/** `signal`: ends it early. */
async function ask(
  url: string,
  name: OperationName,
  input: Record<string, unknown>,
  token: string | undefined,
  extra: { readonly headers?: Record<string, string>; readonly signal?: AbortSignal } = {},
): Promise<Response> {
  const operation = OPERATIONS[name]
  const { path, rest } = pathOf(operation, input)
  const isGet = operation.method === 'GET'
  const query = isGet ? `?${new URLSearchParams(rest as Record<string, string>).toString()}` : ''
  return fetch(`${url}${path}${query}`, {
    method: operation.method,
    ...extra,
    headers: {
      'content-type': 'application/json',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...extra.headers,
    },
    ...(isGet ? {} : { body: JSON.stringify(rest) }),
  })
}

export async function callServer(
  url: string,
  name: OperationName,
  input: Record<string, unknown> = {},
  token?: string,
): Promise<Answered> {
  const response = await ask(url, name, input, token)
  const body = (await response.json()) as Record<string, unknown>
  if (response.status === 200) expect(misfit(OPERATIONS[name].output, body)).toBe(null)
  else expect(response.headers.get('content-type')).toBe('application/problem+json')
  return { status: response.status, body }
}

async function eventsFrom(
  url: string,
  name: OperationName,
  input: Record<string, unknown>,
  { token, last, count = Infinity }: EventOptions,
): Promise<readonly SentEvent[]> {
  const ended = new AbortController()
  const headers = last === undefined ? {} : { 'last-event-id': String(last) }
  const response = await ask(url, name, input, token, { headers, signal: ended.signal })
  expect(response.status).toBe(200)
  const found: SentEvent[] = []
  let rest = ''
  const decoder = new TextDecoder()
  try {
    for await (const bytes of response.body as ReadableStream<Uint8Array>) {
      rest += decoder.decode(bytes, { stream: true })
      const blocks = rest.split('\n\n')
      rest = blocks.pop() as string
      found.push(...blocks.filter((one) => !one.startsWith(':')).map(eventIn))
      if (found.length >= count) break
    }
  } finally {
    ended.abort()
  }
  return found.slice(0, count)
}

function eventIn(block: string): SentEvent {
  const id = /^id: (\d+)$/m.exec(block)?.[1] ?? null
  const data = JSON.parse(/^data: (.*)$/m.exec(block)?.[1] ?? 'null') as SentEvent['data']
  return { id, data }
}
