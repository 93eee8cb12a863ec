/**
 * What the buckets of a distribution say of how long most things take.
 */
import type { EngineMetrics } from '../../../engine/index.ts'

/** JSON has no infinity: the last bound comes as null. */
interface SentDistribution extends Omit<EngineMetrics['durableUs'], 'bounds'> {
  readonly bounds: readonly (number | null)[]
}

/** The bound that this share of all is at or below; null: there was nothing. */
export function quantile(
  { count, counts, bounds }: SentDistribution,
  share: number,
): number | null {
  if (count === 0) return null
  let seen = 0
  for (const [i, one] of counts.entries()) {
    seen += one
    if (seen >= share * count) return bounds[i] ?? Infinity
  }
  return Infinity
}
