/**
 * Jobs as a developer defines them: a name, what goes in, how it is run, and how failures are
 * treated. Types flow from the schema into the handler, and from there to `handle.result()`.
 *
 * A definition is a value. It does nothing by itself: a client submits by it, a worker runs it.
 */
import type { TaskPolicy } from '../kernel/index.ts'
import type { ByInput, ByInputOptions } from './by-input.ts'
import { byInputOf, withoutFunctions } from './by-input.ts'
import type { ChildCall } from './commit.ts'
import type { Duration } from './duration.ts'
import type { AnyEffect } from './effect-definition.ts'
import { assertName, InvalidDefinition } from './errors.ts'
import type { ChildOptions, Upgrades } from './job-spec.ts'
import { checkedVersion, CHILD_NAMES } from './job-spec.ts'
import { KnownOptions } from './known-options.ts'
import type { AnyMessage } from './message-definition.ts'
import { messagesByName } from './message-definition.ts'
import type { AnyPipeline } from './pipeline-definition.ts'
import type { Policy, SaidPolicy } from './policy.ts'
import { deadlineMsOf, POLICY_NAMES, saidIn, stalledRule, taskPolicy } from './policy.ts'
import type {
  BatchHandler,
  Classify,
  ResultOf,
  Returned,
  RunContext,
  Runnable,
} from './runnable.ts'
import { checkedReuse, effectsByName } from './runnable.ts'
import type { GivenTo, MaybeSchema, ValueOf } from './standard-schema.ts'
import { assertSchema } from './standard-schema.ts'

export interface JobOptions<
  S extends MaybeSchema,
  O extends MaybeSchema,
  E extends readonly AnyEffect[],
  R,
  M extends readonly AnyMessage[] = readonly AnyMessage[],
>
  extends Omit<Policy, 'limits'>, ByInputOptions<GivenTo<S>> {
  /** Any Standard Schema. Without one the job takes no input. */
  readonly input?: S
  /** Any Standard Schema for what the handler returns. */
  readonly output?: O
  /** The effects that its commits may promise. */
  readonly effects?: E
  /** The messages that can be sent to it, and that its handler may wait for. */
  readonly messages?: M
  /**
   * How long after its submit a job may take, all attempts together: one that is not committed by then
   * fails. Default: for ever. A submit may say otherwise.
   */
  readonly deadline?: Duration
  /** Raised when the input's shape changes. Default 1. */
  readonly version?: number
  /** From version n to n + 1, for inputs that were submitted under an older one. */
  readonly upgrades?: Upgrades
  /** Which errors are worth another attempt, and when; undefined leaves it to the default. */
  readonly classify?: Classify
  /**
   * `'valid'`: the output is the one artifact that the handler writes, alone. If an earlier attempt wrote it
   * and it is whole and unchanged, it is committed and the handler is not run again. Such a handler writes
   * one artifact, as the last thing that it does, returns its reference, and promises no effects and no
   * children. Default: the handler runs, and may ask `artifact(name).reuse()` itself.
   */
  readonly reuse?: 'valid'
  readonly run: (context: RunContext<ValueOf<S>, E, M, GivenTo<S>>) => R | Promise<R>
}

export interface JobDefinition<
  Name extends string = string,
  Given = never,
  Result = unknown,
> extends Runnable {
  readonly name: Name
  readonly stage: null
  readonly policy: TaskPolicy
  /** From the submit; null: for ever. */
  readonly deadlineMs: number | null
  readonly said: SaidPolicy
  readonly byInput: ByInput | null
  /** It has no handler: only submits go by it. */
  readonly isContract: boolean
  /** Only for the compiler: what may be submitted, and what results. */
  readonly types?: { readonly given: Given; readonly result: Result }
}

/** Whatever its types. */
// oxlint-disable-next-line typescript/no-explicit-any -- inputs differ, and are checked where they are given
export type AnyJob = JobDefinition<string, any, any> | AnyPipeline
export type GivenOf<J extends AnyJob> = NonNullable<J['types']>['given']
export type OutcomeOf<J extends AnyJob> = NonNullable<J['types']>['result']

/** A job without an input is submitted without one. */
export type SubmitArguments<J extends AnyJob, Options> =
  GivenOf<J> extends undefined
    ? [input?: undefined, options?: Options]
    : [input: GivenOf<J>, options?: Options]

/** One job of `submitMany`. */
export type SubmitItem<J extends AnyJob, Options> =
  GivenOf<J> extends undefined
    ? { readonly input?: undefined; readonly options?: Options }
    : { readonly input: GivenOf<J>; readonly options?: Options }

/** Everything but how it is run. */
type JobTerms<S extends MaybeSchema, O extends MaybeSchema, E extends readonly AnyEffect[]> = Omit<
  JobOptions<S, O, E, unknown>,
  'run'
>

/** Whatever their types. */
type TermsOfAny = Omit<
  JobTerms<MaybeSchema, MaybeSchema, readonly AnyEffect[]>,
  keyof ByInputOptions<never>
> &
  ByInputOptions<never>

export const termNames = {
  ...POLICY_NAMES,
  group: true,
  input: true,
  output: true,
  effects: true,
  messages: true,
  deadline: true,
  version: true,
  upgrades: true,
  classify: true,
  reuse: true,
  run: true,
} as const
const JOB_OPTIONS = new KnownOptions<JobOptions<MaybeSchema, MaybeSchema, [], unknown>>(termNames)
const BATCH_OPTIONS = new KnownOptions<
  BatchOptions<MaybeSchema, MaybeSchema, [], unknown> & {
    readonly reuse?: unknown
    readonly messages?: unknown
  }
>({ ...termNames, max: true })
const A_HANDLER = `{ run: ({ input }) => … }`

export function job<
  const Name extends string,
  S extends MaybeSchema = undefined,
  O extends MaybeSchema = undefined,
  const E extends readonly AnyEffect[] = readonly [],
  R extends Returned<O> = Returned<O>,
  const M extends readonly AnyMessage[] = readonly [],
>(
  name: Name,
  options: JobOptions<S, O, E, R, M>,
): JobDefinition<Name, GivenTo<S>, ResultOf<O, Awaited<R>>> {
  JOB_OPTIONS.assert(options, `job '${name}'`, `job('${name}', ${A_HANDLER})`)
  if (typeof options.run !== 'function') {
    throw new InvalidDefinition(`Job '${name}' has no handler: give it a function \`run\`.`)
  }
  return { ...termsOf(name, options), run: options.run as JobDefinition['run'], batch: null }
}

export function termsOf<Name extends string>(
  name: Name,
  options: TermsOfAny,
): Omit<JobDefinition<Name>, 'run' | 'batch' | 'types'> {
  assertName(name, 'A job')
  const what = `job '${name}'`
  assertSchema(options.input, 'input', what)
  assertSchema(options.output, 'output', what)
  return {
    name,
    stage: null,
    version: checkedVersion(what, options.version, options.upgrades),
    input: options.input,
    output: options.output,
    policy: taskPolicy(withoutFunctions(options), what),
    byInput: byInputOf(options, what),
    isContract: false,
    deadlineMs: deadlineMsOf(options.deadline, what),
    said: saidIn(options),
    stalled: stalledRule(options.stalled, what),
    effects: effectsByName(what, options.effects),
    messages: messagesByName(what, options.messages),
    reuse: checkedReuse(options, what),
    upgrades: options.upgrades ?? {},
    classify: options.classify ?? null,
  }
}

export function isPipeline(definition: AnyJob): definition is AnyPipeline {
  return 'stages' in definition
}

/** What a definition has for a task: the job itself, or one stage of a pipeline (null: it has none). */
export function runnableFor(definition: AnyJob, stage: string | null): Runnable | null {
  if (!isPipeline(definition)) return stage === null ? definition : null
  return definition.stages.find((one) => one.stage === stage) ?? null
}

const CHILD_OPTIONS = new KnownOptions<ChildOptions>(CHILD_NAMES)

/** Promises a child, for `commit`. */
export function child<J extends AnyJob>(
  definition: J,
  ...[input, options]: SubmitArguments<J, ChildOptions>
): ChildCall {
  if (options !== undefined) {
    CHILD_OPTIONS.assert(
      options,
      `child '${definition.name}'`,
      `child(${definition.name}, input, { key: '…' })`,
    )
  }
  return { definition, input, options: options ?? {} }
}

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
> = Omit<JobTerms<S, O, E>, 'reuse' | 'messages'> & {
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
  BATCH_OPTIONS.assert(
    options,
    `batch job '${name}'`,
    `batchJob('${name}', { max: 10, run: (items) => … })`,
  )
  const { max, run } = options
  if (typeof run !== 'function') {
    throw new InvalidDefinition(`Batch job '${name}' has no handler: give it a function \`run\`.`)
  }
  if ('reuse' in options) {
    throw new InvalidDefinition(
      `Batch job '${name}' takes no \`reuse\`: its items are run together. Ask artifact(name).reuse() for each.`,
    )
  }
  if ('messages' in options) {
    throw new InvalidDefinition(
      `Batch job '${name}' takes no \`messages\`: its items run together, and cannot wait. Define it with job('${name}', …).`,
    )
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
