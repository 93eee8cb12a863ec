/**
 * Functions of the user's around each run of a handler or an effect: to trace it, to measure it, to refuse it.
 */
import type { Failure } from '../kernel/index.ts'

/** What is about to run. */
export interface HandlerRun {
  readonly job: { readonly id: string; readonly type: string }
  /** The name of the stage; null: a plain job. */
  readonly stage: string | null
  /** The name of the effect; null: the handler itself. */
  readonly effect: string | null
  /** From 1; null: an effect, which may run again in a later one. */
  readonly attempt: number | null
  /** As its submit gave it; undefined: it gave none. */
  readonly metadata: unknown
  readonly signal: AbortSignal
}

/** How it ended. A lease that is lost, or an answer that never comes, shows only later. */
export interface HandlerRunEnd {
  readonly isDone: boolean
  /** It waits for something, and runs again from the top when the wait is over. */
  readonly isSuspended: boolean
  /** It asked to be tried again later, and that costs no retry: no failure, though there is an error. Never of an effect. */
  readonly isSnoozed: boolean
  /** Why not. */
  readonly error: Failure | null
}

/**
 * `next` runs the handler, once, and never throws. What this throws BEFORE it called `next` fails the attempt; later,
 * `onError` gets it.
 */
export type Middleware = (run: HandlerRun, next: () => Promise<HandlerRunEnd>) => unknown
