/**
 * What an engine has to tell its owner and nobody asked for: the store's notices, and its own.
 */
import type { StoreNotice } from '../store/index.ts'
import type { NewerJob, StalledTask } from '../worker/index.ts'
import type { Unserved } from './inspect/health.ts'

export type Notice =
  | StoreNotice
  /** A lease is kept alive while nothing is heard of the work. */
  | ({ readonly kind: 'stalled' } & StalledTask)
  /** A worker gave a job back, because its definition is older than the one that recorded the job. */
  | ({ readonly kind: 'newer-version' } & NewerJob)
  /** Jobs wait, and have been for long, that no worker of this process takes. */
  | ({ readonly kind: 'unserved' } & Unserved)
