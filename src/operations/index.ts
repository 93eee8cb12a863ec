/**
 * What the operations of the catalogue do, each a function of its name: a server calls it for a request, the command line for
 * a command. Those that only a server has (a store over HTTP, the presence of remote workers, its own readiness) stand there.
 */
import type { OperationInput } from '../protocol/index.ts'
import { ENGINE_EVENTS, ENGINE_FUNCTIONS } from './engine-functions.ts'
import { JOB_EVENTS, JOB_FUNCTIONS } from './job-functions.ts'
import type { OperationContext, OperationEvent } from './operation-context.ts'

export type { OperationContext, OperationEvent } from './operation-context.ts'

const FUNCTIONS = { ...JOB_FUNCTIONS, ...ENGINE_FUNCTIONS }
const EVENTS = { ...JOB_EVENTS, ...ENGINE_EVENTS }

/** Those that answer once, and those that answer with events. */
export type CallName = keyof typeof FUNCTIONS
export type EventsName = keyof typeof EVENTS

export function isCall(name: string): name is CallName {
  return Object.hasOwn(FUNCTIONS, name)
}

export function isEvents(name: string): name is EventsName {
  return Object.hasOwn(EVENTS, name)
}

/** The input has been checked. What comes back is what `JSON.stringify` makes of it. */
export function runOperation<N extends CallName>(
  name: N,
  context: OperationContext,
  input: OperationInput<N>,
): Promise<unknown> {
  const run = FUNCTIONS[name] as (
    context: OperationContext,
    input: OperationInput<N>,
  ) => Promise<unknown>
  return run(context, input)
}

/** `last`: the id of the last event that the caller has; null: it has none. */
export function followOperation<N extends EventsName>(
  name: N,
  context: OperationContext,
  input: OperationInput<N>,
  last: number | null = null,
): Promise<AsyncIterable<OperationEvent>> {
  const follow = EVENTS[name] as (
    context: OperationContext,
    input: OperationInput<N>,
    last: number | null,
  ) => Promise<AsyncIterable<OperationEvent>>
  return follow(context, input, last)
}
