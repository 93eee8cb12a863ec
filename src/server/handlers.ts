/**
 * What the operations of the catalogue do that only a server has: a function of each name. The compiler says which one is
 * missing. What the others do stands in `operations/`.
 */
import type { EngineAccess } from '../engine/engine-access.ts'
import type { Pawl } from '../engine/index.ts'
import { PAWL_VERSION } from '../engine/presence/presence-loop.ts'
import type { Command } from '../kernel/index.ts'
import { commandFields, unknownField } from '../kernel/index.ts'
import type { CallName, EventsName, OperationContext } from '../operations/index.ts'
import { isCall, runOperation } from '../operations/index.ts'
import type { Operation, OperationInput, OperationName } from '../protocol/index.ts'
import { openApiDocument, OPERATIONS, rolesForCommand } from '../protocol/index.ts'
import type { Claimed, Query, QueryKind } from '../store/index.ts'
import { nowUs } from '../store/clock.ts'
import { RequestRefused } from './errors.ts'
import type { NewsHub } from './news-hub.ts'
import type { HandlerTerms } from './options.ts'
import type { OnDemandMeter } from './on-demand-meter.ts'
import type { OpenRequests } from './open-requests.ts'
import type { FigureSampler } from './figures/figure-sampler.ts'
import type { RemoteSessions } from './remote-sessions.ts'
import { hasView } from './redaction.ts'
import { isHeldBy } from './scopes.ts'
import type { SharedAnswers } from './shared-answers.ts'
import type { Caller } from './tokens.ts'
import { hasOneOf, mayCall } from './tokens.ts'

export interface ServerParts {
  readonly pawl: Pawl
  readonly access: EngineAccess
  readonly terms: HandlerTerms
  readonly hub: NewsHub
  readonly sessions: RemoteSessions
  readonly openRequests: OpenRequests
  readonly meter: OnDemandMeter
  readonly sharedAnswers: SharedAnswers
  readonly figures: FigureSampler
}

/** Of one request. */
export interface CallContext extends ServerParts {
  readonly caller: Caller
  /** Aborted when the caller is gone, or the server closes. */
  readonly signal: AbortSignal
}

/** Those that only a server has; the name of a query says which it is. */
type Answering = Exclude<OperationName, CallName | EventsName | `query.${QueryKind}`>

type Handlers = {
  readonly [N in Answering]: (context: CallContext, input: OperationInput<N>) => Promise<unknown>
}

const DONE = {}
const PROTOCOL = 1
/** Between two claims of one poll, where no news say when something is due. */
const CLAIM_AGAIN_MS = 50
const CLAIM_AGAIN_SHARED_MS = 1_000

/** The batch is refused as a whole BEFORE anything of it is done. */
function assertCommands({ caller }: CallContext, commands: readonly unknown[]): void {
  commands.forEach((command, i) => {
    const type = (command as { type?: unknown } | null)?.type
    const roles = rolesForCommand(type)
    // The kernel answers to what is no command.
    if (roles === null) return
    if (!hasOneOf(caller.roles, roles)) {
      const needed = roles.length === 0 ? 'admin' : roles.join("' or '")
      throw new RequestRefused(
        'Forbidden',
        `\`commands[${i}]\` is a ${String(type)}, which needs a token with the role '${needed}'.`,
      )
    }
    const stranger = unknownField(command as Command)
    if (stranger === null) return
    const fields = commandFields(String(type)).join("', '")
    throw new RequestRefused(
      'UnknownField',
      `\`commands[${i}].${stranger.slice(0, 100)}\` is not known: a ${String(type)} has '${fields}'.`,
    )
  })
}

/** Claims until there is something, the time is over, or the caller is gone. */
async function claim(
  { access, hub, signal, openRequests }: CallContext,
  { waitMs = 0, ...request }: OperationInput<'store.claim'>,
): Promise<{ claimed: readonly Claimed[] }> {
  const until = nowUs() / 1_000 + waitMs
  const againMs = access.store.onNews === undefined ? CLAIM_AGAIN_MS : CLAIM_AGAIN_SHARED_MS
  for (;;) {
    const claimed = await access.store.claim(request)
    const leftMs = until - nowUs() / 1_000
    if (claimed.length > 0 || leftMs <= 0 || signal.aborted) return { claimed }
    // Many that wait must not keep the store busy with claims that find nothing.
    await hub.wait(Math.min(leftMs, Math.max(againMs, openRequests.count)), [signal])
    if (signal.aborted) return { claimed: [] }
  }
}

async function news(
  { hub, sessions, signal, caller }: CallContext,
  { since, waitMs = 0, session }: OperationInput<'store.news'>,
): Promise<unknown> {
  const poll = session === undefined ? null : sessions.polls(session)
  // Each is a text, with the reason of a person in it.
  const seesAsked = session !== undefined && caller.seesPayloads
  const asked = (): object => (seesAsked ? { asked: sessions.asked(session) } : {})
  try {
    const first = hub.since(since)
    if (first.news.length > 0 || waitMs === 0) return { ...first, ...asked() }
    await hub.wait(waitMs, poll === null || !seesAsked ? [signal] : [signal, poll.isAsked])
    return { ...hub.since(since), ...asked() }
  } finally {
    poll?.end()
  }
}

/** For an operation that says no more than that it is done. */
function done<I>(
  act: (context: CallContext, input: I) => Promise<unknown>,
): (context: CallContext, input: I) => Promise<unknown> {
  return async (context, input) => {
    await act(context, input)
    return DONE
  }
}

const OF_STORE: Pick<Handlers, Extract<Answering, `store.${string}` | `presence.${string}`>> = {
  'store.info': async ({ access }) => ({
    id: access.store.id ?? null,
    protocol: PROTOCOL,
    version: PAWL_VERSION,
    now: Math.floor(access.now()),
  }),
  'store.execute': async (context, { commands }) => {
    assertCommands(context, commands)
    return { answers: await context.access.execute(commands as readonly Command[]) }
  },
  'store.claim': claim,
  'store.news': news,
  'store.at.job': async ({ access }, { moment, job }) => {
    const snapshot = await access.store.at(moment)
    return { time: snapshot.time, past: await snapshot.job(job) }
  },
  'store.at.jobs': async ({ access, signal }, { moment, skip, limit, ...filter }) => {
    const snapshot = await access.store.at(moment)
    const jobs: unknown[] = []
    let seen = 0
    for await (const one of snapshot.jobs(filter)) {
      if (signal.aborted) break
      if (seen++ < skip) continue
      if (jobs.length === limit) return { time: snapshot.time, jobs, isAll: false }
      jobs.push(one)
    }
    return { time: snapshot.time, jobs, isAll: true }
  },
  'presence.say': async ({ sessions, terms }, { session, text, reports }) => {
    sessions.say(session, text, reports)
    return { graceMs: terms.graceMs, asked: sessions.asked(session) }
  },
  'presence.ask': async ({ access }, { process, worker, text }) => ({
    isKnown: await access.ask(process, worker, text),
  }),
  'presence.leave': done(async ({ sessions }, { session }) => sessions.leave(session)),
  'presence.heard': async ({ access, sessions }) => {
    const here = access.ownProcess()
    const { presence } = access.store
    const heard = (await presence?.heard(true)) ?? []
    // What this process wrote, a server in front of this one asks for itself.
    const others = heard.filter(({ name }) => name !== presence?.name)
    return { processes: [...(here === null ? [] : [here]), ...others, ...sessions.heard()] }
  },
  'presence.report': async ({ access, sessions }, { job }) => {
    const report = sessions.reportOf(job) ?? (await access.store.presence?.reportOf(job)) ?? null
    return { report }
  },
  'presence.forget': done(async ({ access, sessions }, { job, until }) => {
    sessions.forgetReport(job, until)
    await access.store.presence?.forgetReport(job, until)
  }),
}

/** Beyond its roles: what a token that is held to some jobs, or sees no payloads, is not refused. */
function isWithin({ scope, seesPayloads }: Caller, operation: Operation): boolean {
  return (scope === null || isHeldBy(scope, operation)) && (seesPayloads || hasView(operation))
}

function listOrNull(names: ReadonlySet<string> | null | undefined): readonly string[] | null {
  return names == null ? null : [...names]
}

const OF_SERVER: Pick<
  Handlers,
  'healthz' | 'readyz' | 'openapi' | 'caller' | 'figures' | 'metrics.text'
> = {
  figures: ({ figures }, { range = '15m' }) => figures.figures(range),
  'metrics.text': ({ meter }) => meter.text(),
  healthz: async () => ({ status: 'ok' }),
  readyz: async ({ access }) => {
    try {
      await access.store.query({ kind: 'outcome', job: '-' })
    } catch {
      throw new RequestRefused('NotReady', 'The store does not answer.', {}, { 'retry-after': '1' })
    }
    return { status: 'ready' }
  },
  caller: async ({ caller }) => ({
    name: caller.name,
    seesPayloads: caller.seesPayloads,
    types: listOrNull(caller.scope?.types),
    queues: listOrNull(caller.scope?.queues),
    operations: Object.values(OPERATIONS)
      .filter((one) => mayCall(caller, one) && isWithin(caller, one))
      .map(({ name }) => name),
  }),
  openapi: async ({ terms }) => openApiDocument(PAWL_VERSION, terms.path),
}

const HANDLERS: Handlers = { ...OF_STORE, ...OF_SERVER }

const QUERY = /^query\.(.+)$/

/** What the operations need that a command line could call as well. */
export function operationContext({ pawl, caller, terms, signal }: CallContext): OperationContext {
  return { pawl, by: caller.name, definitions: terms.definitions, signal }
}

export function call(name: string, context: CallContext, input: unknown): Promise<unknown> {
  if (isCall(name)) return runOperation(name, operationContext(context), input as never)
  const kind = QUERY.exec(name)?.[1]
  if (kind === undefined) {
    const handler = HANDLERS[name as keyof typeof HANDLERS] as (
      context: CallContext,
      input: unknown,
    ) => Promise<unknown>
    return handler(context, input)
  }
  const query = { ...(input as object), kind } as unknown as Query
  return context.access.store.query(query).then((answer) => ({ answer }))
}
