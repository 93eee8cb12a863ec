/**
 * Limits: how much of a key is used, and when it has room again.
 *
 * A rate is a token bucket kept as one number: the time at which the bucket will be full.
 * Whoever holds the tasks keeps the usage (`chargeGrant`, `creditEnd`); `decide` only asks.
 */
import type { LimitSpec, Rate, Usage } from './model.ts'

export function noUsage(): Usage {
  return { held: 0, fullAt: 0 }
}

/**
 * The time that one token stands for, in steps of 1/1024 ms: sums of such steps are exact, so
 * a burst is never one short, and no rate is so fast that its tokens vanish in rounding.
 */
function tokenMs({ count, perMs }: Rate): number {
  return Math.ceil((perMs / count) * 1_024) / 1_024
}

/** The earliest time at which one more may start; Infinity when only an ending lease makes room. */
export function mayStartAt(limit: LimitSpec, usage: Usage | undefined, now: number): number {
  if (limit.concurrency !== null && (usage?.held ?? 0) >= limit.concurrency) return Infinity
  if (limit.rate === null || usage === undefined) return now
  // There is room for one token once the bucket lacks no more than all the others.
  const others = (limit.rate.count - 1) * tokenMs(limit.rate)
  return Math.max(now, Math.ceil(usage.fullAt - others))
}

/** A lease was granted. Finishing what is committed takes a place, but no token. */
export function chargeGrant(usage: Usage, limit: LimitSpec, at: number, resumed: boolean): void {
  usage.held += 1
  if (limit.rate === null || resumed) return
  usage.fullAt = Math.max(usage.fullAt, at) + tokenMs(limit.rate)
}

/**
 * The rate is another one now: its bucket lacks no more than all of its own tokens. What is left
 * of those of a slower rate would stop everything until that one's period is over.
 */
export function changeRate(usage: Usage, rate: Rate | null, at: number): void {
  if (rate !== null) usage.fullAt = Math.min(usage.fullAt, at + rate.count * tokenMs(rate))
}

/** A lease ended. */
export function creditEnd(usage: Usage): void {
  usage.held -= 1
}
