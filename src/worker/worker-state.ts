/**
 * What a worker says of itself. It is only shown: nothing depends on it.
 */
import type { TaskAddress } from '../kernel/index.ts'
import type { ChannelName } from '../store/index.ts'

/** A channel that a worker claims from, and the version of the definition that it has. */
export interface ServedChannel extends ChannelName {
  readonly version: number
}

/** A person asked a worker to take nothing more. */
export interface DrainRequest {
  /** The authority's time. */
  readonly at: number
  readonly by: string
  readonly reason: string
}

export interface WorkerState {
  /** Never used before: what its leases name. */
  readonly id: string
  /** What its options call it; null: nothing. */
  readonly name: string | null
  readonly serves: readonly ServedChannel[]
  /** Places for handlers that are taken, and those that are free. */
  readonly used: number
  readonly free: number
  /** It claims nothing more, and waits for its handlers. */
  readonly isDraining: boolean
  /** Who asked that it takes nothing more, and why; null: nobody did. */
  readonly drained: DrainRequest | null
  /** How many leases it holds: handlers that run, reports on their way, and what was claimed ahead. */
  readonly held: number
  /** The first 20 of their tasks. */
  readonly holds: readonly TaskAddress[]
}
