/**
 * How a task is run, as people write it: queue, lease, timeout, retries, limits, and when silence
 * counts as stalled.
 *
 * All but `stalled` becomes data that goes into the log with the job, so that the authority
 * computes every delay itself and a replay computes the same one. What makes no sense is refused
 * where it is written, and not at the first submit or failure.
 */
import type { LimitSpec, RetryPolicy, TaskPolicy } from '../kernel/index.ts'
import {
  DEFAULT_RETRY,
  freezePolicy,
  invalidPolicy,
  invalidRetry,
  LIMITS,
} from '../kernel/index.ts'
import type { Duration } from './duration.ts'
import { retryDelayMs, toMs } from './duration.ts'
import { InvalidDefinition } from './errors.ts'
import type { OptionNames } from './known-options.ts'
import { KnownOptions, shown } from './known-options.ts'

/** A bound that jobs with the same key share. */
export interface LimitOptions {
  readonly key: string
  /** How many run at once. */
  readonly concurrency?: number
  /** How many may start in a period. */
  readonly rate?: { readonly count: number; readonly per: Duration }
}

export interface RetryOptions {
  /** How many failures are given another attempt. Default 3; 0: none. */
  readonly max?: number
  /**
   * `'fixed'` (default): always `delay`. `'exponential'`: `delay`, doubled each time, up to
   * `cap`. A list: the delay after each failure, the last one repeats.
   */
  readonly backoff?: 'fixed' | 'exponential' | readonly Duration[]
  /** Default 1 s. */
  readonly delay?: Duration
  /** Exponential: no delay is longer. Default 1 h. */
  readonly cap?: Duration
  /**
   * The share of a delay that is varied, so that tasks which failed together come back apart:
   * 0 none, 1 anything up to the whole delay. Default 0, for exponential 0.5.
   */
  readonly jitter?: number
}

const RETRY_OPTIONS = new KnownOptions<RetryOptions>({
  max: true,
  backoff: true,
  delay: true,
  cap: true,
  jitter: true,
})

export function checkedRetry(options: RetryOptions | undefined, whose: string): RetryPolicy {
  const policy = retryPolicy(options, `the retry of ${whose}`)
  const wrong = invalidRetry(policy)
  if (wrong !== null) throw new InvalidDefinition(`The retry of ${whose} must be ${wrong}.`)
  return policy
}

export function retryPolicy(options: RetryOptions | undefined, what: string): RetryPolicy {
  if (options === undefined) return DEFAULT_RETRY
  const given: unknown = options
  RETRY_OPTIONS.assert(given, what, `retry: { max: ${typeof given === 'number' ? given : 5} }`)
  const { backoff = 'fixed', max, delay, cap, jitter } = options
  const delaysMs =
    typeof backoff === 'string' ? [] : backoff.map((one) => toMs(one, `A delay of ${what}`))
  return {
    max: max ?? (delaysMs.length > 0 ? delaysMs.length : DEFAULT_RETRY.max),
    backoff: typeof backoff === 'string' ? backoff : 'list',
    delayMs: delay === undefined ? DEFAULT_RETRY.delayMs : toMs(delay, `The delay of ${what}`),
    capMs: cap === undefined ? DEFAULT_RETRY.capMs : toMs(cap, `The cap of ${what}`),
    delaysMs,
    jitter: jitter ?? (backoff === 'exponential' ? 0.5 : 0),
  }
}

const DEFAULT_STALLED_MS = 600_000
const STALLED_OPTIONS = new KnownOptions<StalledOptions>({
  after: true,
  recover: true,
  delay: true,
})

/** The worker lives, and its handler says nothing: no progress, no line, no step, no effect. */
export interface StalledOptions {
  /** How long a handler may say nothing. Default 10 minutes. */
  readonly after?: Duration
  /**
   * The worker gives up the lease, and the job is tried again, which costs a retry. Default false:
   * the engine notifies, and the handler goes on.
   */
  readonly recover?: boolean
  /** With `recover`: how long the job waits before it is tried again, 30 days at most. Default 0: at once. */
  readonly delay?: Duration
}

export interface StalledRule {
  readonly afterMs: number
  readonly recover: boolean
  /** Null: it is due at once, in its old place. */
  readonly delayMs: number | null
}

export function stalledRule(options: StalledOptions | undefined, what: string): StalledRule {
  if (options !== undefined) {
    STALLED_OPTIONS.assert(options, `\`stalled\` of ${what}`, `stalled: { after: '5m' }`)
  }
  const { after, recover = false, delay } = options ?? {}
  const afterMs =
    after === undefined ? DEFAULT_STALLED_MS : toMs(after, `\`stalled.after\` of ${what}`)
  if (afterMs <= 0) {
    throw new InvalidDefinition(`\`stalled.after\` of ${what} must be more than 0.`)
  }
  if (delay !== undefined && !recover) {
    throw new InvalidDefinition(
      `\`stalled.delay\` of ${what} says when a stalled job is tried again, and it is not: say \`recover: true\`, too.`,
    )
  }
  const delayMs = delay === undefined ? null : retryDelayMs(delay, `\`stalled.delay\` of ${what}`)
  return { afterMs, recover, delayMs }
}

/** Of a definition; null: it has none. */
export function deadlineMsOf(deadline: Duration | undefined, what: string): number | null {
  if (deadline === undefined) return null
  const ms = toMs(deadline, `The deadline of ${what}`)
  if (ms > 0 && ms <= LIMITS.delayMs) return ms
  throw new InvalidDefinition(
    `The deadline of ${what} must be more than 0 and at most ten years, not ${String(deadline)}.`,
  )
}

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

export const POLICY_NAMES: OptionNames<Policy> = {
  queue: true,
  lease: true,
  timeout: true,
  retry: true,
  quarantine: true,
  limits: true,
  stalled: true,
}

/** Which options of the policy a definition says itself: the others may come from the engine that submits. */
export type SaidPolicy = ReadonlySet<'lease' | 'timeout' | 'retry' | 'quarantine'>

const DEFAULTED = ['lease', 'timeout', 'retry', 'quarantine'] as const

export function saidIn(options: Omit<Policy, 'limits'>): SaidPolicy {
  return new Set(DEFAULTED.filter((name) => options[name] !== undefined))
}

/**
 * Policies of jobs and stages whose definitions say nothing of them. They go into the log with each job when it
 * is submitted, so that workers with other defaults change nothing. A queue is not among them, because
 * workers find theirs by the definition; nor is what the worker does by itself (`stalled`), nor the retries of
 * effects, which have a budget of their own.
 */
export interface PolicyDefaults extends Pick<Policy, 'lease' | 'timeout' | 'retry' | 'quarantine'> {
  /** How long a job stays readable once it is over. Default: as its store keeps jobs of its type. */
  readonly retention?: Duration
}

/** As a submit uses them: only what was said. */
export interface SubmitDefaults {
  readonly policy: Partial<TaskPolicy>
  readonly retainMs: number | null
}

export const NO_DEFAULTS: SubmitDefaults = { policy: {}, retainMs: null }

export function checkedDefaults(options: PolicyDefaults | undefined): SubmitDefaults {
  if (options === undefined) return NO_DEFAULTS
  if (typeof options !== 'object' || options === null) {
    throw new InvalidDefinition(`\`defaults\` is an object, not ${String(options)}.`)
  }
  const known: readonly string[] = [...DEFAULTED, 'retention']
  for (const name of Object.keys(options)) {
    if (known.includes(name)) continue
    throw new InvalidDefinition(
      `There are no \`defaults\` for '${name}': there are for ${known.map((one) => `'${one}'`).join(', ')}. Say it in each definition.`,
      { name },
    )
  }
  const what = 'the defaults'
  const { leaseMs, timeoutMs, retry, quarantine } = taskPolicy(options, what)
  const said = saidIn(options)
  return {
    policy: {
      ...(said.has('lease') ? { leaseMs } : {}),
      ...(said.has('timeout') ? { timeoutMs } : {}),
      ...(said.has('retry') ? { retry } : {}),
      ...(said.has('quarantine') ? { quarantine } : {}),
    },
    retainMs:
      options.retention === undefined ? null : toMs(options.retention, `The retention of ${what}`),
  }
}

/** Policies of definitions with these defaults: all jobs of a definition share one. */
const merged = new WeakMap<SubmitDefaults, WeakMap<TaskPolicy, TaskPolicy>>()

/** What a definition says comes first. */
export function withDefaults(
  policy: TaskPolicy,
  said: SaidPolicy,
  defaults: SubmitDefaults,
): TaskPolicy {
  let known = merged.get(defaults)
  if (known === undefined) merged.set(defaults, (known = new WeakMap()))
  const before = known.get(policy)
  if (before !== undefined) return before
  const made = merge(policy, said, defaults.policy)
  known.set(policy, made)
  return made
}

function merge(
  policy: TaskPolicy,
  said: SaidPolicy,
  { leaseMs, timeoutMs, retry, quarantine }: Partial<TaskPolicy>,
): TaskPolicy {
  return freezePolicy<TaskPolicy>({
    ...policy,
    ...(leaseMs === undefined || said.has('lease') ? {} : { leaseMs }),
    ...(timeoutMs === undefined || said.has('timeout') ? {} : { timeoutMs }),
    ...(retry === undefined || said.has('retry') ? {} : { retry }),
    ...(quarantine === undefined || said.has('quarantine') ? {} : { quarantine }),
  })
}

const DEFAULT_LEASE_MS = 30_000

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
  return freezePolicy(policy)
}

const LIMIT_OPTIONS = new KnownOptions<LimitOptions>({ key: true, concurrency: true, rate: true })
const RATE_OPTIONS = new KnownOptions<Required<LimitOptions>['rate']>({ count: true, per: true })
const A_LIMIT = `limits: [{ key: 'mail', concurrency: 5 }]`

export function limitSpecs(
  limits: readonly LimitOptions[] | undefined,
  what: string,
): readonly LimitSpec[] {
  if (limits !== undefined && !Array.isArray(limits)) {
    throw new InvalidDefinition(
      `\`limits\` of ${what} is a list, not ${shown(limits)}. Write ${A_LIMIT}.`,
    )
  }
  for (const limit of limits ?? []) {
    LIMIT_OPTIONS.assert(limit, `a limit of ${what}`, A_LIMIT)
    const { key, concurrency, rate } = limit
    if (rate !== undefined) {
      const example = `rate: { count: 100, per: '1m' }`
      RATE_OPTIONS.assert(rate, `the rate of a limit of ${what}`, example)
    }
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
