/**
 * Jobs as a developer defines them: a name, what goes in, how it is run, and how failures are
 * treated. Types flow from the schema into the handler, and from there to `handle.result()`.
 *
 * A definition is a value. It does nothing by itself: a client submits by it, a worker runs it.
 */
import type { LimitSpec, TaskPolicy } from '../kernel/index.ts'
import { invalidPolicy } from '../kernel/index.ts'
import type { ArtifactDraft, ArtifactRef, StoredArtifact } from './artifact.ts'
import type { HandlerCommit, ChildCall } from './commit.ts'
import type { Duration } from './duration.ts'
import { toMs } from './duration.ts'
import type { AnyEffect, EffectCall } from './effect-definition.ts'
import { InvalidDefinition } from './errors.ts'
import { assertName } from './names.ts'
import type { AnyPipeline } from './pipeline-definition.ts'
import type { RetryOptions } from './retry-options.ts'
import { retryPolicy } from './retry-options.ts'
import type { Runnable, Upgrades } from './runnable.ts'
import { checkedVersion, effectsByName } from './runnable.ts'
import type { StalledOptions } from './stalled.ts'
import { stalledRule } from './stalled.ts'
import type { GivenTo, MaybeSchema, StandardSchema, ValueOf } from './standard-schema.ts'

/** A bound that jobs with the same key share. */
export interface LimitOptions {
  readonly key: string
  /** How many run at once. */
  readonly concurrency?: number
  /** How many may start in a period. */
  readonly rate?: { readonly count: number; readonly per: Duration }
}

export interface JobDetails {
  readonly id: string
  readonly type: string
  /** From 1; counts every time the job was handed to a worker. */
  readonly attempt: number
  /** The number of the lease: a fencing token that only grows. */
  readonly lease: number
  readonly queue: string
  readonly priority: number
  /** The schedule that it came from, and the time that it stands for; else null. */
  readonly schedule: { readonly id: string; readonly time: Date } | null
}

/** What a handler is given. Its functions need no `this`: handlers take them apart. */
export interface RunContext<Value, Effects extends readonly AnyEffect[]> {
  readonly input: Value
  readonly job: JobDetails
  /** Aborted with an `Aborted` as its reason: lease lost, cancelled, timed out or shutdown. */
  readonly signal: AbortSignal
  /**
   * Runs `work` and records what it gives, durably; a later attempt gets the record and does
   * not run it. It saves work, and is no place for effects: it may run more than once.
   */
  step<T>(this: void, name: string, work: () => T | Promise<T>): Promise<T>
  /** How far it got, for whoever looks: a share from 0 to 1, or any JSON value. Not durable. */
  progress(this: void, value: unknown): void
  /** A line for whoever looks. Not durable. */
  log(this: void, line: string): void
  /** A file to write, or to take over from an earlier attempt. Its reference is to be returned. */
  artifact(this: void, name: string): ArtifactDraft
  /** A file that somebody wrote, checked before a byte of it is used. */
  openArtifact(this: void, ref: ArtifactRef): Promise<StoredArtifact>
  /** The boundary, to be returned: output, effects and children become durable as one. */
  commit<Output>(
    this: void,
    output: Output,
    effects?: readonly EffectCall<Effects[number]['effectName']>[],
    children?: readonly ChildCall[],
  ): HandlerCommit<Output>
}

/** What a handler may return. */
export type Returned<O extends MaybeSchema> = O extends StandardSchema
  ? GivenTo<O> | HandlerCommit<GivenTo<O>>
  : unknown

type OutputIn<R> = StoredInput<R extends HandlerCommit<infer Output> ? Output : R>

/** Nothing is stored as null. */
type StoredInput<Output> = Output extends undefined | void ? null : Output

/** What `handle.result()` gives. */
export type ResultOf<O extends MaybeSchema, R> = O extends StandardSchema ? ValueOf<O> : OutputIn<R>

export interface Policy {
  /** Default `'default'`. */
  readonly queue?: string
  /** How long a worker may be silent before the job goes to another. Default 30 s. */
  readonly lease?: Duration
  /** Longest run of one attempt. Default: no bound. */
  readonly timeout?: Duration
  /** Default: 3 times, a second apart. */
  readonly retry?: RetryOptions
  /**
   * Where a job goes that used up its retries: `'always'` (default) waits for a person in
   * quarantine, `'never'` fails.
   */
  readonly quarantine?: 'always' | 'never'
  readonly limits?: readonly LimitOptions[]
  /** When silence counts as stalled, and what is done then. Default: flagged after 10 minutes. */
  readonly stalled?: StalledOptions
}

export interface JobOptions<
  S extends MaybeSchema,
  O extends MaybeSchema,
  E extends readonly AnyEffect[],
  R,
> extends Policy {
  /** Any Standard Schema. Without one the job takes no input. */
  readonly input?: S
  /** Any Standard Schema for what the handler returns. */
  readonly output?: O
  /** The effects that its commits may promise. */
  readonly effects?: E
  /** Raised when the input's shape changes. Default 1. */
  readonly version?: number
  /** From version n to n + 1, for inputs that were submitted under an older one. */
  readonly upgrades?: Upgrades
  /** Which errors are worth another attempt; undefined leaves it to the default. */
  readonly classify?: (error: unknown) => 'terminal' | 'retryable' | undefined
  readonly run: (context: RunContext<ValueOf<S>, E>) => R | Promise<R>
}

/** How a batch is run: one context for each job, and as many answers, in the same order. */
export interface BatchHandler {
  /** Jobs of one batch, at most. */
  readonly max: number
  readonly run: (
    items: readonly RunContext<never, readonly AnyEffect[]>[],
  ) => readonly unknown[] | Promise<readonly unknown[]>
}

export interface JobDefinition<
  Name extends string = string,
  Given = never,
  Result = unknown,
> extends Runnable {
  readonly name: Name
  readonly stage: null
  readonly policy: TaskPolicy
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

/** One of many that are submitted together. */
export type SubmitItem<J extends AnyJob, Options> =
  GivenOf<J> extends undefined
    ? { readonly input?: undefined; readonly options?: Options }
    : { readonly input: GivenOf<J>; readonly options?: Options }

/** What can be said about one job when it is promised by a commit. */
export interface ChildOptions {
  /** A key that is known stands for its job: nothing is submitted twice. */
  readonly key?: string
  /** The key counts only while its job is not over. */
  readonly unique?: boolean
  /** From -1,000 to 1,000, larger first. Default 0. */
  readonly priority?: number
  readonly delay?: Duration
  /** Not before this time. */
  readonly at?: Date | number
  /** Given up if nobody took it so long after it was due. */
  readonly startWithin?: Duration
  readonly queue?: string
  /** Whose it is, such as a tenant: groups take turns, and jobs are found by it. */
  readonly group?: string
  /** In addition to those of the definition. */
  readonly limits?: readonly LimitOptions[]
  readonly tags?: readonly string[]
  /** Waits until it is released. */
  readonly hold?: boolean
  /** How long it stays readable once it is over. Default: as its store keeps jobs of its type. */
  readonly retention?: Duration
}

const DEFAULT_LEASE_MS = 30_000

/** Everything but how it is run. */
export type JobTerms<
  S extends MaybeSchema,
  O extends MaybeSchema,
  E extends readonly AnyEffect[],
> = Omit<JobOptions<S, O, E, unknown>, 'run'>

export function job<
  const Name extends string,
  S extends MaybeSchema = undefined,
  O extends MaybeSchema = undefined,
  const E extends readonly AnyEffect[] = readonly [],
  R extends Returned<O> = Returned<O>,
>(
  name: Name,
  options: JobOptions<S, O, E, R>,
): JobDefinition<Name, GivenTo<S>, ResultOf<O, Awaited<R>>> {
  if (typeof options?.run !== 'function') {
    throw new InvalidDefinition(`Job '${name}' has no handler: give it a function \`run\`.`)
  }
  return { ...termsOf(name, options), run: options.run as JobDefinition['run'], batch: null }
}

export function termsOf<Name extends string>(
  name: Name,
  options: JobTerms<MaybeSchema, MaybeSchema, readonly AnyEffect[]>,
): Omit<JobDefinition<Name>, 'run' | 'batch' | 'types'> {
  assertName(name, 'A job')
  const what = `job '${name}'`
  return {
    name,
    stage: null,
    version: checkedVersion(what, options.version, options.upgrades),
    input: options.input,
    output: options.output,
    policy: taskPolicy(options, what),
    stalled: stalledRule(options.stalled, what),
    effects: effectsByName(what, options.effects),
    upgrades: options.upgrades ?? {},
    classify: options.classify ?? null,
  }
}

export function taskPolicy(options: Policy, what: string): TaskPolicy {
  const { queue, lease, timeout, retry, quarantine, limits } = options
  const policy: TaskPolicy = {
    queue: queue ?? 'default',
    leaseMs: lease === undefined ? DEFAULT_LEASE_MS : toMs(lease, `The lease of ${what}`),
    timeoutMs: timeout === undefined ? null : toMs(timeout, `The timeout of ${what}`),
    retry: retryPolicy(retry, `the retry of ${what}`),
    quarantine: quarantine ?? 'always',
    limits: limitSpecs(limits, what),
  }
  // The authority would refuse every job of it: better now than at the first submit.
  const wrong = invalidPolicy(policy)
  if (wrong !== null) throw new InvalidDefinition(`The policy of ${what} must be ${wrong}.`)
  return policy
}

export function limitSpecs(
  limits: readonly LimitOptions[] | undefined,
  what: string,
): readonly LimitSpec[] {
  for (const { key, concurrency, rate } of limits ?? []) {
    if (concurrency !== undefined || rate !== undefined) continue
    throw new InvalidDefinition(
      `The limit '${key}' of ${what} bounds nothing: give it a concurrency or a rate.`,
    )
  }
  return (limits ?? []).map(({ key, concurrency, rate }) => ({
    key,
    concurrency: concurrency ?? null,
    rate:
      rate === undefined
        ? null
        : { count: rate.count, perMs: toMs(rate.per, `The rate of a limit of ${what}`) },
  }))
}
