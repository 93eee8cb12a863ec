/**
 * Limits: how much of a key is used, and when it has room again.
 *
 * A rate is a token bucket kept as one number: the time at which the bucket will be full.
 * Whoever holds the tasks keeps the usage (`chargeGrant`, `creditEnd`); `decide` only asks.
 */
import type { LimitSpec, Usage } from './model.ts'

export function noUsage(): Usage {
  return { held: 0, fullAt: 0 }
}

/** The earliest time at which one more may start; Infinity when only an ending lease makes room. */
export function mayStartAt(limit: LimitSpec, usage: Usage | undefined, now: number): number {
  if (limit.concurrency !== null && (usage?.held ?? 0) >= limit.concurrency) return Infinity
  if (limit.rate === null || usage === undefined) return now
  const { count, perMs } = limit.rate
  // The bucket takes perMs to fill and one token is perMs / count of that.
  return Math.max(now, Math.ceil(usage.fullAt - perMs + perMs / count))
}

/** A lease was granted. Finishing what is committed takes a place, but no token. */
export function chargeGrant(usage: Usage, limit: LimitSpec, at: number, resumed: boolean): void {
  usage.held += 1
  if (limit.rate === null || resumed) return
  usage.fullAt = Math.max(usage.fullAt, at) + limit.rate.perMs / limit.rate.count
}

/** A lease ended. */
export function creditEnd(usage: Usage): void {
  usage.held -= 1
}
