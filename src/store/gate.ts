/**
 * A gate: one limit (a key with its bounds) that lanes have to pass.
 *
 * Open: one more task may start, as far as this limit goes. Closed: the key is used up, until
 * a lease ends (concurrency) or a time comes (rate). Whoever changes the usage of a key asks
 * its gates at once, so `isClosed` is never out of date.
 */
import type { LimitSpec, Usage } from '../kernel/index.ts'
import type { Group } from './group.ts'
import type { Ranked } from './ranks.ts'

/** The usage of a key, as `decide` reads it, and the gates that depend on it. */
export class LimitKey implements Usage {
  held = 0
  fullAt = 0
  /** One for each pair of bounds that tasks declare for the key; nearly always one. */
  gates: Gate[] = []
}

export class Gate implements Ranked {
  readonly limit: LimitSpec
  readonly key: LimitKey
  isClosed = false
  /** One for each channel that has such lanes. */
  groups: Group[] = []

  /** Its rank among the timers: when it opens by itself. */
  slot = -1
  readonly priority = 0
  dueAt = 0
  readonly submission: number

  constructor(limit: LimitSpec, key: LimitKey, submission: number) {
    this.limit = limit
    this.key = key
    this.submission = submission
  }

  isFor(limit: LimitSpec): boolean {
    const own = this.limit
    return (
      own.concurrency === limit.concurrency &&
      own.rate?.count === limit.rate?.count &&
      own.rate?.perMs === limit.rate?.perMs
    )
  }
}
