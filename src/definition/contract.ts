/**
 * Contracts: what a producer and a worker agree on about a job, without its handler. A producer submits by the
 * contract, and need not import what the handler imports; a worker runs `handle(contract, run)`.
 *
 * The policy is the contract's, and goes into the log with each submit. A handler has none of its own.
 */
import type { AnyEffect } from './effect-definition.ts'
import { InvalidDefinition } from './errors.ts'
import type { AnyJob, JobDefinition, JobOptions } from './job-definition.ts'
import { termNames, termsOf } from './job-definition.ts'
import type { Upgrades } from './job-spec.ts'
import { assertVersion, checkedVersion, markByName } from './job-spec.ts'
import { KnownOptions, shown } from './known-options.ts'
import type { AnyMessage } from './message-definition.ts'
import type { Classify, ResultOf, Returned, RunContext } from './runnable.ts'
import { checkedReuse, effectsByName } from './runnable.ts'
import { typed } from './standard-schema.ts'
import type { GivenTo, MaybeSchema, ValueOf } from './standard-schema.ts'

/** What only a handler has. */
type OfHandler = 'run' | 'effects' | 'classify' | 'reuse' | 'upgrades'

export type ContractOptions<
  S extends MaybeSchema,
  O extends MaybeSchema,
  M extends readonly AnyMessage[] = readonly AnyMessage[],
> = Omit<JobOptions<S, O, readonly [], unknown, M>, OfHandler>

export interface Contract<
  Name extends string,
  S extends MaybeSchema,
  O extends MaybeSchema,
  M extends readonly AnyMessage[] = readonly AnyMessage[],
> extends JobDefinition<Name, GivenTo<S>, ResultOf<O, unknown>> {
  readonly input: S
  readonly output: O
  /** Only for the compiler. */
  readonly messageTypes?: M
}

export interface HandlerOptions<
  S extends MaybeSchema,
  O extends MaybeSchema,
  E extends readonly AnyEffect[],
  R extends Returned<O>,
  M extends readonly AnyMessage[] = readonly AnyMessage[],
> {
  /** The effects that its commits may promise. */
  readonly effects?: E
  /** From version n to n + 1, for inputs that were submitted under an older contract. */
  readonly upgrades?: Upgrades
  /** Which errors are worth another attempt, and when; undefined leaves it to the default. */
  readonly classify?: Classify
  /** As of a job: a valid artifact of an earlier attempt is the output, and the handler is not run. */
  readonly reuse?: 'valid'
  readonly run: (context: RunContext<ValueOf<S>, E, M, GivenTo<S>>) => R | Promise<R>
}

const { run: _, effects: _e, classify: _c, reuse: _r, upgrades: _u, ...CONTRACT_NAMES } = termNames
const CONTRACT_OPTIONS = new KnownOptions<ContractOptions<MaybeSchema, MaybeSchema>>(CONTRACT_NAMES)
const HANDLER_OPTIONS = new KnownOptions<
  HandlerOptions<MaybeSchema, MaybeSchema, readonly [], unknown>
>({ run: true, effects: true, upgrades: true, classify: true, reuse: true })

/** With `input: typed<unknown>()` it submits whatever is given, to workers that know the job by its name. */
export function contract<
  const Name extends string,
  S extends MaybeSchema = undefined,
  O extends MaybeSchema = undefined,
  const M extends readonly AnyMessage[] = readonly [],
>(name: Name, options: ContractOptions<S, O, M> = {}): Contract<Name, S, O, M> {
  const what = `contract '${name}'`
  if (typeof options === 'object' && options !== null && 'run' in options) {
    throw new InvalidDefinition(
      `A contract has no handler: give \`run\` of ${what} to a worker, by handle(contract, run).`,
    )
  }
  CONTRACT_OPTIONS.assert(options, what, `contract('${name}', { input: … })`)
  const { version, ...others } = options
  return {
    ...termsOf(name, others),
    version: assertVersion(what, version),
    isContract: true,
    run: () => {
      throw new InvalidDefinition(noHandler(name))
    },
    batch: null,
  } as unknown as Contract<Name, S, O, M>
}

/** A job of which nothing is known but its name and how it is tried: an engine does not check messages and inputs by it. */
export function jobByName(
  name: string,
  options: ContractOptions<MaybeSchema, MaybeSchema>,
): AnyJob {
  const named = contract(name, { ...options, input: typed<unknown>() }) as AnyJob
  markByName(named)
  return named
}

export function noHandler(name: string): string {
  return `'${name}' is a contract, which has no handler: give work() what handle(contract, run) gives.`
}

/** The job of a contract, for workers. */
export function handle<
  Name extends string,
  S extends MaybeSchema,
  O extends MaybeSchema,
  const E extends readonly AnyEffect[] = readonly [],
  R extends Returned<O> = Returned<O>,
  M extends readonly AnyMessage[] = readonly AnyMessage[],
>(
  agreed: Contract<Name, S, O, M>,
  handler: HandlerOptions<S, O, E, R, M> | HandlerOptions<S, O, E, R, M>['run'],
): JobDefinition<Name, GivenTo<S>, ResultOf<O, Awaited<R>>> {
  if (!(agreed as Partial<typeof agreed> | undefined)?.isContract) {
    throw new InvalidDefinition(
      `handle() takes what contract('…', { … }) gives first, not ${shown(agreed)}.`,
    )
  }
  const what = `job '${agreed.name}'`
  const options = typeof handler === 'function' ? { run: handler } : handler
  HANDLER_OPTIONS.assert(options, what, 'handle(contract, { run: ({ input }) => … })')
  if (typeof options.run !== 'function') {
    throw new InvalidDefinition(`Job '${agreed.name}' has no handler: give it a function \`run\`.`)
  }
  checkedVersion(what, agreed.version, options.upgrades)
  return {
    ...agreed,
    isContract: false,
    upgrades: options.upgrades ?? {},
    effects: effectsByName(what, options.effects),
    reuse: checkedReuse(options, what),
    classify: options.classify ?? null,
    run: options.run as unknown as JobDefinition['run'],
  } as JobDefinition<Name, GivenTo<S>, ResultOf<O, Awaited<R>>>
}
