/**
 * How times are spread.
 */
export interface Spread {
  readonly count: number
  readonly p50: number
  readonly p99: number
  readonly most: number
}

export function spread(times: readonly number[]): Spread {
  const sorted = Float64Array.from(times).toSorted()
  const at = (share: number): number => sorted[Math.floor((sorted.length - 1) * share)] ?? NaN
  return { count: sorted.length, p50: at(0.5), p99: at(0.99), most: at(1) }
}
