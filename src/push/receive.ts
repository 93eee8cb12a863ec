/**
 * The receiving end of a pushed job: a function behind a URL, where no process can stay. A request that is not signed, or not
 * in time, reaches no handler. It imports nothing of the engine, so that a small function stays small.
 */
import { abortedAt, wallMs } from './clock.ts'
import { isSigned, SIGNATURE_HEADER } from './signature.ts'

/** A job that was pushed here. */
export interface PushedJob {
  readonly id: string
  readonly type: string
  /** From 1. With the id it names this delivery: another attempt is another one. */
  readonly attempt: number
  readonly input: unknown
  readonly metadata: unknown
  readonly schedule: { readonly id: string; readonly time: Date } | null
  /** Who pushed it waits no longer than until then, and what is answered later counts for nothing. */
  readonly deadline: Date
  /** Aborted at the deadline. */
  readonly signal: AbortSignal
}

export interface ReceiveOptions {
  /** The keys that are taken: the one in use, and while it is changed the one before. */
  readonly keys: readonly string[]
  /** How far the time of a signature may be from now: clocks differ. Default 5 minutes. */
  readonly toleranceMs?: number
  /** Of a body. Default 4 MB. */
  readonly mostBytes?: number
}

const TOLERANCE_MS = 300_000
const MOST_BYTES = 4 * 1_024 * 1_024

/**
 * Checks a request, runs the handler, and answers with what it returns. A handler that throws is tried again, by the retry
 * policy of the job; a `TerminalError` is final, a `RetryAfter` says when.
 */
export async function receivePush(
  request: Request,
  options: ReceiveOptions,
  handler: (job: PushedJob) => unknown,
): Promise<Response> {
  const { keys, toleranceMs = TOLERANCE_MS, mostBytes = MOST_BYTES } = options
  if (!Array.isArray(keys) || keys.length === 0 || keys.some((key) => key === '')) {
    throw new TypeError('receivePush() needs `keys`: without one it would take what anybody sends.')
  }
  if (request.method !== 'POST') return answer(405, { code: 'MethodNotAllowed' })
  const body = await textOf(request, mostBytes)
  if (body === null) return answer(413, { code: 'BodyTooLarge' })
  const now = wallMs()
  if (!isSigned(request.headers.get(SIGNATURE_HEADER), body, keys, now, toleranceMs)) {
    return answer(401, { code: 'NotSigned' })
  }
  const job = jobIn(body)
  if (job === null) return answer(400, { code: 'MalformedPush' })
  if (job.deadline.getTime() <= now) return answer(409, { code: 'TooLate' })
  try {
    return answer(200, { output: (await handler(job)) ?? null })
  } catch (error) {
    return answerTo(error)
  }
}

/** Null: there is too much of it. */
async function textOf(request: Request, mostBytes: number): Promise<string | null> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of (request.body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += chunk.byteLength
    if (bytes > mostBytes) return null
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** As the pushing end writes it. */
export interface PushBody {
  readonly job: Pick<PushedJob, 'id' | 'type' | 'attempt' | 'metadata'> & {
    readonly schedule: { readonly id: string; readonly time: string } | null
  }
  readonly input: unknown
  readonly deadlineAt: number
}

function jobIn(body: string): PushedJob | null {
  try {
    const { job, input, deadlineAt } = JSON.parse(body) as PushBody
    const { id, type, attempt, metadata, schedule } = job
    if (typeof id !== 'string' || typeof type !== 'string') return null
    if (!Number.isSafeInteger(attempt) || !Number.isFinite(deadlineAt)) return null
    return {
      id,
      type,
      attempt,
      input,
      metadata,
      schedule: schedule === null ? null : { id: schedule.id, time: new Date(schedule.time) },
      deadline: new Date(deadlineAt),
      signal: abortedAt(deadlineAt),
    }
  } catch {
    return null
  }
}

interface ThrownParts {
  readonly name?: unknown
  readonly code?: unknown
  readonly message?: unknown
  readonly delayMs?: unknown
  readonly free?: unknown
}

/** By their names: a function that is put together from packages may have two of each class. */
function answerTo(error: unknown): Response {
  const { name, code, message, delayMs, free } = Object(error) as ThrownParts
  const said = {
    code: typeof code === 'string' ? code : typeof name === 'string' ? name : 'Error',
    message: typeof message === 'string' ? message : String(error),
  }
  if (name === 'TerminalError') return answer(422, said)
  if (name === 'RetryAfter' && typeof delayMs === 'number') {
    return answer(503, { ...said, retryAfterMs: delayMs, free: free === true })
  }
  return answer(500, said)
}

function answer(status: number, body: object): Response {
  return new Response(JSON.stringify(body), {
    status,
    headers: { 'content-type': 'application/json', 'cache-control': 'no-store' },
  })
}
