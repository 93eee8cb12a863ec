/**
 * What can be wrong in a database, and what would put it right.
 */
import type { Row } from '../connection.ts'

/** Something that is wrong, and where. */
export interface DatabaseProblem {
  readonly what: string
  /**
   * `events`, `baselines`, `work`, `queues`, `schedules`, `limits`, `looks` or `meta`; on SQLite also
   * `indexes`, or `file` for what is about none of our tables and indexes alone.
   */
  readonly table: string
  /** A job, `job/stage/segment`, a queue, a schedule, the key of a limit, an index; null: all of it. */
  readonly row: string | null
  /** Where the event stands that is meant; null: it is about none. */
  readonly position: number | null
}

/** A row that follows from the events, written anew or taken away. */
export type Fix =
  | {
      readonly table: 'work'
      readonly address: readonly [job: string, stage: number, segment: number]
      /** All of its columns; null: it is taken away. */
      readonly row: Row | null
    }
  | {
      readonly table: 'queues' | 'schedules'
      readonly name: string
      /** As `saveQueues` and `saveSchedules` want it; null: it is taken away. */
      readonly row: Row | null
    }
  | {
      readonly table: 'limits'
      readonly key: string
      readonly held: number
      readonly fullAt: number
      readonly isThere: boolean
    }
  | { readonly table: 'looks'; readonly job: string }
  | { readonly table: 'meta'; readonly position: number }

/** Of a row of `work`, for people. */
export function rowName(job: string, stage: number, segment: number): string {
  return stage < 0 ? job : `${job}/${stage}/${segment}`
}
