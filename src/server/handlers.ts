/**
 * What each operation of the catalogue does: a function of its name. The compiler says which one is missing.
 */
import type { AnyJob } from '../definition/index.ts'
import { contract, InvalidDefinition, typed } from '../definition/index.ts'
import type { EngineAccess } from '../engine/engine-access.ts'
import type { Actor, Pawl, SubmitOptions } from '../engine/index.ts'
import { UnknownJob } from '../engine/index.ts'
import { PAWL_VERSION } from '../engine/presence/presence-loop.ts'
import type { Command } from '../kernel/index.ts'
import { commandFields, unknownField } from '../kernel/index.ts'
import type { OperationInput, OperationName } from '../protocol/index.ts'
import { openApiDocument, rolesForCommand } from '../protocol/index.ts'
import type { Claimed, Query, QueryKind } from '../store/index.ts'
import { nowUs } from '../store/clock.ts'
import { RequestRefused } from './errors.ts'
import type { NewsHub } from './news-hub.ts'
import type { HandlerTerms } from './options.ts'
import type { OnDemandMeter } from './on-demand-meter.ts'
import type { OpenRequests } from './open-requests.ts'
import type { RemoteSessions } from './remote-sessions.ts'
import type { Caller } from './tokens.ts'
import { hasOneOf } from './tokens.ts'

export interface ServerParts {
  readonly pawl: Pawl
  readonly access: EngineAccess
  readonly terms: HandlerTerms
  readonly hub: NewsHub
  readonly sessions: RemoteSessions
  readonly openRequests: OpenRequests
  readonly meter: OnDemandMeter
}

/** Of one request. */
export interface CallContext extends ServerParts {
  readonly caller: Caller
  /** Aborted when the caller is gone, or the server closes. */
  readonly signal: AbortSignal
}

/** Those that answer with events are elsewhere; the name of a query says which it is. */
type Answering = Exclude<OperationName, 'store.watch' | `query.${QueryKind}`>

type Handlers = {
  readonly [N in Answering]: (context: CallContext, input: OperationInput<N>) => Promise<unknown>
}

const DONE = {}
const PROTOCOL = 1
/** Between two claims of one poll, where no news say when something is due. */
const CLAIM_AGAIN_MS = 50
const CLAIM_AGAIN_SHARED_MS = 1_000

/** Who is on record: what the caller says, or its token. */
function actorOf({ caller }: CallContext, { by, reason }: Actor): Actor {
  return { by: by ?? caller.name, ...(reason === undefined ? {} : { reason }) }
}

/** All of the input but the nouns of the path, and with the actor. */
function optionsOf<I extends Actor, K extends keyof I>(
  context: CallContext,
  input: I,
  noun: K,
): Omit<I, K | 'by' | 'reason'> & Actor {
  const { [noun]: _, by: _by, reason: _reason, ...options } = input
  return { ...options, ...actorOf(context, input) }
}

/** By the definition that the server was given; else by its name alone. */
function definitionFor(context: CallContext, input: OperationInput<'jobs.submit'>): AnyJob {
  const { type, lease, timeout, retry, version } = input
  const given = Object.entries({ lease, timeout, retry, version }).filter(
    ([, value]) => value !== undefined,
  )
  const known = context.terms.definitions.get(type)
  if (known === undefined) {
    return contract(type, { input: typed<unknown>(), ...Object.fromEntries(given) }) as AnyJob
  }
  if (given.length === 0) return known
  throw new InvalidDefinition(
    `The server has a definition of '${type}', which says \`${given[0]?.[0]}\`: leave it out.`,
  )
}

async function submit(
  context: CallContext,
  input: OperationInput<'jobs.submit'>,
): Promise<{ job: string }> {
  const definition = definitionFor(context, input)
  const { type: _, input: given = null, lease: _l, timeout: _t, retry: _r, ...options } = input
  const { version: _v, ...terms } = options
  const { id } = await context.pawl.submit(definition, given, terms as SubmitOptions)
  return { job: id }
}

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
    await hub.wait(Math.min(leftMs, Math.max(againMs, openRequests.count)), signal)
    if (signal.aborted) return { claimed: [] }
  }
}

async function news(
  { hub, sessions, signal }: CallContext,
  { since, waitMs = 0, session }: OperationInput<'store.news'>,
): Promise<unknown> {
  const end = session === undefined ? null : sessions.polls(session)
  try {
    const first = hub.since(since)
    if (first.news.length > 0 || waitMs === 0) return first
    await hub.wait(waitMs, signal)
    return hub.since(since)
  } finally {
    end?.()
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

const OF_JOBS: Pick<Handlers, Extract<Answering, `jobs.${string}`>> = {
  'jobs.submit': submit,
  'jobs.list': ({ pawl }, input) => pawl.list(input),
  'jobs.show': async ({ pawl }, { job }) => {
    const info = await pawl.get(job)
    if (info === null) throw new UnknownJob(job)
    return info
  },
  'jobs.history': async ({ pawl }, { job, ...page }) => ({ items: await pawl.history(job, page) }),
  'jobs.explain': ({ pawl }, { job }) => pawl.explain(job),
  'jobs.cancel': done((context, input) => context.pawl.cancel(input.job, actorOf(context, input))),
  'jobs.release': done((context, input) =>
    context.pawl.release(input.job, actorOf(context, input)),
  ),
  'jobs.retry': done((context, input) =>
    context.pawl.retry(input.job, optionsOf(context, input, 'job')),
  ),
  'jobs.discard': done((context, input) =>
    context.pawl.discard(input.job, optionsOf(context, input, 'job')),
  ),
  'jobs.revoke': done((context, input) =>
    context.pawl.revoke(input.job, optionsOf(context, input, 'job')),
  ),
  'jobs.force': done((context, input) =>
    context.pawl.force(input.job, optionsOf(context, input, 'job')),
  ),
  'jobs.rerun': async (context, input) => {
    const { id } = await context.pawl.rerun(input.job, optionsOf(context, input, 'job'))
    return { job: id }
  },
  'jobs.reschedule': done((context, input) => {
    const options = optionsOf(context, input, 'job')
    return context.pawl.reschedule(input.job, options as Parameters<Pawl['reschedule']>[1])
  }),
}

const OF_QUEUES_AND_SCHEDULES: Pick<
  Handlers,
  Extract<Answering, `queues.${string}` | `schedules.${string}`>
> = {
  'queues.show': ({ pawl }, { queue }) => pawl.queue(queue),
  'queues.pause': done((context, input) =>
    context.pawl.pause(input.queue, actorOf(context, input)),
  ),
  'queues.resume': done((context, input) =>
    context.pawl.resume(input.queue, actorOf(context, input)),
  ),
  'queues.configure': done((context, input) => {
    const { queue, by: _b, reason: _r, ...options } = input
    const bounds = options as Parameters<Pawl['configure']>[1]
    return context.pawl.configure(queue, bounds, actorOf(context, input))
  }),
  'schedules.list': async ({ pawl }) => ({ schedules: await pawl.schedules() }),
  'schedules.remove': done((context, input) =>
    context.pawl.scheduleHandle(input.schedule).remove(actorOf(context, input)),
  ),
  'schedules.pause': done((context, input) =>
    context.pawl.scheduleHandle(input.schedule).pause(actorOf(context, input)),
  ),
  'schedules.resume': done((context, input) =>
    context.pawl.scheduleHandle(input.schedule).resume(actorOf(context, input)),
  ),
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
  'store.compact': done(({ pawl }) => pawl.compact()),
  'presence.say': async ({ sessions, terms }, { session, text, reports }) => {
    sessions.say(session, text, reports)
    return { graceMs: terms.graceMs }
  },
  'presence.leave': done(async ({ sessions }, { session }) => sessions.leave(session)),
  'presence.heard': async ({ access, sessions }) => {
    const here = access.ownProcess()
    const others = (await access.store.presence?.heard(true)) ?? []
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

/** Infinity, which JSON does not have, is null: the last bound of a distribution. */
const OF_ENGINE: Pick<
  Handlers,
  Extract<
    Answering,
    | `quarantine.${string}`
    | `workers.${string}`
    | 'health'
    | 'metrics'
    | 'metrics.text'
    | 'healthz'
    | 'readyz'
    | 'openapi'
  >
> = {
  'workers.list': async ({ pawl }) => ({ workers: await pawl.workers() }),
  'quarantine.list': ({ pawl }, input) => pawl.quarantine.list(input),
  'quarantine.groups': async ({ pawl }, input) => ({ groups: await pawl.quarantine.groups(input) }),
  health: ({ pawl }) => pawl.health(),
  metrics: ({ pawl }) => pawl.metrics(),
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
  openapi: async ({ terms }) => openApiDocument(PAWL_VERSION, terms.path),
}

const HANDLERS: Handlers = {
  ...OF_JOBS,
  ...OF_QUEUES_AND_SCHEDULES,
  ...OF_STORE,
  ...OF_ENGINE,
}

const QUERY = /^query\.(.+)$/

export function call(name: string, context: CallContext, input: unknown): Promise<unknown> {
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
