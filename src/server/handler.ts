/**
 * The server as a function from a request to its answer, which Hono, Next, Bun and others mount as it is.
 *
 * A request passes, in this order: the checks of Host and Origin, the files of the dashboard, the token, the route, the role,
 * the form of its input, and the scope of the token.
 * Whatever is refused on the way has changed nothing.
 */
import { InvalidDefinition } from '../definition/index.ts'
import type { Pawl, QueueListItem } from '../engine/index.ts'
import { accessTo } from '../engine/engine-access.ts'
import { PROMETHEUS_TYPE } from '../observe/metrics/index.ts'
import type { EventsName } from '../operations/index.ts'
import { isEvents } from '../operations/index.ts'
import type { FoundRoute, Operation } from '../protocol/index.ts'
import { findRoute, OPERATIONS, PUBLIC_OPERATIONS } from '../protocol/index.ts'
import { problemAnswer, RequestRefused } from './errors.ts'
import { followFiles } from './followed-files.ts'
import type { AnswerFunction, IncomingCall, OutgoingAnswer } from './exchange.ts'
import { eventsOf } from './events.ts'
import type { QueueLoad } from './figures/figure-history.ts'
import { FigureSampler } from './figures/figure-sampler.ts'
import type { CallContext, ServerParts } from './handlers.ts'
import { call } from './handlers.ts'
import { NewsHub } from './news-hub.ts'
import type { OpenRequest } from './open-requests.ts'
import { OpenRequests } from './open-requests.ts'
import type { RequestHandlerOptions, HandlerTerms } from './options.ts'
import { handlerTerms } from './options.ts'
import { OnDemandMeter } from './on-demand-meter.ts'
import { Permit } from './permit.ts'
import { RemoteSessions } from './remote-sessions.ts'
import { SharedAnswers } from './shared-answers.ts'
import { inputOf } from './request-input.ts'
import { readTokenFile } from './token-file.ts'
import { jsonAnswer } from './tagged-answers.ts'
import type { Caller } from './tokens.ts'
import { ANONYMOUS, mayCall, Tokens } from './tokens.ts'

export interface RequestHandler {
  (request: Request): Promise<Response>
  /** Polls are answered and streams end. The engine stays open. */
  close(): void
}

const HEADERS = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
}

/** Nothing between keeps events back: no proxy, and no program that compresses answers. */
const STREAM_HEADERS = {
  'cache-control': 'no-store, no-transform',
  'content-type': 'text/event-stream',
  'x-accel-buffering': 'no',
}

export function createHandler(pawl: Pawl, options: RequestHandlerOptions = {}): RequestHandler {
  const answerTo = answersOf(pawl, handlerTerms(options))
  const handler = async (request: Request): Promise<Response> => {
    const { status, headers, body } = await answerTo(request)
    return new Response(body === '' ? null : body, { status, headers })
  }
  return Object.assign(handler, { close: () => answerTo.close() })
}

export function answersOf(pawl: Pawl, terms: HandlerTerms): AnswerFunction {
  const access = typeof pawl === 'object' && pawl !== null ? accessTo(pawl) : undefined
  if (access === undefined) {
    throw new InvalidDefinition('A server stands in front of an engine: give it what open() gives.')
  }
  // BEFORE anything is begun: a file with a mistake in it throws.
  const tokens = tokensOf(terms)
  const sharedAnswers = new SharedAnswers()
  const parts: ServerParts = {
    pawl,
    access,
    terms,
    hub: new NewsHub(access),
    sessions: new RemoteSessions(access, terms.graceMs, terms.onError),
    openRequests: new OpenRequests(terms.limits),
    meter: new OnDemandMeter(pawl),
    sharedAnswers,
    figures: new FigureSampler({
      now: access.now,
      totals: () => access.totals(),
      queues: () => readQueues(pawl, sharedAnswers, access.now),
    }),
  }
  if (terms.dashboard !== null) parts.figures.begin()
  const stopFollowing = followTokens(parts, tokens)
  const handler = async (request: IncomingCall): Promise<OutgoingAnswer> => {
    const headers = { ...HEADERS, 'pawl-time': String(Math.floor(access.now())) }
    try {
      return await answer(parts, tokens, request, headers)
    } catch (error) {
      const refused = problemAnswer(error, headers)
      if (refused.status === 500) terms.onError(error as Error)
      return refused
    }
  }
  return Object.assign(handler, {
    close(): void {
      stopFollowing()
      parts.openRequests.close()
      parts.sessions.close()
      parts.hub.close()
      parts.meter.close()
      parts.figures.close()
    },
  })
}

/** Who takes an answer that a page was given a moment ago. */
const READER = { link: null, scope: null, seesPayloads: true }
const A_MOMENT_AGO = new Headers({ 'cache-control': 'max-age=1' })

/** As any reader of them, so that they are read once for a page and for its figures. */
async function readQueues(
  pawl: Pawl,
  shared: SharedAnswers,
  now: () => number,
): Promise<readonly QueueLoad[]> {
  const operation = OPERATIONS['queues.list']
  const question = { operation, caller: READER, input: {}, headers: A_MOMENT_AGO }
  const body = await shared.body(question, async () => {
    return JSON.stringify({ queues: await pawl.queues() })
  })
  const { queues } = JSON.parse(body) as { queues: readonly SentQueue[] }
  return queues.map(({ name, states, segments, oldestDueAt }) => ({
    queue: name,
    waiting: states.QUEUED + segments.ready,
    oldestMs: oldestDueAt === null ? 0 : Math.max(0, now() - Date.parse(oldestDueAt)),
  }))
}

/** Of JSON. */
interface SentQueue extends Pick<QueueListItem, 'name' | 'states' | 'segments'> {
  readonly oldestDueAt: string | null
}

function tokensOf({ tokens, tokenFile, linkKeys, isOpen }: HandlerTerms): Tokens {
  const known = new Tokens(tokens, linkKeys, isOpen)
  if (tokenFile !== null) known.replaceFileTokens(readTokenFile(tokenFile))
  return known
}

/** A token that is in the file no more ends what it has open. */
function followTokens({ terms, openRequests }: ServerParts, tokens: Tokens): () => void {
  const { tokenFile, onError } = terms
  if (tokenFile === null) return () => undefined
  const read = (): void => {
    const gone = tokens.replaceFileTokens(readTokenFile(tokenFile))
    for (const caller of gone) openRequests.end(caller)
  }
  return followFiles([tokenFile], read, onError)
}

type AnswerHeaders = Readonly<Record<string, string>>

async function answer(
  parts: ServerParts,
  tokens: Tokens,
  request: IncomingCall,
  headers: AnswerHeaders,
): Promise<OutgoingAnswer> {
  const { terms, openRequests, sharedAnswers } = parts
  const url = new URL(request.url)
  assertHost(terms, request, url)
  assertOrigin(terms, request)
  const page = await dashboardAnswer(terms, request, url)
  if (page !== null) return page
  const { operation, caller, parameters } = admit(parts, tokens, request, url)
  const { limits } = terms
  const given = await inputOf(request, operation, parameters, url, limits.bodyBytes)
  const permit = new Permit(parts, caller, operation)
  const input = await permit.admit(given)
  const isShort = operation.kind === 'call' || operation.kind === 'text'
  const open = isShort ? null : openRequests.enter(caller, request.signal)
  const context: CallContext = { ...parts, caller, signal: open?.signal ?? request.signal }
  if (open !== null && isEvents(operation.name)) {
    return eventsResponse(operation.name, permit, context, open, input, request, headers)
  }
  try {
    const output = async (): Promise<unknown> => {
      return permit.answer(input, (one) => call(operation.name, context, one))
    }
    if (operation.kind === 'text') {
      const type = { 'content-type': PROMETHEUS_TYPE }
      return { status: 200, headers: { ...headers, ...type }, body: (await output()) as string }
    }
    const question = { operation, caller, input, headers: request.headers }
    const body = await sharedAnswers.body(question, async () => JSON.stringify(await output()))
    return jsonAnswer(operation, request.headers, headers, body)
  } finally {
    open?.leave()
  }
}

/** The page is the same for everybody, and says nothing of jobs: it needs no token. Null: it is not asked for. */
async function dashboardAnswer(
  { path, dashboard }: HandlerTerms,
  request: IncomingCall,
  url: URL,
): Promise<OutgoingAnswer | null> {
  if (dashboard === null || request.method !== 'GET') return null
  if (!url.pathname.startsWith(`${path}/`)) return null
  return dashboard.answer(url.pathname.slice(path.length), request.headers)
}

interface Admitted {
  readonly operation: Operation
  readonly caller: Caller
  readonly parameters: FoundRoute['parameters']
}

/** Which operation it is, and that the caller may call it. A caller without a token learns nothing of what there is. */
function admit(
  { terms, access }: ServerParts,
  tokens: Tokens,
  request: IncomingCall,
  url: URL,
): Admitted {
  const isBelow = terms.path === '' || url.pathname.startsWith(`${terms.path}/`)
  const route = isBelow ? findRoute(url.pathname.slice(terms.path.length)) : null
  const operation = route?.methods.get(request.method)
  const isPublic = operation !== undefined && PUBLIC_OPERATIONS.has(operation.name)
  const known = tokens.callerOf(request.headers.get('authorization'), access.now())
  const caller = known ?? (isPublic ? ANONYMOUS : null)
  if (caller === null) {
    throw new RequestRefused(
      'Unauthorized',
      'This needs a token: write `authorization: Bearer …` with one that the server knows.',
      {},
      { 'www-authenticate': 'Bearer' },
    )
  }
  if (route === null) {
    const where = url.pathname.slice(0, 200)
    throw new RequestRefused('NoSuchRoute', `There is no operation at ${where}: see docs/http.md.`)
  }
  if (operation === undefined) {
    const allowed = [...route.methods.keys()].join(', ')
    const detail = `What is there takes ${allowed}, not ${request.method}.`
    throw new RequestRefused('MethodNotAllowed', detail, {}, { allow: allowed })
  }
  if (!mayCall(caller, operation)) {
    const needed = operation.roles.length === 0 ? 'admin' : operation.roles.join("' or '")
    const detail = `${operation.name} needs a token with the role '${needed}'.`
    throw new RequestRefused('Forbidden', detail)
  }
  return { operation, caller, parameters: route.parameters }
}

/** A page in a browser could have a name of its own lead to this machine, and ask under that name. */
function assertHost({ hosts }: HandlerTerms, request: IncomingCall, url: URL): void {
  if (hosts === null) return
  const host = (request.headers.get('host') ?? url.host).toLowerCase().replace(/:\d*$/, '')
  if (hosts.has(host)) return
  throw new RequestRefused(
    'HostNotAllowed',
    `The Host header is ${JSON.stringify(host.slice(0, 100))}: this server is called ${[...hosts].join(', ')}. Give it its name by \`hosts\`.`,
  )
}

/** Only browsers say an origin. A page of another one has no business here, whatever it carries. */
function assertOrigin({ origins }: HandlerTerms, request: IncomingCall): void {
  const origin = request.headers.get('origin')
  if (origin === null || origins.has(origin)) return
  const host = request.headers.get('host')
  if (host !== null && /^https?:\/\//.test(origin) && origin.replace(/^https?:\/\//, '') === host) {
    return
  }
  throw new RequestRefused(
    'OriginNotAllowed',
    'A page of another origin asks, which is not allowed: name the origin in `origins` if it is yours.',
  )
}

async function eventsResponse(
  name: EventsName,
  permit: Permit,
  context: CallContext,
  open: OpenRequest,
  input: object,
  request: IncomingCall,
  headers: AnswerHeaders,
): Promise<OutgoingAnswer> {
  try {
    const lastEventId = request.headers.get('last-event-id')
    const stream = await eventsOf(name, permit, context, input, lastEventId, () => open.leave())
    return {
      status: 200,
      headers: { ...headers, ...STREAM_HEADERS },
      body: stream,
    }
  } catch (error) {
    open.leave()
    throw error
  }
}
