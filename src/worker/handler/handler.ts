/**
 * Runs a handler once, in whichever thread or process this is: makes its context, calls it, and
 * makes plain data of what it returned or threw.
 */
import type {
  AnyEffect,
  ChildCall,
  Continuation,
  CommitWrites,
  EffectCall,
  HandlerCommit,
  RunContext,
  Runnable,
  StageDefinition,
  SubmitDefaults,
} from '../../definition/index.ts'
import {
  continuedInput,
  effectCalls,
  fromJson,
  inputFor,
  inputOf,
  InvalidDefinition,
  isCommit,
  isContinuation,
  nameOf,
  specOf,
  toJson,
  validated,
} from '../../definition/index.ts'
import type { EffectPromise, Payload } from '../../kernel/index.ts'
import { DEFAULT_RETRY } from '../../kernel/index.ts'
import type { AbortHandle } from '../abort-handle.ts'
import type { FailureReport } from './failure.ts'
import { failureReport } from './failure.ts'
import type { HandlerPort, HandlerRequest } from './handler-context.ts'
import { HandlerContext } from './handler-context.ts'
import { stageContextFor } from './stage-context.ts'

export type HandlerOutcome =
  | {
      readonly kind: 'commit'
      readonly output: Payload
      readonly effects: readonly EffectPromise[]
      /** Never from another thread or process: there, it is refused. */
      readonly writes: CommitWrites | null
    }
  /** It waits, and the store knows for what: nothing more is to be reported. */
  | { readonly kind: 'suspended' }
  /** Another run follows, with this input. */
  | { readonly kind: 'continue'; readonly input: Payload }
  | ({ readonly kind: 'failure' } & FailureReport)

export async function runHandler(
  definition: Runnable,
  request: HandlerRequest,
  port: HandlerPort,
  abortHandle: AbortHandle,
): Promise<HandlerOutcome> {
  let context: HandlerContext | null = null
  try {
    // Usually nothing here is a promise, and awaiting nothing costs a turn.
    const made = contextFor(definition, request, port, abortHandle)
    const given = (context = made instanceof Promise ? await made : made)
    if (definition.reuse !== null) {
      const ref = await given.reusedOutput()
      if (ref !== null) return await outcomeOf(definition, given, ref)
    }
    const calls = definition.effects.size === 0 ? null : new Set<EffectCall>()
    const run = (): unknown => definition.run(given as unknown as RunContext<never, []>)
    const running = calls === null ? run() : effectCalls.run(calls, run)
    const returned = isThenable(running) ? await running : running
    if (calls !== null) assertPromised(request.job.id, calls, returned)
    const outcome = outcomeOf(definition, given, returned)
    return outcome instanceof Promise ? await outcome : outcome
  } catch (error) {
    return failureOutcome(definition, error)
  } finally {
    context?.close()
  }
}

/** An effect that was called and is in no commit would not happen, and no one would know. */
export function assertPromised(
  job: string,
  calls: ReadonlySet<EffectCall>,
  ...returned: readonly unknown[]
): void {
  const promised = new Set(returned.flatMap((one) => (isCommit(one) ? one.effects : [])))
  for (const call of calls) {
    if (promised.has(call)) continue
    throw new InvalidDefinition(
      `Job ${job} called the effect '${call.effect}', and its commit does not have it: nothing would be done. Write \`return commit(output, [${call.effect}(…)])\`. Nothing was committed.`,
      { job, effect: call.effect },
    )
  }
}

/** What the handler gets, once its input is checked. */
export function contextFor(
  definition: Runnable,
  request: HandlerRequest,
  port: HandlerPort,
  abortHandle: AbortHandle,
): HandlerContext | Promise<HandlerContext> {
  const { stage } = request
  if (stage !== null) {
    return stageContextFor(definition as StageDefinition, request, stage, port, abortHandle)
  }
  const checked = inputFor(definition, request.version, fromJson(request.input ?? 'null'))
  return checked instanceof Promise
    ? checked.then((input) => new HandlerContext(definition, request, port, abortHandle, input))
    : new HandlerContext(definition, request, port, abortHandle, checked)
}

/** The commit that the handler returned, or that its output makes. */
export function outcomeOf(
  definition: Runnable,
  context: HandlerContext,
  returned: unknown,
): HandlerOutcome | Promise<HandlerOutcome> {
  if (isContinuation(returned)) return continuation(definition, context, returned)
  const commit = context.commitOf(returned)
  if (definition.reuse !== null) context.assertReusable(commit)
  const { effects, children } = commit
  const output = outputOf(definition, commit.output)
  const isPlain = effects.length === 0 && children.length === 0
  if (isPlain && typeof output === 'string') {
    return { kind: 'commit', output, effects: NOTHING, writes: commit.writes }
  }
  return outcomeWithPromises(definition, commit, output, context.defaults)
}

async function continuation(
  definition: Runnable,
  context: HandlerContext,
  { input }: Continuation,
): Promise<HandlerOutcome> {
  context.assertStepsOver()
  const text = await inputOf(definition, input)
  return {
    kind: 'continue',
    input: continuedInput(text, definition.version, context.submittedUnder),
  }
}

async function outcomeWithPromises(
  definition: Runnable,
  commit: HandlerCommit<unknown>,
  output: Payload | Promise<Payload>,
  defaults: SubmitDefaults,
): Promise<HandlerOutcome> {
  return {
    kind: 'commit',
    output: await output,
    effects: await promisesOf(definition, commit, defaults),
    writes: commit.writes,
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as PromiseLike<unknown> | null | undefined)?.then === 'function'
}

export function failureOutcome({ classify }: Runnable, error: unknown): HandlerOutcome {
  return { kind: 'failure', ...failureReport(error, classify ?? undefined) }
}

function outputOf(definition: Runnable, output: unknown): Payload | Promise<Payload> {
  const what = `The output of ${nameOf(definition)}`
  const checked = validated(definition.output, output, what)
  return checked instanceof Promise
    ? checked.then(() => toJson(output, what, 'output'))
    : toJson(output, what, 'output')
}

const NOTHING: readonly EffectPromise[] = []

async function promisesOf(
  definition: Runnable,
  { effects, children }: HandlerCommit<unknown>,
  defaults: SubmitDefaults,
): Promise<readonly EffectPromise[]> {
  const promises: EffectPromise[] = []
  for (const { effect, input } of effects) {
    promises.push(await promiseOf(definition.effects.get(effect) as AnyEffect, input))
  }
  for (const one of children) promises.push(await childPromise(one, defaults))
  return promises
}

async function promiseOf(definition: AnyEffect, given: unknown): Promise<EffectPromise> {
  const { effectName: name, schema, idempotent, reconcile, retry } = definition
  const what = `The input of effect '${name}'`
  await validated(schema, given, what)
  const input = toJson(given, what, 'input')
  return { name, input, idempotent, reconcile: reconcile !== null, retry, child: null }
}

async function childPromise(
  { definition, input, options }: ChildCall,
  defaults: SubmitDefaults,
): Promise<EffectPromise> {
  const spec = specOf(definition, input, await inputOf(definition, input), options, defaults)
  return {
    name: definition.name,
    input: 'null',
    idempotent: true,
    reconcile: false,
    retry: DEFAULT_RETRY,
    child: spec,
  }
}
