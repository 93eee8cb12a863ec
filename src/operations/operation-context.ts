/**
 * What a function of an operation is given beside its input: the engine, who asks, and when to stop. A server makes one for
 * each request, the command line one for each run.
 */
import type { AnyJob } from '../definition/index.ts'
import { InvalidDefinition, jobByName } from '../definition/index.ts'
import { accessTo } from '../engine/engine-access.ts'
import type { EngineAccess } from '../engine/engine-access.ts'
import type { Actor, BulkReport, Pawl } from '../engine/index.ts'
import type { OperationInput, OperationName } from '../protocol/index.ts'

export interface OperationContext {
  readonly pawl: Pawl
  /** On record where the input does not say who asks. */
  readonly by: string
  /** Jobs that are given by name get their policies, and their inputs are checked. */
  readonly definitions: ReadonlyMap<string, AnyJob>
  /** Aborted when the caller does not wait for the answer any more. */
  readonly signal: AbortSignal
  /** Told how far an operation for many jobs is. */
  readonly onProgress?: (report: BulkReport) => void
}

/** What each operation does that answers once. */
export type OperationFunctions<N extends OperationName> = {
  readonly [K in N]: (context: OperationContext, input: OperationInput<K>) => Promise<unknown>
}

/** One event of an operation that answers with many. */
export interface OperationEvent {
  /** Where a caller that was cut goes on behind; null: it cannot. */
  readonly id: number | null
  readonly data: unknown
}

/** What each operation does that answers with events. `last`: the id of the last event that the caller has; null: none. */
export type EventFunctions<N extends OperationName> = {
  readonly [K in N]: (
    context: OperationContext,
    input: OperationInput<K>,
    last: number | null,
  ) => Promise<AsyncIterable<OperationEvent>>
}

/** Who is on record, and why. */
export function actorOf({ by: caller }: OperationContext, { by, reason }: Actor): Actor {
  return { by: by ?? caller, ...(reason === undefined ? {} : { reason }) }
}

/** All of the input but the nouns of the path, and with the actor. */
export function optionsOf<I extends Actor, K extends keyof I>(
  context: OperationContext,
  input: I,
  ...nouns: readonly K[]
): Omit<I, K | 'by' | 'reason'> & Actor {
  const { by: _by, reason: _reason, ...options } = input
  for (const noun of nouns) delete (options as Record<PropertyKey, unknown>)[noun]
  return { ...(options as Omit<I, K | 'by' | 'reason'>), ...actorOf(context, input) }
}

const DONE = {}

/** For an operation that says no more than that it is done. */
export function done<I>(
  act: (context: OperationContext, input: I) => Promise<unknown>,
): (context: OperationContext, input: I) => Promise<unknown> {
  return async (context, input) => {
    await act(context, input)
    return DONE
  }
}

/** How jobs of a type are tried, where no definition says it. */
interface GivenPolicy {
  readonly type: string
  readonly lease?: unknown
  readonly timeout?: unknown
  readonly retry?: unknown
  readonly version?: unknown
}

/** By the definition that there is, or that the engine knows; else by its name alone. */
export function definitionFor(
  { pawl, definitions }: OperationContext,
  { type, lease, timeout, retry, version }: GivenPolicy,
): AnyJob {
  const given = Object.entries({ lease, timeout, retry, version }).filter(
    ([, value]) => value !== undefined,
  )
  const known = definitions.get(type) ?? engineOf(pawl).definitionOf(type)
  if (known === null) return jobByName(type, Object.fromEntries(given))
  if (given.length === 0) return known
  throw new InvalidDefinition(
    `The server has a definition of '${type}', which says \`${given[0]?.[0]}\`: leave it out.`,
  )
}

/** Of a `Pawl` that `open` gave. */
export function engineOf(pawl: Pawl): EngineAccess {
  return accessTo(pawl) as EngineAccess
}
