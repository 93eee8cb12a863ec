/**
 * Jobs that are run many at once: one call of the handler for a batch of them, for receivers
 * that take many things in one request.
 *
 * Each job keeps its own lease, its own commit and its own fate: only the call is shared.
 */
import type { AnyEffect } from './effect-definition.ts'
import { InvalidDefinition } from './errors.ts'
import type {
  BatchHandler,
  JobDefinition,
  JobTerms,
  ResultOf,
  Returned,
  RunContext,
} from './job-definition.ts'
import { termsOf } from './job-definition.ts'
import type { GivenTo, MaybeSchema, ValueOf } from './standard-schema.ts'

const FAILED = Symbol.for('pawl.failed')

/** In the place of an output: this one failed, the others did not. */
export interface Failed {
  readonly [FAILED]: true
  readonly error: unknown
}

export function failed(error: unknown): Failed {
  return { [FAILED]: true, error }
}

export function isFailed(value: unknown): value is Failed {
  return typeof value === 'object' && value !== null && FAILED in value
}

export type BatchOptions<
  S extends MaybeSchema,
  O extends MaybeSchema,
  E extends readonly AnyEffect[],
  R,
> = JobTerms<S, O, E> & {
  /** Jobs of one batch, at most. A worker never takes more than it has places for. */
  readonly max: number
  /**
   * One answer for each item, in the same order: an output, a commit, or `failed(error)`.
   * If it throws, all of them failed.
   */
  readonly run: (
    items: readonly RunContext<ValueOf<S>, E>[],
  ) => readonly (R | Failed)[] | Promise<readonly (R | Failed)[]>
}

export function batchJob<
  const Name extends string,
  S extends MaybeSchema = undefined,
  O extends MaybeSchema = undefined,
  const E extends readonly AnyEffect[] = readonly [],
  R extends Returned<O> = Returned<O>,
>(
  name: Name,
  options: BatchOptions<S, O, E, R>,
): JobDefinition<Name, GivenTo<S>, ResultOf<O, Exclude<R, Failed>>> {
  const { max, run } = options
  if (typeof run !== 'function') {
    throw new InvalidDefinition(`Batch job '${name}' has no handler: give it a function \`run\`.`)
  }
  if (!Number.isSafeInteger(max) || max < 1) {
    throw new InvalidDefinition(`\`max\` of batch job '${name}' must be a whole number from 1.`)
  }
  return {
    ...termsOf(name, options),
    run: () => {
      throw new InvalidDefinition(`Job '${name}' runs in batches.`)
    },
    batch: { max, run: run as unknown as BatchHandler['run'] },
  }
}
