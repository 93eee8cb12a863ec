/**
 * How much of each limit is used, counted from the tasks themselves, beside what the table says.
 */
import type { Rate, Task } from '../../../kernel/index.ts'
import type { Row } from '../connection.ts'
import { WORK_COLUMN_AT } from '../statements.ts'
import { wholeBucketMs } from './register-fold.ts'

export interface CountedLimitUse {
  /** Leases that are held. */
  held: number
  /** Tasks that wait until there is room. */
  parked: number
  /** Tasks that wait in line, and call the next one when they were taken. */
  inLine: number
  /** The bucket is never fuller than this. */
  latestFull: number
}

export class CountedLimitUses {
  readonly #byKey = new Map<string, CountedLimitUse>()
  /** When something was granted in a queue for the last time. */
  readonly #granted = new Map<string, number>()

  get keys(): Iterable<string> {
    return this.#byKey.keys()
  }

  of(key: string): CountedLimitUse {
    let use = this.#byKey.get(key)
    if (use === undefined) {
      use = { held: 0, parked: 0, inLine: 0, latestFull: 0 }
      this.#byKey.set(key, use)
    }
    return use
  }

  grantedIn(queue: string): number {
    return this.#granted.get(queue) ?? 0
  }

  /** A grant, also of a job that is gone by now. */
  granted({ policy }: Task, at: number): void {
    this.#granted.set(policy.queue, Math.max(at, this.grantedIn(policy.queue)))
    for (const { key, rate } of policy.limits) if (rate !== null) this.#charge(key, rate, at)
  }

  #charge(key: string, rate: Rate, at: number): void {
    const use = this.of(key)
    use.latestFull = Math.max(use.latestFull, at + wholeBucketMs(rate))
  }

  /** A task as its events say it is. */
  holds({ lease, policy }: Task): void {
    if (lease !== null) for (const { key } of policy.limits) this.of(key).held += 1
  }

  /** A row as it was found, and its task. */
  found(row: Row, { policy }: Task): void {
    const parked = row[WORK_COLUMN_AT.parked] as string | null
    if (parked !== null) this.of(parked).parked += 1
    if (parked !== null || row[WORK_COLUMN_AT.channel] === null) return
    for (const { key } of policy.limits) this.of(key).inLine += 1
  }
}
