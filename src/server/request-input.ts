/**
 * Makes the input of an operation from a request: its path, and its query or its body. Everything is bounded and checked
 * BEFORE the operation sees it.
 */
import { inexactWords } from '../definition/index.ts'
import { scanJson } from '../kernel/index.ts'
import type { JsonSchema, Operation } from '../protocol/index.ts'
import { misfit } from '../protocol/index.ts'
import { RequestRefused } from './errors.ts'
import type { IncomingCall } from './exchange.ts'

export type Parameters = Readonly<Record<string, string>>

/** Nested lists and objects: more would need a stack that there is not. */
const DEEPEST = 100

export async function inputOf(
  request: IncomingCall,
  operation: Operation,
  fromPath: Parameters,
  url: URL,
  mostBytes: number,
): Promise<Readonly<Record<string, unknown>>> {
  const given =
    operation.method === 'GET'
      ? queryOf(operation, url)
      : await bodyOf(request, url.searchParams, mostBytes)
  for (const name of Object.keys(fromPath)) {
    if (!Object.hasOwn(given, name)) continue
    throw invalid(`\`${name}\` stands in the path, and must not be given a second time.`)
  }
  const input = { ...given, ...fromPath }
  const fault = misfit(operation.input, input)
  if (fault !== null) throw invalid(fault)
  return input
}

function invalid(detail: string): RequestRefused {
  return new RequestRefused('InvalidInput', detail)
}

function queryOf({ input }: Operation, url: URL): Record<string, unknown> {
  if (!isText(url.search)) throw invalid('The query is no text: its bytes are no UTF-8.')
  const given: Record<string, unknown> = {}
  for (const [name, value] of url.searchParams) {
    if (Object.hasOwn(given, name)) throw invalid(`\`${name}\` is given twice: write it once.`)
    const schema = input.properties?.[name]
    Object.defineProperty(given, name, {
      value: schema === undefined ? value : valueOf(schema, value),
      enumerable: true,
    })
  }
  return given
}

/** `URLSearchParams` would replace what is none. A `%` without two digits behind it stands for itself. */
function isText(encoded: string): boolean {
  try {
    decodeURIComponent(encoded.replaceAll(/%(?![\da-f]{2})/gi, '%25'))
    return true
  } catch {
    return false
  }
}

/** A text that is no number or flag stays a text, and the check says what to write. */
function valueOf({ type }: JsonSchema, value: string): unknown {
  if (type === 'integer' && /^-?\d{1,16}$/.test(value)) return Number(value)
  if (type === 'boolean' && (value === 'true' || value === 'false')) return value === 'true'
  return value
}

async function bodyOf(
  request: IncomingCall,
  search: URLSearchParams,
  mostBytes: number,
): Promise<Record<string, unknown>> {
  if (search.size > 0) throw invalid('A POST has its input in the body, and no query.')
  const type = request.headers.get('content-type') ?? ''
  if (!/^application\/json\s*(?:;|$)/i.test(type)) {
    throw new RequestRefused(
      'UnsupportedMediaType',
      'The body is JSON, and must be called so: write `content-type: application/json`.',
    )
  }
  const text = await textOf(request, mostBytes)
  const body = parsed(text)
  if (typeof body === 'object' && body !== null && !Array.isArray(body)) {
    return body as Record<string, unknown>
  }
  throw invalid('The body is an object, such as {}.')
}

async function textOf(request: IncomingCall, mostBytes: number): Promise<string> {
  const said = Number(request.headers.get('content-length') ?? 0)
  if (said > mostBytes) throw tooLarge(mostBytes)
  const chunks: Uint8Array[] = []
  let bytes = 0
  try {
    for await (const chunk of request.body ?? []) {
      bytes += chunk.byteLength
      if (bytes > mostBytes) throw tooLarge(mostBytes)
      chunks.push(chunk)
    }
  } catch (error) {
    if (error instanceof RequestRefused) throw error
    // The caller went away, or sent chunks that are none.
    throw new RequestRefused('MalformedRequest', 'The body ended before it was whole.')
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks))
  } catch {
    throw new RequestRefused('MalformedJson', 'The body is no UTF-8 text.')
  }
}

function tooLarge(mostBytes: number): RequestRefused {
  return new RequestRefused(
    'BodyTooLarge',
    `The body is larger than ${mostBytes} bytes: send fewer commands in one request, or put large data elsewhere and pass its address.`,
    { mostBytes },
  )
}

function parsed(text: string): unknown {
  const { depth, inexact } = scanJson(text)
  if (depth > DEEPEST) {
    throw new RequestRefused(
      'MalformedJson',
      `The body has lists and objects within each other, more than ${DEEPEST} deep.`,
    )
  }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new RequestRefused('MalformedJson', `The body is no JSON: ${(error as Error).message}`)
  }
  // Payloads within commands of a store are texts, and stay as they are.
  if (inexact !== null) throw invalid(inexactWords(text, inexact, 'The body'))
  return value
}
