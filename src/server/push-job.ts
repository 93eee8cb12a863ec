/**
 * Pushes a job to a URL instead of running it here: for functions, where no process can stay. It is the handler of a worker, so
 * leases, retries, limits and cancelling are as for any job; what the function answers is the result.
 *
 * The function is given a deadline below the lease: when another worker may have the job, it is no longer waited for.
 */
import type { Contract, Duration, JobDefinition, RunContext } from '../definition/index.ts'
import {
  handle,
  inexactFault,
  InvalidDefinition,
  KnownOptions,
  RetryAfter,
  shown,
  TerminalError,
  toMs,
} from '../definition/index.ts'
import type { ResultOf } from '../definition/runnable.ts'
import type { GivenTo, MaybeSchema } from '../definition/standard-schema.ts'
import { LIMITS } from '../kernel/index.ts'
import type { PushBody } from '../push/receive.ts'
import { SIGNATURE_HEADER, signatureOf } from '../push/signature.ts'
import { afterMs, systemClock } from '../store/clock.ts'
import { assertLinkKey } from './message-links.ts'

export interface PushOptions {
  /** Over https, unless it is this machine. Redirects are not followed. */
  readonly url: string
  /** What requests are signed with: at least 32 characters, made by chance, which the function knows. */
  readonly key: string
  /** How long an answer is waited for: less than the lease. Default: 80 % of the lease. */
  readonly deadline?: Duration
  /** Of each request, beside those that Pawl sends. */
  readonly headers?: Readonly<Record<string, string>>
}

const OPTIONS = new KnownOptions<PushOptions>({
  url: true,
  key: true,
  deadline: true,
  headers: true,
})
const SHARE_OF_LEASE = 0.8
const LOCAL = new Set(['localhost', '127.0.0.1', '[::1]'])
/** Of an answer: a payload, and what is around it. */
const MOST_BYTES = 4 * LIMITS.payloadChars

/** The job of a contract, whose handler is the function behind the URL. */
export function pushJob<Name extends string, S extends MaybeSchema, O extends MaybeSchema>(
  agreed: Contract<Name, S, O>,
  options: PushOptions,
): JobDefinition<Name, GivenTo<S>, ResultOf<O, unknown>> {
  const { name, policy } = (agreed ?? {}) as Partial<Contract<Name, S, O>>
  const what = `pushJob('${name ?? '…'}')`
  OPTIONS.assert(options, what, `pushJob(contract, { url: 'https://…', key: '…' })`)
  const url = checkedUrl(options.url, what)
  assertLinkKey(options.key, `\`key\` of ${what}`)
  const deadlineMs = policy === undefined ? 0 : deadlineOf(options.deadline, policy.leaseMs, what)
  const { key, headers = {} } = options
  const run = async ({ input, job, signal }: PushContext): Promise<unknown> => {
    const { id, type, attempt, metadata = null, schedule } = job
    const said = schedule === null ? null : { id: schedule.id, time: schedule.time.toISOString() }
    const deadlineAt = systemClock.now() + deadlineMs
    const push: PushBody = {
      job: { id, type, attempt, metadata, schedule: said },
      input: input ?? null,
      deadlineAt,
    }
    return send({ url, key, headers, deadlineMs, signal }, JSON.stringify(push))
  }
  return handle(agreed, run as never)
}

type PushContext = Pick<RunContext<unknown, readonly []>, 'input' | 'job' | 'signal'>

function checkedUrl(given: unknown, what: string): string {
  const url = typeof given === 'string' && URL.canParse(given) ? new URL(given) : null
  const isSafe =
    url?.protocol === 'https:' || (url?.protocol === 'http:' && LOCAL.has(url.hostname))
  if (url !== null && isSafe && url.username === '') return url.href
  throw new InvalidDefinition(
    `\`url\` of ${what} is an https address without a name and a password in it, not ${shown(given)}.`,
  )
}

function deadlineOf(given: Duration | undefined, leaseMs: number, what: string): number {
  if (given === undefined) return Math.floor(leaseMs * SHARE_OF_LEASE)
  const ms = toMs(given, `\`deadline\` of ${what}`)
  if (ms > 0 && ms < leaseMs) return ms
  throw new InvalidDefinition(
    `\`deadline\` of ${what} is less than the lease, which is ${leaseMs} ms: else another worker may have the job while its function still runs. Give the contract a longer \`lease\`.`,
  )
}

interface SendTerms {
  readonly url: string
  readonly key: string
  readonly headers: Readonly<Record<string, string>>
  readonly deadlineMs: number
  /** Of the attempt. */
  readonly signal: AbortSignal
}

async function send(terms: SendTerms, body: string): Promise<unknown> {
  const { url, key, headers, deadlineMs, signal } = terms
  const late = new AbortController()
  const stop = afterMs(deadlineMs, () => late.abort(), true)
  try {
    const response = await fetch(url, {
      method: 'POST',
      redirect: 'error',
      signal: AbortSignal.any([signal, late.signal]),
      headers: {
        ...headers,
        'content-type': 'application/json',
        [SIGNATURE_HEADER]: signatureOf(key, systemClock.now(), body),
      },
      body,
    })
    return outputOf(response.status, response.headers, await answerIn(response))
  } catch (error) {
    // Told by the worker: the lease is lost, or the job was cancelled.
    if (signal.aborted) throw signal.reason
    if (late.signal.aborted) {
      throw pushFailed(`${url} did not answer within ${deadlineMs} ms.`, 'PushTimeout')
    }
    if (error instanceof TerminalError || error instanceof RetryAfter) throw error
    if ((error as Partial<Error>).name === 'PushFailed') throw error
    const { cause, message } = error as Error
    throw pushFailed(
      `${url} cannot be reached: ${cause instanceof Error ? cause.message : message}`,
    )
  } finally {
    stop()
  }
}

/** What a function may answer beside its output. */
interface PushAnswer {
  readonly output?: unknown
  readonly code?: unknown
  readonly message?: unknown
  readonly retryAfterMs?: unknown
  readonly free?: unknown
}

async function answerIn(response: Response): Promise<PushAnswer> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += chunk.byteLength
    if (bytes > MOST_BYTES) throw pushFailed(`The answer is larger than ${MOST_BYTES} bytes.`)
    chunks.push(chunk)
  }
  const [text, answer] = parsedAnswer(Buffer.concat(chunks))
  if (typeof answer !== 'object' || answer === null) return {}
  // Of any other answer nothing is kept but words.
  const fault = hasOutput(response.status, answer) ? inexactFault(text, 'The answer') : null
  if (fault !== null) throw pushFailed(fault, 'InexactNumber')
  return answer
}

function hasOutput(status: number, answer: PushAnswer): boolean {
  return status === 200 && Object.hasOwn(answer, 'output')
}

/** Null: it is no JSON. */
function parsedAnswer(bytes: Uint8Array): readonly [text: string, answer: unknown] {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    return [text, JSON.parse(text)]
  } catch {
    return ['', null]
  }
}

function outputOf(status: number, headers: Headers, answer: PushAnswer): unknown {
  if (hasOutput(status, answer)) return answer.output
  const code = typeof answer.code === 'string' ? answer.code : `Http${status}`
  const said = typeof answer.message === 'string' ? answer.message : `It answered ${status}.`
  if (status === 422) throw new TerminalError(said, { code })
  const delayMs = delayOf(status, headers, answer)
  if (delayMs !== null)
    throw new RetryAfter(delayMs, { message: said, code, free: answer.free === true })
  throw pushFailed(status === 200 ? 'It answered 200 without an `output`.' : said, code)
}

/** Null: it does not say when. */
function delayOf(status: number, headers: Headers, { retryAfterMs }: PushAnswer): number | null {
  if (status !== 429 && status !== 503) return null
  const seconds = headers.get('retry-after') ?? ''
  const ms = /^\d{1,7}$/.test(seconds) ? Number(seconds) * 1_000 : retryAfterMs
  if (typeof ms !== 'number' || !(ms >= 0)) return null
  return Math.min(ms, LIMITS.retryDelayMs)
}

/** An ordinary failure: it is tried again, as the policy says. */
function pushFailed(message: string, code = 'PushFailed'): Error {
  return Object.assign(new Error(message), { name: 'PushFailed', code })
}
