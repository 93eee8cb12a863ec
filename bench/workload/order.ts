/**
 * What the process of a step is told, and how it answers.
 */
import type { Place } from './queue.ts'
import type { StepName, StepSize } from './steps.ts'

export interface StepOrder {
  readonly step: StepName
  /** The address of the adapter's file. */
  readonly adapter: string
  readonly place: Place
  readonly size: StepSize
  /** Counts bytes, syncs and round trips: of Pawl alone, since a peer may write in other ways. */
  readonly counts: boolean
  /** Of the server whose time on a core counts. */
  readonly serverPid?: number | undefined
}

/** The line of the answer begins with it, and JSON follows. */
export const RESULT = 'RESULT '
