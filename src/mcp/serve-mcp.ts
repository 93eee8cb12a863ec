/**
 * A server of the Model Context Protocol on standard input and output: lines of JSON-RPC 2.0, whose tools are the
 * operations of the catalogue. It reads, and changes nothing, unless it is told to. Requests are answered as they are done.
 */
import type { Readable, Writable } from 'node:stream'
import { inexactFault, InvalidDefinition, KnownOptions } from '../definition/index.ts'
import { accessTo } from '../engine/engine-access.ts'
import type { Pawl } from '../engine/index.ts'
import type { OperationContext } from '../operations/index.ts'
import { PAWL_VERSION } from '../engine/presence/presence-loop.ts'
import { linesOf } from './line-reader.ts'
import { Tools } from './tools.ts'

export interface McpOptions {
  /** Whether tools that change something are offered. Default false. */
  readonly allowChanges?: boolean
  /** Who is on record for changes. Default 'mcp'. */
  readonly by?: string
  /** Default: those of the process. */
  readonly input?: Readable
  readonly output?: Writable
}

export interface McpServer {
  /** Resolved when the input has ended, and all that was asked is answered. */
  readonly closed: Promise<void>
}

const OPTIONS = new KnownOptions<McpOptions>({
  allowChanges: true,
  by: true,
  input: true,
  output: true,
})
/** The newest one that is known is offered to clients that want another. */
const VERSIONS = ['2025-06-18', '2025-03-26', '2024-11-05']
const MOST_LINE_BYTES = 16 * 1_024 * 1_024

/** Of JSON-RPC. */
const PARSE_ERROR = -32_700
const INVALID_REQUEST = -32_600
const NO_SUCH_METHOD = -32_601
const INVALID_PARAMS = -32_602

/** Why a call ends that its caller takes back: it is not answered. */
const CANCELLED = 'cancelled'

type RequestId = string | number

interface McpMessage {
  readonly id?: unknown
  readonly method?: unknown
  readonly params?: unknown
}

type Params = Readonly<Record<string, unknown>>

export function serveMcp(pawl: Pawl, options: McpOptions = {}): McpServer {
  if (typeof pawl !== 'object' || pawl === null || accessTo(pawl) === undefined) {
    throw new InvalidDefinition('serveMcp() takes an engine: give it what open() gives.')
  }
  OPTIONS.assert(options, 'serveMcp()', 'serveMcp(pawl, { allowChanges: true })')
  const { input = process.stdin, output = process.stdout } = options
  const session = new McpSession(pawl, options, (line) => void output.write(`${line}\n`))
  return { closed: session.read(input) }
}

class McpSession {
  readonly #pawl: Pawl
  readonly #by: string
  readonly #tools: Tools
  readonly #write: (line: string) => void
  readonly #running = new Map<RequestId, AbortController>()

  constructor(
    pawl: Pawl,
    { allowChanges = false, by = 'mcp' }: McpOptions,
    write: (line: string) => void,
  ) {
    this.#pawl = pawl
    this.#by = by
    this.#tools = new Tools(allowChanges)
    this.#write = write
  }

  async read(input: Readable): Promise<void> {
    const running = new Set<Promise<void>>()
    for await (const line of linesOf(input, MOST_LINE_BYTES)) {
      if (line?.trim() === '') continue
      const done = this.#answer(line).finally(() => running.delete(done))
      running.add(done)
    }
    // What goes on for long stops: its caller is gone.
    for (const ended of this.#running.values()) ended.abort()
    await Promise.all(running)
  }

  async #answer(line: string | null): Promise<void> {
    const message = messageOf(line)
    if (message === null)
      return this.#refuse(null, PARSE_ERROR, 'The line is no JSON, or too long.')
    const { id, method, params } = message
    const isRequest = typeof id === 'string' || typeof id === 'number'
    if (typeof method !== 'string') {
      return this.#refuse(isRequest ? id : null, INVALID_REQUEST, 'There is no method.')
    }
    const given = isObject(params) ? params : {}
    const fault = method === 'tools/call' ? inexactFault(line as string, 'The call') : null
    if (isRequest && fault !== null) this.#refuse(id, INVALID_PARAMS, fault)
    else if (isRequest) await this.#request(id, method, given)
    else if (method === 'notifications/cancelled') {
      this.#running.get(given['requestId'] as RequestId)?.abort(CANCELLED)
    }
  }

  async #request(id: RequestId, method: string, params: Params): Promise<void> {
    switch (method) {
      case 'initialize':
        return this.#reply(id, greeting(params))
      case 'ping':
        return this.#reply(id, {})
      case 'tools/list':
        return this.#reply(id, { tools: this.#tools.list() })
      case 'tools/call':
        return this.#call(id, params)
      default:
        return this.#refuse(id, NO_SUCH_METHOD, `There is no method '${method.slice(0, 100)}'.`)
    }
  }

  async #call(id: RequestId, { name, arguments: given = {} }: Params): Promise<void> {
    const ended = new AbortController()
    this.#running.set(id, ended)
    const context: OperationContext = {
      pawl: this.#pawl,
      by: this.#by,
      definitions: new Map(),
      signal: ended.signal,
    }
    const result = await this.#tools.call(String(name), given, context)
    this.#running.delete(id)
    if (ended.signal.reason === CANCELLED) return
    if (result !== null) return this.#reply(id, result)
    const what = `There is no tool '${String(name).slice(0, 100)}', or it changes something and that is not allowed.`
    this.#refuse(id, INVALID_PARAMS, what)
  }

  #reply(id: RequestId, result: object): void {
    this.#write(JSON.stringify({ jsonrpc: '2.0', id, result }))
  }

  #refuse(id: RequestId | null, code: number, message: string): void {
    this.#write(JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } }))
  }
}

function greeting({ protocolVersion }: Params): object {
  const known = VERSIONS.find((version) => version === protocolVersion)
  return {
    protocolVersion: known ?? VERSIONS[0],
    capabilities: { tools: {} },
    serverInfo: { name: 'pawl', title: 'Pawl', version: PAWL_VERSION },
    instructions:
      'A durable job engine. Ask `jobs_explain` why a job does not run, `jobs_history` what happened to it, and `health` whether all is well.',
  }
}

/** Null: it is none. */
function messageOf(line: string | null): McpMessage | null {
  if (line === null) return null
  try {
    const value: unknown = JSON.parse(line)
    return isObject(value) ? value : {}
  } catch {
    return null
  }
}

function isObject(value: unknown): value is Params {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
