/**
 * What a handler says of its progress, as a share of a whole.
 */

/** From 0 to 1. Null: it says no share that is known. */
export function shareIn(value: unknown): number | null {
  if (typeof value === 'number') {
    if (value >= 0 && value <= 1) return value
    return value > 1 && value <= 100 ? value / 100 : null
  }
  if (typeof value !== 'object' || value === null) return null
  const { done, of, total, percent } = value as Readonly<Record<string, unknown>>
  const whole = of ?? total
  if (typeof percent === 'number') return within(percent / 100)
  if (typeof done !== 'number' || typeof whole !== 'number' || whole <= 0) return null
  return within(done / whole)
}

/** More than all is all. */
function within(share: number): number {
  return Math.min(1, Math.max(0, share))
}
