/**
 * What a measurement of suspended jobs is told, and what it says.
 */

export interface WaitingOrder {
  /**
   * `suspend`: jobs that sleep for long, and what they take. `open`: a store with them. `suspended`, `plain`: jobs that
   * are due at `dueAt`, until the last of them is over.
   */
  readonly workload: 'suspend' | 'open' | 'suspended' | 'plain'
  readonly location: string
  readonly schema: string | null
  readonly jobs: number
  readonly dueAt: number | null
}

export interface WaitingReport {
  /** What the measured part took. */
  readonly ms: number
  /** Bytes of heap, once all garbage is collected. */
  readonly heapPerJob: number
}
