/**
 * From a handler that waits to the worker that holds its lease.
 */
import type { Payload, WaitsNeeded, WaitSpec } from '../../kernel/index.ts'
import type { Outcome, OutputsPage } from '../../store/index.ts'

export interface SuspendRequest {
  readonly needs: WaitsNeeded
  readonly waits: readonly WaitSpec[]
  /** Messages that came before and did not fit. */
  readonly unfit: readonly string[]
}

export interface EndWaitRequest {
  readonly wait: WaitSpec
  /** The message, or the callee, that ends it; null: its time does. */
  readonly message: string | null
  readonly unfit: readonly string[]
}

/** The wait is settled: by the message or the callee that is there, or, null, by its time. */
export interface SettledWait {
  readonly name: string
  readonly by: { readonly id: string; readonly value: Payload } | null
}

export type EndWaitAnswer =
  | { readonly kind: 'ended'; readonly value: Payload | null }
  /** By something else than what was said. */
  | ({ readonly kind: 'settled' } & SettledWait)
  /** By the store's clock its time is not over. */
  | { readonly kind: 'open' }

/** How a callee stands, as its caller needs it. */
export type CalleeOutcome = Pick<Outcome, 'error' | 'at' | 'last'>

/** Reads what came of a job that was called. */
export interface CalleePort {
  callee(job: string): Promise<CalleeOutcome>
  /** A page of the outputs of a stage, of segments after this one; `job`: of this one, and not of its own. */
  outputs(stage: number, after: number, job?: string): Promise<OutputsPage>
}

/** What `longestRestMs` is, unless a test moves the clock. */
export const LONGEST_REST_MS = 1_000

export interface WaitPort extends CalleePort {
  /**
   * Ends the attempt. Its promise never settles then; it does only if one of the waits is settled already:
   * that one is to be ended in place.
   */
  suspend(request: SuspendRequest): Promise<SettledWait>
  endWait(request: EndWaitRequest): Promise<EndWaitAnswer>
  /** Sleeps that are shorter are waited in place: suspending and being granted again would cost as much. */
  readonly longestRestMs: number
  /** Waits in place, with the lease held. It does not count towards the timeout. */
  rest(ms: number): Promise<void>
}
