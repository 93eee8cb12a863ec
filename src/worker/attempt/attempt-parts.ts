/**
 * What an attempt at a task needs of the worker that makes it.
 */
import type { ArtifactPlace } from '../../definition/index.ts'
import type { Store } from '../../store/index.ts'
import type { Attempt } from './attempt.ts'
import type { Timing } from '../clock.ts'
import type { CommandBatcher } from '../../store/command-batcher.ts'
import type { Executor } from '../handler/executor.ts'
import type { LeaseKeeper } from './lease-keeper.ts'
import type { WorkerEvents } from '../worker-events.ts'
import type { SharedValues } from '../handler/shared-values.ts'

export interface AttemptParts {
  readonly store: Store
  readonly batcher: CommandBatcher
  readonly keeper: LeaseKeeper
  readonly timing: Timing
  readonly executor: Executor
  /** What segments that run in this thread have in common. */
  readonly shared: SharedValues
  readonly artifacts: ArtifactPlace
  readonly workerEvents: WorkerEvents
  /** Called when a task of a pipeline was reported on: another stage may be due. */
  readonly onStageReport: () => void
  /** Called once an attempt, when the handler is through: the next one may run while this one reports. */
  readonly onHandled: () => void
  /** Called once an attempt, last of all. */
  readonly onOver: (attempt: Attempt) => void
  /** Told of errors that nobody waits for. */
  readonly onError: (error: Error) => void
}
