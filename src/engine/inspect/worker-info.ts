/**
 * Workers of all processes on a store, as they said of themselves. Soft: a worker that was not heard
 * lately is missing, and all are after a restart until they speak again.
 */
import type { TaskAddress } from '../../kernel/index.ts'
import type { Totals } from '../../store/index.ts'
import type { ServedChannel, StalledTask, WorkerState } from '../../worker/index.ts'

export interface WorkerInfo {
  /** What its leases name: it was never used before. */
  readonly id: string
  /** What its options call it; null: nothing. */
  readonly name: string | null
  /** Whether it is in the process that answers. */
  readonly isHere: boolean
  readonly host: string
  readonly pid: number
  /** Of Pawl. */
  readonly version: string
  readonly startedAt: Date
  /** When its process said something last; of a worker that is here, now. */
  readonly heardAt: Date
  /** Queues, types and stages that it claims from, with the versions of its definitions. */
  readonly serves: readonly ServedChannel[]
  /** Places for handlers that are taken, and those that are free. */
  readonly used: number
  readonly free: number
  /** It claims nothing more, and waits for its handlers. */
  readonly isDraining: boolean
  /** When a person asked for that, who, and why; null: no person did. */
  readonly drained: { readonly at: Date; readonly by: string; readonly reason: string } | null
  /** How many leases it holds, and the first 20 of their tasks. */
  readonly held: number
  readonly holds: readonly TaskAddress[]
}

/** What a process says of itself. */
export interface ProcessState {
  readonly host: string
  readonly pid: number
  readonly version: string
  readonly workers: readonly (WorkerState & { readonly startedAt: number })[]
  readonly stalled: readonly StalledTask[]
  /** What it wrote. Left out: nothing yet, or a server writes for it. */
  readonly totals?: Totals
}

/** `heardAt`: the authority's time. */
export function workersOf(state: ProcessState, heardAt: number, isHere: boolean): WorkerInfo[] {
  const { host, pid, version } = state
  return state.workers.map(({ startedAt, drained, ...worker }) => ({
    ...worker,
    drained: drained == null ? null : { ...drained, at: new Date(drained.at) },
    isHere,
    host,
    pid,
    version,
    startedAt: new Date(startedAt),
    heardAt: new Date(heardAt),
  }))
}

/** `stage`: null for a plain job. */
export function servesChannel(
  { serves }: Pick<WorkerInfo, 'serves'>,
  type: string,
  queue: string,
  stage: string | null,
): boolean {
  return serves.some((one) => one.type === type && one.queue === queue && one.stage === stage)
}
