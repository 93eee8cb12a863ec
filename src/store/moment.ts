/**
 * A moment of the past, and how far back one can go.
 */
import { PawlError } from '../kernel/index.ts'

/** Up to and with the entry at a position, or all that happened up to and at a time. */
export type Moment = { readonly position: number } | { readonly time: number }

/** The first moment whose state is still known. */
export interface OldestMoment {
  readonly position: number
  readonly time: number
}

/** What is asked for was before the history that is kept. */
export class BeforeHistory extends PawlError {
  constructor(moment: Moment, oldest: OldestMoment) {
    const asked = 'time' in moment ? `time ${moment.time}` : `position ${moment.position}`
    super(
      'BeforeHistory',
      'rejected',
      `The history before ${asked} was removed: the oldest state that can be asked for is that of position ${oldest.position}, time ${oldest.time}.`,
      { ...moment, oldestPosition: oldest.position, oldestTime: oldest.time },
    )
  }
}

/** Null: the history goes back to the beginning. */
export function assertKept(moment: Moment, oldest: OldestMoment | null): void {
  if (oldest === null) return
  const isBefore = 'time' in moment ? moment.time < oldest.time : moment.position < oldest.position
  if (isBefore) throw new BeforeHistory(moment, oldest)
}
