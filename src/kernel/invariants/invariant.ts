/**
 * What must always hold, by number. Each check names the promise it belongs to.
 */
export const INVARIANTS = {
  1: 'A task has at most one current lease; a lease belongs to exactly one task.',
  2: 'WAITING has no lease; LEASED has exactly one.',
  3: 'At most one execution of a task ever reaches COMMITTED; an effect key is finished at most once.',
  4: 'COMPLETED and FAILED tasks, SUCCEEDED and FAILED jobs never change again; what an erased one was made of, and made, is gone.',
  5: "Attempts, lease numbers, versions and an aggregate's time only grow; retries never exceed their budget.",
  6: 'Stage and job state equal the pure function of the records, and move only as the tables allow.',
  7: 'No orphans: every job that is not final has a due task, a timer, a lease, a stage to open, or a human or a message to wait for.',
  8: 'State equals the fold of the log.',
  9: 'Time, pause, hold, limits, start-by and deadlines are kept: what was granted could be granted, and what time took was due.',
  10: 'Stages open in order: after their prerequisites, on-failure ones last; an ending job starts nothing else.',
  11: 'A key belongs to at most one job of its type: for as long as there is that job or, if it is unique, until it is over.',
  12: 'A wait ends once, by a message before its time or by its time; a message ends at most one wait, in order, and is kept until then; a suspended task goes on when its waits say so.',
  13: 'What was handed out stays: a job is replaced only before it begins, and the values of a stream have offsets without a gap, each once.',
} as const

export type InvariantNumber = keyof typeof INVARIANTS

export interface Violation {
  readonly invariant: InvariantNumber
  /** What is wrong, and where. */
  readonly what: string
}

/** Collects what is wrong. */
export class Findings {
  readonly violations: Violation[] = []
  readonly #where: () => string

  constructor(where: () => string) {
    this.#where = where
  }

  /** What is wrong is put into words only if it is: nearly always, nothing is. */
  expect(holds: boolean, invariant: InvariantNumber, what: string | (() => string)): void {
    if (holds) return
    const words = typeof what === 'string' ? what : what()
    this.violations.push({ invariant, what: `${this.#where()}: ${words}` })
  }
}
