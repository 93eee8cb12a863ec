/**
 * The tallies of a pipeline in a transaction: counted by the database when they were loaded, and
 * followed entry by entry from there.
 */
import type { Job, Tallies, Tally, Task } from '../../../kernel/index.ts'
import { addToTally, emptyTally, isEnding } from '../../../kernel/index.ts'
import type { Row } from '../connection.ts'

export class LoadedTallies {
  readonly #tallies: Tally[]
  /** Waiting tasks that were never granted, per stage. */
  readonly #fresh: number[]
  /** Per stage: the task that was first to be retried waits no more, and who is next is not known. */
  readonly #isUnsure: boolean[]

  constructor(stages: number) {
    this.#tallies = Array.from({ length: stages }, emptyTally)
    this.#fresh = this.#tallies.map(() => 0)
    this.#isUnsure = this.#tallies.map(() => false)
  }

  /** A row of the statement `tallies`: job, stage, and the sums in this order. */
  take(row: Row): void {
    const stage = row[1] as number
    const tally = this.#tallies[stage]
    if (tally === undefined) return
    tally.waiting = row[2] as number
    tally.leased = row[3] as number
    tally.completed = row[4] as number
    tally.failed = row[5] as number
    tally.dead = row[6] as number
    tally.deadCommitted = row[7] as number
    tally.committedOpen = row[8] as number
    tally.granted = row[9] as number
    tally.endedAt = (row[10] as number | null) ?? 0
    const fresh = row[11] as number
    this.#fresh[stage] = fresh
    tally.retryAt = fresh > 0 ? 0 : ((row[12] as number | null) ?? Infinity)
  }

  /** Null: an entry of this transaction made it impossible to say when a retry is due. */
  of(job: Job): Tallies | null {
    // Of one that is ending nobody asks what is retried when.
    return this.#isUnsure.includes(true) && !isEnding(job, this.#tallies) ? null : this.#tallies
  }

  /** BEFORE an entry changes the task. */
  takeOut(task: Task): void {
    const tally = this.#tallies[task.stage] as Tally
    addToTally(tally, task, -1)
    if (task.state !== 'WAITING') return
    if (task.attempt === 0) this.#fresh[task.stage] = (this.#fresh[task.stage] as number) - 1
    else if (task.dueAt <= tally.retryAt) this.#isUnsure[task.stage] = true
  }

  /** AFTER an entry created or changed the task. */
  putIn(task: Task): void {
    const { stage, state, attempt, dueAt } = task
    const tally = this.#tallies[stage] as Tally
    addToTally(tally, task, 1)
    const isWaiting = state === 'WAITING'
    if (isWaiting && attempt === 0) this.#fresh[stage] = (this.#fresh[stage] as number) + 1
    if (tally.waiting === 0) {
      tally.retryAt = Infinity
      this.#isUnsure[stage] = false
    } else if ((this.#fresh[stage] as number) > 0) {
      tally.retryAt = 0
      this.#isUnsure[stage] = false
    } else if (isWaiting) {
      tally.retryAt = Math.min(tally.retryAt, dueAt)
    } else if (tally.retryAt === 0) {
      // The last one that was never granted is gone: the others wait for their times.
      this.#isUnsure[stage] = true
    }
  }
}
