/**
 * Calls of the server, each an operation of the catalogue: its path, its method and what it is given come from there.
 *
 * A call that was refused carries the problem in the server's own words. One that did not reach the server says so to the
 * whole page, and the next that does takes it back. What a gateway says in the server's place, and a server that says nothing
 * for long, is no answer.
 */
import { signal } from '@preact/signals'
import type {
  AcceptedActions,
  Counts,
  ExecutionsPage,
  Explanation,
  BulkReport,
  HistoryItem,
  InboxPage,
  JobInfo,
  JobList,
  LimitList,
  EngineMetrics,
  Health,
  QuarantineItem,
  QueueInfo,
  QueueListItem,
  ScheduleInfo,
  SegmentList,
  StreamItem,
  WorkerInfo,
} from '../../engine/index.ts'
import type { AskedQuestion } from '../../engine/messages/asked-question.ts'
import type { JobState } from '../../kernel/index.ts'
import type { Figures, OperationInput, OperationName } from '../../protocol/index.ts'
import { OPERATIONS, pathOf } from '../../protocol/index.ts'
import { afterDelay, elapsedMs, setServerTime } from './clock.ts'
import { isLinkPage } from './route.ts'
import { keepToken, linkToken, scopeInUse, token, tokenAsked } from './session.ts'
import { taggedFetch } from './tagged-fetch.ts'

/** As JSON has it: a time is a text. */
export type InJson<T> = T extends Date
  ? string
  : T extends readonly (infer E)[]
    ? readonly InJson<E>[]
    : T extends object
      ? { readonly [K in keyof T]: InJson<T[K]> }
      : T

export interface PastCountsOf {
  readonly name: string
  readonly total: number
  readonly states: Readonly<Record<JobState, number>>
}

/** An entry of the log. */
interface LogEntry {
  readonly position: number
  readonly at: Date
  readonly type: string
  /** Null: it is about no job. */
  readonly job: string | null
  /** Of whom, or of what; null: it does not say so. */
  readonly by: string | null
}

/** As the store says it: its times are numbers. */
interface LimitInUse {
  readonly held: number
  /** When the bucket of its rate is full again, in milliseconds with parts of 1/1024; 0: it is full. */
  readonly fullAt: number
  readonly holders: readonly (Omit<QueueInfo['holders'][number], 'since'> & {
    readonly since: number
  })[]
}

interface AnswerTypes {
  caller: {
    name: string
    seesPayloads: boolean
    types: string[] | null
    queues: string[] | null
    operations: string[]
  }
  counts: Counts
  health: Health
  metrics: EngineMetrics
  figures: Figures
  'jobs.list': JobList
  'jobs.show': JobInfo
  'jobs.explain': Explanation
  'jobs.executions': ExecutionsPage
  'jobs.actions': AcceptedActions
  'jobs.segments': SegmentList
  'jobs.stream': { items: Omit<StreamItem, 'isFirstOfAttempt'>[]; next: number; isEnd: boolean }
  'jobs.history': { items: HistoryItem[] }
  'jobs.rerun': { job: string }
  'queues.list': { queues: QueueListItem[] }
  'queues.show': QueueInfo
  'limits.list': LimitList
  'limits.show': LimitInUse
  'schedules.show': ScheduleInfo & { nextTimes: Date[] }
  'schedules.run': { job: string }
  'schedules.list': { schedules: ScheduleInfo[] }
  'workers.list': { workers: WorkerInfo[] }
  'inbox.list': InboxPage
  'inbox.show': AskedQuestion
  'quarantine.list': { jobs: QuarantineItem[]; next: number | null }
  'quarantine.redrive': BulkReport
  'quarantine.discard': BulkReport
  'bulk.preview': BulkReport
  'bulk.run': BulkReport
  'past.list': JobList
  'past.show': JobInfo
  'past.entries': { entries: LogEntry[]; next: number | null }
  'past.counts': {
    position: number
    time: string
    total: number
    states: Record<JobState, number>
    types: PastCountsOf[]
    queues: PastCountsOf[]
  }
}

export type AnswerOf<N extends OperationName> = N extends keyof AnswerTypes
  ? InJson<AnswerTypes[N]>
  : Readonly<Record<string, unknown>>

/** The server answered that it does not do it. */
export class CallRefused extends Error {
  readonly code: string
  readonly status: number
  /** As the code has them. */
  readonly details: Readonly<Record<string, unknown>>

  constructor(
    status: number,
    code: string,
    detail: string,
    details: Readonly<Record<string, unknown>> = {},
  ) {
    super(detail)
    this.status = status
    this.code = code
    this.details = details
  }
}

/** There is no answer: whether the server did it is not known. */
export class NotReached extends Error {}

/** False: the newest call did not reach the server. */
export const isConnected = signal(true)

export async function call<N extends OperationName>(
  name: N,
  input: OperationInput<N>,
  ended?: AbortSignal,
): Promise<AnswerOf<N>> {
  const used = tokenInUse()
  const waiting = OPERATIONS[name].method === 'GET' ? new OpenCall(name, ended) : null
  try {
    const response = await reach(name, input, ended, waiting)
    const body = await bodyOf(response, ended)
    if (response.ok) return body as AnswerOf<N>
    const refused = refusalIn(response, body)
    // An answer to a token that the reader has left behind says nothing of the one that they entered since.
    if (response.status === 401 && used === tokenInUse()) askForToken(refused.message)
    throw refused
  } finally {
    waiting?.close()
  }
}

function refusalIn({ status }: Response, body: unknown): CallRefused {
  const given = (body ?? {}) as {
    code?: string
    detail?: string
    details?: Readonly<Record<string, unknown>>
  }
  const { code = String(status), detail = 'The server gives no reason.', details } = given
  return new CallRefused(status, code, detail, details)
}

/** When a server answered last. */
let lastAnswer = -Infinity

/** Without any answer for so long the connection is lost; a call that is still open is given up later. */
const SILENT_MS = 10_000
const GIVEN_UP_MS = 30_000
/** What reads the history may take so much longer. */
const HISTORY_TIMES = 20

/** Notices that nothing comes back. As long as others are answered, the server takes its time. */
class OpenCall {
  readonly #own = new AbortController()
  readonly #asked = elapsedMs()
  readonly #times: number
  readonly #ended: AbortSignal | undefined
  readonly #leave = (): void => this.#own.abort()
  #stop: () => void = () => undefined

  constructor(name: OperationName, ended: AbortSignal | undefined) {
    this.#times = name.startsWith('past.') ? HISTORY_TIMES : 1
    this.#ended = ended
    if (ended?.aborted === true) this.#leave()
    else ended?.addEventListener('abort', this.#leave)
    this.#wait(SILENT_MS * this.#times)
  }

  get signal(): AbortSignal {
    return this.#own.signal
  }

  close(): void {
    this.#stop()
    this.#ended?.removeEventListener('abort', this.#leave)
  }

  #wait(ms: number): void {
    this.#stop = afterDelay(ms, () => this.#look())
  }

  #look(): void {
    const silentMs = elapsedMs() - Math.max(this.#asked, lastAnswer)
    if (silentMs >= GIVEN_UP_MS * this.#times) return this.#leave()
    const lostMs = SILENT_MS * this.#times
    if (silentMs >= lostMs) isConnected.value = false
    this.#wait(silentMs >= lostMs ? GIVEN_UP_MS * this.#times - silentMs : lostMs - silentMs)
  }
}

/** What a link may be for. */
const OF_LINKS: ReadonlySet<OperationName> = new Set([
  'inbox.show',
  'inbox.answer',
  'messages.send',
])

/** A view that the reader has left for the page of a link may still go on for a moment. */
function assertAskedHere(name: OperationName): void {
  if (isLinkPage() && !OF_LINKS.has(name)) {
    throw new NotReached('The page of a link asks for what the link is for, and nothing else.')
  }
}

/** The page that a link leads to has that of the link, and no other. */
function tokenInUse(): string {
  return isLinkPage() ? linkToken.value : token.value
}

/** A token that the server does not know is not kept. What is wrong with a link, its page says itself. */
function askForToken(why: string): void {
  if (isLinkPage()) return
  tokenAsked.value = token.value === '' ? (tokenAsked.value ?? '') : why
  keepToken('')
}

async function reach(
  name: OperationName,
  input: Readonly<Record<string, unknown>>,
  ended: AbortSignal | undefined,
  waiting: OpenCall | null = null,
): Promise<Response> {
  assertAskedHere(name)
  const operation = OPERATIONS[name]
  const { path, rest } = pathOf(operation, scopedInput(name, input))
  const isGet = operation.method === 'GET'
  const said = Object.entries(rest).filter(([, value]) => value !== undefined)
  const query = new URLSearchParams(said.map(([key, value]) => [key, String(value)])).toString()
  const used = tokenInUse()
  const stop = waiting?.signal ?? ended
  try {
    // Relative to the page, wherever the server is mounted.
    const response = await taggedFetch(`..${path}${isGet && query !== '' ? `?${query}` : ''}`, {
      method: operation.method,
      headers: {
        ...(isGet ? ageTaken() : { 'content-type': 'application/json' }),
        ...(used === '' ? {} : { authorization: `Bearer ${used}` }),
      },
      ...(isGet ? {} : { body: JSON.stringify(Object.fromEntries(said)) }),
      ...(stop === undefined ? {} : { signal: stop }),
    })
    if (!isGet) lastChange = elapsedMs()
    const time = Number(response.headers.get('pawl-time') ?? Number.NaN)
    if (Number.isFinite(time)) setServerTime(time)
    else if (response.status >= 502 && response.status <= 504) throw notOurs()
    return response
  } catch (error) {
    throw lost(error, ended)
  }
}

/** A token that is held to several types has to say which one it means. Then it means these jobs, and not all. */
export function scopedInput(
  name: OperationName,
  input: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const scope = OPERATIONS[name].scope === 'filter' ? scopeInUse() : {}
  if (Object.keys(scope).length === 0) return input
  const { all: _, ...filter } = defined(input)
  return { ...scope, ...filter }
}

function defined(input: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined))
}

function notOurs(): NotReached {
  return new NotReached('What answered is not the server.')
}

/** An answer did not come, or not whole. */
function lost(error: unknown, ended: AbortSignal | undefined): unknown {
  if (ended?.aborted === true) return error
  isConnected.value = false
  return error instanceof NotReached ? error : new NotReached('The server does not answer.')
}

function isAnswered(): void {
  lastAnswer = elapsedMs()
  isConnected.value = true
}

/** What another page asked for a moment ago is new enough, unless this one changed something since. */
const AGE_SECONDS = 2
let lastChange = -Infinity

function ageTaken(): Readonly<Record<string, string>> {
  const isChanged = elapsedMs() - lastChange < 1_000 * AGE_SECONDS
  return isChanged ? {} : { 'cache-control': `max-age=${AGE_SECONDS}` }
}

async function bodyOf(response: Response, ended: AbortSignal | undefined): Promise<unknown> {
  let text: string
  try {
    text = await response.text()
  } catch (error) {
    throw lost(error, ended)
  }
  try {
    const body = JSON.parse(text) as unknown
    isAnswered()
    return body
  } catch {
    throw lost(notOurs(), ended)
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/**
 * For an operation that answers with events: `onEvent` is told each; the last one is given back, also if `ended` came first.
 * If the connection is cut before the end, it throws `NotReached`.
 */
export async function follow<T>(
  name: OperationName,
  input: Readonly<Record<string, unknown>>,
  onEvent: (event: T, id: string | null) => void,
  ended?: AbortSignal,
): Promise<T | null> {
  const response = await reach(name, input, ended)
  if (!response.ok) throw refusalIn(response, await bodyOf(response, ended))
  if (response.body === null) throw lost(notOurs(), ended)
  isAnswered()
  let last: T | null = null
  try {
    for await (const { id, data } of eventsIn(response.body)) {
      last = JSON.parse(data) as T
      onEvent(last, id)
    }
  } catch (error) {
    if (ended?.aborted === true) return last
    throw error instanceof CallRefused ? error : lost(error, ended)
  }
  return last
}

async function* eventsIn(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
): AsyncGenerator<{ readonly id: string | null; readonly data: string }, void> {
  let rest = ''
  for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
    const blocks = (rest + chunk).split('\n\n')
    rest = blocks.pop() as string
    for (const block of blocks) {
      const data = /^data: (.*)$/m.exec(block)?.[1]
      if (data === undefined) continue
      if (/^event: problem$/m.test(block)) throw problemIn(data)
      yield { id: /^id: (.*)$/m.exec(block)?.[1] ?? null, data }
    }
  }
}

function problemIn(data: string): CallRefused {
  const { status, code, detail } = JSON.parse(data) as {
    status: number
    code: string
    detail: string
  }
  return new CallRefused(status, code, detail)
}
