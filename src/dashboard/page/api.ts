/**
 * Calls of the server, each an operation of the catalogue: its path, its method and what it is given come from there.
 *
 * A call that was refused carries the problem in the server's own words. One that did not reach the server says so to the
 * whole page, and the next that does takes it back.
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
import { elapsedMs, setServerTime } from './clock.ts'
import { isLinkPage } from './route.ts'
import { keepToken, linkToken, token, tokenAsked } from './session.ts'

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
  caller: { name: string; seesPayloads: boolean; operations: string[] }
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

  constructor(status: number, code: string, detail: string) {
    super(detail)
    this.status = status
    this.code = code
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
  const response = await reach(name, input, ended)
  isConnected.value = true
  setServerTime(Number(response.headers.get('pawl-time') ?? 0) || 0)
  const body = await bodyOf(response)
  if (response.ok) return body as AnswerOf<N>
  const { code = String(response.status), detail = 'The server gives no reason.' } = body as {
    code?: string
    detail?: string
  }
  // An answer to a token that the reader has left behind says nothing of the one that they entered since.
  if (response.status === 401 && used === tokenInUse()) askForToken(detail)
  throw new CallRefused(response.status, code, detail)
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
): Promise<Response> {
  const operation = OPERATIONS[name]
  const { path, rest } = pathOf(operation, input)
  const isGet = operation.method === 'GET'
  const said = Object.entries(rest).filter(([, value]) => value !== undefined)
  const query = new URLSearchParams(said.map(([key, value]) => [key, String(value)])).toString()
  const used = tokenInUse()
  try {
    // Relative to the page, wherever the server is mounted.
    const response = await fetch(`..${path}${isGet && query !== '' ? `?${query}` : ''}`, {
      method: operation.method,
      headers: {
        ...(isGet ? ageTaken() : { 'content-type': 'application/json' }),
        ...(used === '' ? {} : { authorization: `Bearer ${used}` }),
      },
      ...(isGet ? {} : { body: JSON.stringify(Object.fromEntries(said)) }),
      ...(ended === undefined ? {} : { signal: ended }),
    })
    if (!isGet) lastChange = elapsedMs()
    return response
  } catch (error) {
    if (ended?.aborted === true) throw error
    isConnected.value = false
    throw new NotReached('The server does not answer.')
  }
}

/** What another page asked for a moment ago is new enough, unless this one changed something since. */
const AGE_SECONDS = 2
let lastChange = -Infinity

function ageTaken(): Readonly<Record<string, string>> {
  const isChanged = elapsedMs() - lastChange < 1_000 * AGE_SECONDS
  return isChanged ? {} : { 'cache-control': `max-age=${AGE_SECONDS}` }
}

async function bodyOf(response: Response): Promise<unknown> {
  try {
    return await response.json()
  } catch {
    throw new CallRefused(response.status, 'NotJson', 'What answered is not a server of Pawl.')
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** For an operation that answers with events: `onEvent` is told each; the last one is given back, also if `ended` came first. */
export async function follow<T>(
  name: OperationName,
  input: Readonly<Record<string, unknown>>,
  onEvent: (event: T, id: string | null) => void,
  ended?: AbortSignal,
): Promise<T | null> {
  const response = await reach(name, input, ended)
  if (!response.ok || response.body === null) {
    const { code = '', detail = '' } = (await bodyOf(response)) as {
      code?: string
      detail?: string
    }
    throw new CallRefused(response.status, code, detail)
  }
  let last: T | null = null
  try {
    for await (const { id, data } of eventsIn(response.body)) {
      last = JSON.parse(data) as T
      onEvent(last, id)
    }
  } catch (error) {
    if (ended?.aborted !== true) throw error
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
