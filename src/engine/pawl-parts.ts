/**
 * What an engine is made of, and what it tells its owner unasked.
 */
import type { ArtifactPlace, Duration, SubmitDefaults } from '../definition/index.ts'
import type { Timing } from '../store/clock.ts'
import type { Store, StoreNotice } from '../store/index.ts'
import type { NewerJob } from '../worker/index.ts'
import type { BackUpStore } from './artifacts/backup.ts'
import type { JobInfo } from './client/job-info.ts'
import type { MaxWaiting } from './client/waiting-bounds.ts'
import type { StalledInfo, Unserved } from './inspect/health.ts'
import type { RefusedCommand } from './refusals.ts'

/** What an engine tells its owner unasked: the store's notices, and its own. */
export type Notice =
  | StoreNotice
  /** A worker keeps a lease alive while the handler says nothing. */
  | ({ readonly kind: 'stalled' } & StalledInfo)
  /** A worker released a job, because its definition is older than the one that recorded the job. */
  | ({ readonly kind: 'newer-version' } & NewerJob)
  /** Jobs have waited for long that no worker takes. */
  | ({ readonly kind: 'unserved' } & Unserved)
  /** A command was refused. Only with `noticeRefusals`. */
  | ({ readonly kind: 'refused' } & RefusedCommand)

export interface PawlParts {
  readonly store: Store
  readonly timing: Timing
  /** The authority's time, as well as it is known here. Default: that of `timing`. */
  readonly now?: () => number
  /** The timers of upkeep, if not `timing`: tests call `upkeep` themselves. */
  readonly upkeepTiming?: Timing
  /** Those of presence, if not those of upkeep: a client of a server has no upkeep, and says what it does. */
  readonly presenceTiming?: Timing
  /** Told of errors that no caller waits for. */
  readonly onError: (error: Error) => void
  readonly onNotice?: ((notice: Notice) => void) | undefined
  /** Whether a refused command is a notice. Default: no. */
  readonly noticeRefusals?: boolean | undefined
  /** How long jobs may wait that no worker takes, before a notice. */
  readonly unservedAfter?: Duration | undefined
  /** For what the definitions of jobs do not say. Default: none. */
  readonly defaults?: SubmitDefaults | undefined
  /** How many jobs may wait in a queue before clients' submits are refused. Default: any number. */
  readonly maxWaiting?: MaxWaiting | undefined
  /** Null: an engine in memory has nothing to back up. */
  readonly backup: BackUpStore | null
  /** Given jobs before they are forgotten. */
  readonly onForget?: ((jobs: readonly JobInfo[]) => Promise<void> | void) | undefined
  readonly onClose: () => void
  /** Default: in memory. */
  readonly artifacts?: ArtifactPlace
  /** Of the workers; for tests, which want the same one every time. */
  readonly nameWorker?: (called?: string) => string
}
