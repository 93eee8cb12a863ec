/**
 * What a copy is between: the source, whatever it is kept in, and what came of it. And what a copy refuses.
 */
import { PawlError } from '../../../kernel/index.ts'
import type { Baseline, EventRow, HistoryMark } from '../../sql/rows/event-rows.ts'

/** When the buckets of rates are full, by queue and by limit. What is not named is full. */
export interface Buckets {
  readonly queues: ReadonlyMap<string, number>
  readonly limits: ReadonlyMap<string, number>
}

export interface CopySource {
  /** Roughly how many events there are, or as many of something that events have: for progress. */
  readonly total: number
  /** No event has a later position. */
  readonly end: number
  readonly buckets: Buckets
  /** How far old events were removed; null: the beginning of the history is whole, or in baselines. */
  readonly removed: HistoryMark | null
  /**
   * All events by position, page by page, each with how much of the total was read. Those of jobs
   * that begin in the middle come first.
   */
  events(): AsyncIterable<{ readonly events: readonly EventRow[]; readonly done: number }>
  /** AFTER all events were read. */
  baselines(): AsyncIterable<readonly Baseline[]>
}

/** How much is in a copy. */
export interface Copied {
  readonly events: number
  readonly jobs: number
}

/** Called now and then with how much of the work is done. */
export type CopyProgress = (done: number, total: number) => void

/** The place for the copy is not empty. */
export class NotEmpty extends PawlError {
  constructor(where: string) {
    super(
      'NotEmpty',
      'rejected',
      `There is something in ${where} already: give a copy a place of its own.`,
      { where },
    )
  }
}

/** A directory is copied by its backup. */
export class CopyByBackup extends PawlError {
  constructor(folder: string) {
    super(
      'CopyByBackup',
      'rejected',
      `${folder} is a directory, and so is the place for its copy: use its backup, which keeps all of it.`,
      { folder },
    )
  }
}

/** What was read from the store that is copied does not check. */
export class SourceDamaged extends PawlError {
  constructor(what: string) {
    super(
      'SourceDamaged',
      'corrupt',
      `The store that was to be copied is damaged: ${what}. It was not changed; verify it to see all that is wrong. The copy is not whole, and does not open.`,
    )
  }
}
