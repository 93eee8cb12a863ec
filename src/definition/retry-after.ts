/**
 * The error that says when to try again: thrown by a handler, a step or an effect, or returned by
 * `classify` for an error of a library that knows nothing of Pawl.
 */
import type { Duration } from './duration.ts'
import { retryDelayMs } from './duration.ts'
import { InvalidDefinition } from './errors.ts'

interface RetryAfterOptions {
  /**
   * It costs no retry: a snooze. Default false. A task has 1,000 of them in all; after that each costs a
   * retry like any failure. For what is not the job's fault: a rate limit, a maintenance window. Effects
   * have no snoozes: there, it costs a retry of the effect all the same.
   */
  readonly free?: boolean
  /** Default: `Try again after …`. */
  readonly message?: string
  /** What programs look at: it becomes the `code` of the task's failure. Default 'RetryAfter'. */
  readonly code?: string
  readonly cause?: unknown
}

/**
 * The next attempt begins after `delay`, whatever the retry policy says, 30 days at most: a `Retry-After`
 * in seconds is `${seconds}s`. Unless it is `free` it costs a retry, and without one left the job is given
 * up as after any failure.
 */
export class RetryAfter extends Error {
  readonly delayMs: number
  readonly free: boolean
  readonly code: string

  constructor(delay: Duration, options: RetryAfterOptions = {}) {
    const { free = false, message, code = 'RetryAfter' } = options
    const delayMs = retryDelayMs(delay, 'The delay of a RetryAfter')
    if (typeof free !== 'boolean') {
      throw new InvalidDefinition(`\`free\` of a RetryAfter is true or false, not ${String(free)}.`)
    }
    const text = typeof delay === 'number' ? `${delay} ms` : delay
    super(
      message ?? `Try again after ${text}.`,
      'cause' in options ? { cause: options.cause } : undefined,
    )
    this.name = 'RetryAfter'
    this.delayMs = delayMs
    this.free = free
    this.code = code
  }
}
