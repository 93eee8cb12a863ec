/**
 * What the operations on one job do.
 */
import type { AnyMessage, ExactTexts } from '../definition/index.ts'
import {
  exactPart,
  fromJson,
  InvalidDefinition,
  isPipeline,
  message,
  runnableFor,
  typed,
} from '../definition/index.ts'
import { streamAddress } from '../engine/client/job-stream.ts'
import { askedQuestion } from '../engine/messages/asked-question.ts'
import type { Handle, Pawl, StreamItem, SubmitOptions } from '../engine/index.ts'
import { ResultTimeout, UnknownJob } from '../engine/index.ts'
import { isFinal, PawlError } from '../kernel/index.ts'
import type { OperationInput, OperationName } from '../protocol/index.ts'
import { nowUs } from '../store/clock.ts'
import type { Outcome, PositionedEntry } from '../store/index.ts'
import type {
  EventFunctions,
  OperationContext,
  OperationEvent,
  OperationFunctions,
} from './operation-context.ts'
import { actorOf, definitionFor, done, engineOf, optionsOf } from './operation-context.ts'

type OfJobs =
  | Exclude<Extract<OperationName, `jobs.${string}`>, 'jobs.events' | 'jobs.stream.events'>
  | 'messages.send'
  | Extract<OperationName, `inbox.${string}`>

/** Between two looks whether the caller still waits. */
const LOOK_MS = 2_000
const DEFAULT_PAGE = 100

async function submit(
  context: OperationContext,
  input: OperationInput<'jobs.submit'>,
): Promise<{ job: string }> {
  const definition = definitionFor(context, input)
  const { type: _, input: given = null, lease: _l, timeout: _t, retry: _r, ...options } = input
  const { version: _v, ...terms } = options
  const { by } = actorOf(context, input)
  const { id } = await context.pawl.submit(definition, given, { ...terms, by } as SubmitOptions)
  return { job: id }
}

interface JobResult {
  readonly state: string
  readonly isOver: boolean
  readonly result: unknown
  /** Left out, unless JavaScript changed a number in the result. */
  readonly exact?: ExactTexts<'result'>
  readonly error: { readonly code: string; readonly message: string } | null
}

/** Waits in short turns: a caller that is gone must not be waited for. */
async function result(
  { pawl, signal }: OperationContext,
  { job, waitMs = 0 }: OperationInput<'jobs.result'>,
): Promise<JobResult> {
  const handle = pawl.handle(job)
  const until = nowUs() / 1_000 + waitMs
  for (;;) {
    const outcome = await engineOf(pawl).store.query({ kind: 'outcome', job })
    if (outcome === null) throw new UnknownJob(job)
    const { state } = outcome
    if (isFinal(state) || state === 'QUARANTINED') return resultOf(pawl, handle, outcome)
    const leftMs = Math.ceil(until - nowUs() / 1_000)
    if (leftMs <= 0 || signal.aborted) return { state, isOver: false, result: null, error: null }
    await handle.result({ timeout: Math.min(leftMs, LOOK_MS) }).catch(() => undefined)
  }
}

/** What the job failed of is an answer, and no failure to answer. */
async function resultOf(pawl: Pawl, handle: Handle, outcome: Outcome): Promise<JobResult> {
  const { state } = outcome
  const isOver = state !== 'QUARANTINED'
  try {
    const value = (await handle.result()) ?? null
    const exact = await exactResult(pawl, handle.id, outcome)
    return { state, isOver, result: value, ...exact, error: null }
  } catch (error) {
    if (!(error instanceof PawlError) || error.kind !== 'rejected') throw error
    if (error instanceof UnknownJob || error instanceof ResultTimeout) throw error
    return { state, isOver, result: null, error: { code: error.code, message: error.message } }
  }
}

/** That of a pipeline is put together from outputs of its segments. */
async function exactResult(
  pawl: Pawl,
  job: string,
  { output, last }: Outcome,
): Promise<Pick<JobResult, 'exact'>> {
  const text = last === null ? output : (await pawl.get(job))?.exact?.output
  return exactPart({ result: text ?? null })
}

async function streamPage(
  { pawl }: OperationContext,
  { job, stream, from = 0, limit = DEFAULT_PAGE, ...choice }: OperationInput<'jobs.stream'>,
): Promise<unknown> {
  const { store } = engineOf(pawl)
  const address = await streamAddress(store, job, choice)
  const page = await store.query({ kind: 'stream', ...address, name: stream, from, limit })
  const items = (page?.pieces ?? []).flatMap(({ offset, attempt, at, values }) =>
    values.map((value, i) => ({
      offset: offset + i,
      value: fromJson(value),
      ...exactPart({ value }),
      attempt,
      at: new Date(at),
    })),
  )
  const next = Math.max(from, page?.next ?? 0)
  return { items, next, isEnd: next >= (page?.length ?? 0) }
}

/** As a definition says; of a job that no definition here is of, what the wait asks for is all that is checked. */
async function send(
  context: OperationContext,
  input: OperationInput<'messages.send'>,
): Promise<{ id: string }> {
  const { pawl } = context
  const { job, message: name, value = null } = input
  const view = await engineOf(pawl).store.query({ kind: 'overview', job })
  if (view === null) throw new UnknownJob(job)
  const { type } = view.job.spec
  const isKnown = engineOf(pawl).definitionOf(type) !== null
  const given = isKnown ? name : definedMessage(context, type, name)
  return pawl.send(job, given, value, optionsOf(context, input, 'job', 'message', 'value'))
}

function definedMessage({ definitions }: OperationContext, type: string, name: string): AnyMessage {
  const definition = definitions.get(type)
  if (definition === undefined) return message(name, { input: typed<unknown>() })
  const stages = isPipeline(definition) ? definition.stages.map(({ stage }) => stage) : [null]
  for (const stage of stages) {
    const known = runnableFor(definition, stage)?.messages.get(name)
    if (known !== undefined) return known
  }
  throw new InvalidDefinition(`Job '${type}' takes no message '${name}'.`, { message: name })
}

export const JOB_FUNCTIONS: OperationFunctions<OfJobs> = {
  'jobs.submit': submit,
  'jobs.list': ({ pawl }, input) => pawl.list(input),
  'jobs.show': async ({ pawl }, { job }) => {
    const info = await pawl.get(job)
    if (info === null) throw new UnknownJob(job)
    return info
  },
  'jobs.history': async ({ pawl }, { job, ...page }) => ({ items: await pawl.history(job, page) }),
  'jobs.explain': ({ pawl }, { job }) => pawl.explain(job),
  'jobs.executions': ({ pawl }, { job, ...filter }) => pawl.executions(job, filter),
  'jobs.segments': ({ pawl }, { job, ...filter }) => pawl.segments(job, filter),
  'jobs.actions': ({ pawl }, { job, ...choice }) => pawl.actions(job, choice),
  'jobs.result': result,
  'jobs.stream': streamPage,
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
  'jobs.erase': async (context, input) => ({
    erased: await context.pawl.erase(input.job, optionsOf(context, input, 'job')),
  }),
  'jobs.resolve': done((context, input) =>
    context.pawl.resolveEffect(input.job, input.effect, optionsOf(context, input, 'job', 'effect')),
  ),
  'messages.send': send,
  'inbox.list': ({ pawl }, input) => pawl.inbox(input),
  'inbox.show': ({ pawl }, { job, name, ...choice }) => {
    const { store, now } = engineOf(pawl)
    return askedQuestion(store, { job, name }, choice, now())
  },
  'inbox.answer': done((context, input) => {
    const options = optionsOf(context, input, 'job', 'name', 'value')
    return context.pawl.answer(input, input.value, { ...options, by: options.by ?? context.by })
  }),
}

export const JOB_EVENTS: EventFunctions<'jobs.events' | 'jobs.stream.events'> = {
  'jobs.events': async ({ pawl, signal }, { job, from = 0 }, last) => {
    const handle = pawl.handle(job)
    // BEFORE the first event: that there is no such job is an answer, and no event.
    await handle.state()
    return jobEvents(handle.events({ signal }), last ?? from)
  },
  'jobs.stream.events': async ({ pawl, signal }, { job, stream, from, ...choice }, last) => {
    await streamAddress(engineOf(pawl).store, job, choice)
    const first = last === null ? (from ?? 0) : last + 1
    return streamEvents(pawl.handle(job).stream(stream, { ...choice, from: first, signal }))
  },
}

async function* jobEvents(
  entries: AsyncIterable<PositionedEntry>,
  after: number,
): AsyncGenerator<OperationEvent, void> {
  for await (const { position, entry } of entries) {
    if (position > after) yield { id: position, data: entry }
  }
}

async function* streamEvents(
  items: AsyncIterable<StreamItem>,
): AsyncGenerator<OperationEvent, void> {
  for await (const item of items) yield { id: item.offset, data: item }
}
