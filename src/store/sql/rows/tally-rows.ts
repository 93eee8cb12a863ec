/**
 * The rows of `tallies`: what changed in the tally of a stage. The tally is the sum of all rows of the
 * stage, so a transaction that changes segments adds a row, and locks none that another one adds to.
 *
 * `to_check` says that the orchestrator must look at the pipeline. When it has, it folds the rows that
 * it read into one for each stage, so that there are never many.
 */
import type { Tally, Task } from '../../../kernel/index.ts'
import { addToTally, emptyTally } from '../../../kernel/index.ts'
import type { Row } from '../connection.ts'

/** Changes of one stage's tally, added up. */
export class TallyChange {
  readonly tally = emptyTally()
  /** Waiting tasks that were never granted. */
  neverGranted = 0

  /** Counts a task in (+1) or out (-1). */
  count(task: Task, by: 1 | -1): void {
    addToTally(this.tally, task, by)
    if (task.state === 'WAITING' && task.attempt === 0) this.neverGranted += by
  }

  /** Something changed: most entries of a task change nothing here. */
  get isOne(): boolean {
    const { tally, neverGranted } = this
    const { waiting, leased, completed, failed, dead, granted } = tally
    const { deadCommitted, committedOpen, suspended } = tally
    const counts = [waiting, leased, completed, failed, dead, granted, deadCommitted, committedOpen]
    return neverGranted !== 0 || suspended !== 0 || counts.some((count) => count !== 0)
  }

  /** A row of the statement `tallyRows`. */
  addRow(row: Row): void {
    const { tally } = this
    tally.waiting += row[4] as number
    tally.leased += row[5] as number
    tally.completed += row[6] as number
    tally.failed += row[7] as number
    tally.dead += row[8] as number
    tally.deadCommitted += row[9] as number
    tally.committedOpen += row[10] as number
    tally.granted += row[11] as number
    this.neverGranted += row[12] as number
    tally.suspended += row[13] as number
    tally.endedAt = Math.max(tally.endedAt, row[14] as number)
  }

  /** The columns of `TALLY_COLUMNS`. */
  columns(job: string, stage: number, toCheck: boolean): Row {
    const { tally } = this
    return [
      job,
      stage,
      toCheck,
      tally.waiting,
      tally.leased,
      tally.completed,
      tally.failed,
      tally.dead,
      tally.deadCommitted,
      tally.committedOpen,
      tally.granted,
      this.neverGranted,
      tally.suspended,
      tally.endedAt,
    ]
  }
}

/** Which stage a row of the statement `tallyRows` is about. */
export function tallyRowAddress(row: Row): { id: number; job: string; stage: number } {
  return { id: row[0] as number, job: row[1] as string, stage: row[2] as number }
}

/** A row of the statement `tallies`. */
export interface TallyRow {
  readonly job: string
  readonly stage: number
  readonly tally: Tally
  readonly neverGranted: number
}

export function tallyRow(row: Row): TallyRow {
  const neverGranted = row[10] as number
  const tally: Tally = {
    waiting: row[2] as number,
    leased: row[3] as number,
    completed: row[4] as number,
    failed: row[5] as number,
    dead: row[6] as number,
    deadCommitted: row[7] as number,
    committedOpen: row[8] as number,
    granted: row[9] as number,
    suspended: row[11] as number,
    endedAt: row[12] as number,
    retryAt: neverGranted > 0 ? 0 : ((row[13] as number | null) ?? Infinity),
  }
  return { job: row[0] as string, stage: row[1] as number, tally, neverGranted }
}
