/**
 * How often, and when, a failure is tried again, as people write it.
 *
 * It becomes data that goes into the log with the job, so that the authority computes every
 * delay itself and a replay computes the same one.
 */
import type { RetryPolicy } from '../kernel/index.ts'
import { DEFAULT_RETRY, invalidRetry } from '../kernel/index.ts'
import type { Duration } from './duration.ts'
import { toMs } from './duration.ts'
import { InvalidDefinition } from './errors.ts'

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

/** Refused where it is written, not at the first failure. */
export function checkedRetry(options: RetryOptions | undefined, whose: string): RetryPolicy {
  const policy = retryPolicy(options, `the retry of ${whose}`)
  const wrong = invalidRetry(policy)
  if (wrong !== null) throw new InvalidDefinition(`The retry of ${whose} must be ${wrong}.`)
  return policy
}

export function retryPolicy(options: RetryOptions | undefined, what: string): RetryPolicy {
  if (options === undefined) return DEFAULT_RETRY
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
