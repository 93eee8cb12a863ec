/**
 * How much of each limit is used, counted from the tasks themselves, and the rows of limits beside it.
 */
import type { Rate, Task } from '../../../kernel/index.ts'
import { LIMITS } from '../../../kernel/index.ts'
import type { Row } from '../connection.ts'
import type { HistoryMark } from '../rows/event-rows.ts'
import { WORK_COLUMN_AT } from '../statements.ts'
import type { Fix, ReportProblem } from './database-problem.ts'

interface CountedLimitUse {
  /** Leases that are held. */
  held: number
  /** Tasks that wait until there is room. */
  parked: number
  /** Tasks that are ready: a claim that takes one unparks the next. */
  ready: number
  /** The bucket is full by then at the latest. */
  latestFull: number
}

export class CountedLimitUses {
  readonly #byKey = new Map<string, CountedLimitUse>()
  /** When something was granted in a queue for the last time. */
  readonly #granted = new Map<string, number>()
  /** No grant whose event was removed keeps a bucket from being full for longer. */
  fullInSpiteOfRemoved = 0

  get keys(): Iterable<string> {
    return this.#byKey.keys()
  }

  of(key: string): CountedLimitUse {
    let use = this.#byKey.get(key)
    if (use === undefined) {
      use = { held: 0, parked: 0, ready: 0, latestFull: 0 }
      this.#byKey.set(key, use)
    }
    return use
  }

  grantedIn(queue: string): number {
    return this.#granted.get(queue) ?? 0
  }

  /** A grant, also of a job that is gone by now. */
  countGrant({ policy }: Task, at: number): void {
    this.#granted.set(policy.queue, Math.max(at, this.grantedIn(policy.queue)))
    for (const { key, rate } of policy.limits) {
      if (rate === null) continue
      const use = this.of(key)
      use.latestFull = Math.max(use.latestFull, at + fillMs(rate))
    }
  }

  noteRemovedGrants({ through, olderThan }: HistoryMark): void {
    if (through > 0) this.fullInSpiteOfRemoved = olderThan + MOST_YOUNGER_MS + LONGEST_FILL_MS
  }

  /** A task as its events say it is. */
  countLease({ lease, policy }: Task): void {
    if (lease !== null) for (const { key } of policy.limits) this.of(key).held += 1
  }

  /** A row as it was found, and its task. */
  countWaiting(row: Row, { policy }: Task): void {
    const parked = row[WORK_COLUMN_AT.parked] as string | null
    if (parked !== null) this.of(parked).parked += 1
    if (parked !== null || row[WORK_COLUMN_AT.channel] === null) return
    for (const { key } of policy.limits) this.of(key).ready += 1
  }
}

/** How long it takes to fill an empty bucket; each token may be rounded up. */
export function fillMs({ count, perMs }: Rate): number {
  return perMs + count / 1_024 + 1
}

const LONGEST_FILL_MS = fillMs({ count: LIMITS.rateCount, perMs: LIMITS.ratePeriodMs })
/** So much younger than `olderThan` may an event be that was removed: times only nearly grow with positions. */
const MOST_YOUNGER_MS = 3_600_000

/** `isCopied`: what was granted before the store was copied is not known, so neither is the bucket. */
export function checkLimits(
  rows: readonly Row[],
  uses: CountedLimitUses,
  isCopied: boolean,
  report: ReportProblem,
): void {
  const found = new Map(rows.map((row) => [row[0] as string, row]))
  for (const key of new Set([...found.keys(), ...uses.keys])) {
    const use = uses.of(key)
    const row = found.get(key)
    // No lease holds it, and a ready task unparks what waits for it: then there need be no row.
    const isUnparked = use.parked === 0 || use.ready > 0
    if (row === undefined && use.held === 0 && isUnparked) continue
    const fullAt = (row?.[2] as number | undefined) ?? use.latestFull
    const isTooFull =
      !(fullAt >= 0) || (!isCopied && fullAt > Math.max(use.latestFull, uses.fullInSpiteOfRemoved))
    const bound = isTooFull ? use.latestFull : fullAt
    const fix: Fix = { table: 'limits', key, held: use.held, fullAt: bound }
    const held = (row?.[1] as number | undefined) ?? 0
    if (row === undefined) report('limits', key, 'it is missing', fix)
    if (held !== use.held) {
      report('limits', key, `held is ${held}, and ${use.held} leases hold it`, fix)
    }
    if (isTooFull) {
      report('limits', key, `full_at is ${fullAt}, and it was used up to ${bound}`, fix)
    }
    const willWake = use.held > 0 || use.ready > 0 || row?.[3] != null
    if (use.parked > 0 && !willWake) {
      report('limits', key, `${use.parked} tasks wait for it, and nothing will unpark them`, fix)
    }
  }
}
