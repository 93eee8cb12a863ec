/**
 * Runs a handler once, wherever it is to run: in this thread, in another, or in a process of
 * its own. What it needs from the outside comes through a small port, and what comes of it is
 * plain data.
 */
import type {
  AnyEffect,
  ChildCall,
  HandlerCommit,
  CommitWrites,
  RunContext,
  Runnable,
  StageDefinition,
} from '../../definition/index.ts'
import {
  fromJson,
  inputFor,
  inputOf,
  nameOf,
  specOf,
  toJson,
  validated,
} from '../../definition/index.ts'
import type { EffectPromise, Failure, Payload } from '../../kernel/index.ts'
import { DEFAULT_RETRY } from '../../kernel/index.ts'
import { failureOf } from './failure.ts'
import { stageContextFor } from './stage-context.ts'
import type { AbortHandle } from '../abort-handle.ts'
import type { HandlerRequest, HandlerPort } from './handler-context.ts'
import { Context } from './handler-context.ts'

export type HandlerOutcome =
  | {
      readonly kind: 'commit'
      readonly output: Payload
      readonly effects: readonly EffectPromise[]
      /** Never from another thread or process: there, it is refused. */
      readonly writes: CommitWrites | null
    }
  | { readonly kind: 'failure'; readonly failure: Failure }

export async function runHandler(
  definition: Runnable,
  request: HandlerRequest,
  port: HandlerPort,
  abortHandle: AbortHandle,
): Promise<HandlerOutcome> {
  try {
    // Most of it is there at once, and a promise that nobody needs costs as much as any.
    const made = contextFor(definition, request, port, abortHandle)
    const context = made instanceof Promise ? await made : made
    const running = definition.run(context as unknown as RunContext<never, []>)
    const returned = isThenable(running) ? await running : running
    const outcome = conclude(definition, context, returned)
    return outcome instanceof Promise ? await outcome : outcome
  } catch (error) {
    return failed(definition, error)
  }
}

/** What the handler gets, once its input is what it should be. */
export function contextFor(
  definition: Runnable,
  request: HandlerRequest,
  port: HandlerPort,
  abortHandle: AbortHandle,
): Context | Promise<Context> {
  const { stage } = request
  if (stage !== null) {
    return stageContextFor(definition as StageDefinition, request, stage, port, abortHandle)
  }
  const checked = inputFor(definition, request.version, fromJson(request.input ?? 'null'))
  return checked instanceof Promise
    ? checked.then((input) => new Context(definition, request, port, abortHandle, input))
    : new Context(definition, request, port, abortHandle, checked)
}

/** What the handler returned, as it is to be committed. */
export function conclude(
  definition: Runnable,
  context: Context,
  returned: unknown,
): HandlerOutcome | Promise<HandlerOutcome> {
  const commit = context.committed(returned)
  const { effects, children } = commit
  const output = outputOf(definition, commit.output)
  const isPlain = effects.length === 0 && children.length === 0
  if (isPlain && typeof output === 'string') {
    return { kind: 'commit', output, effects: NOTHING, writes: commit.writes }
  }
  return promised(definition, commit, output)
}

async function promised(
  definition: Runnable,
  commit: HandlerCommit<unknown>,
  output: Payload | Promise<Payload>,
): Promise<HandlerOutcome> {
  return {
    kind: 'commit',
    output: await output,
    effects: await promisesOf(definition, commit),
    writes: commit.writes,
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as PromiseLike<unknown> | null | undefined)?.then === 'function'
}

export function failed({ classify }: Runnable, error: unknown): HandlerOutcome {
  return { kind: 'failure', failure: failureOf(error, classify ?? undefined) }
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
): Promise<readonly EffectPromise[]> {
  const promises: EffectPromise[] = []
  for (const { effect, input } of effects) {
    promises.push(await promiseOf(definition.effects.get(effect) as AnyEffect, input))
  }
  for (const one of children) promises.push(await childPromise(one))
  return promises
}

async function promiseOf(definition: AnyEffect, given: unknown): Promise<EffectPromise> {
  const { effectName: name, schema, idempotent, reconcile, retry } = definition
  const what = `The input of effect '${name}'`
  await validated(schema, given, what)
  const input = toJson(given, what, 'input')
  return { name, input, idempotent, reconcile: reconcile !== null, retry, child: null }
}

async function childPromise({ definition, input, options }: ChildCall): Promise<EffectPromise> {
  const spec = specOf(definition, await inputOf(definition, input), options)
  return {
    name: definition.name,
    input: 'null',
    idempotent: true,
    reconcile: false,
    retry: DEFAULT_RETRY,
    child: spec,
  }
}
