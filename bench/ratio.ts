/**
 * Two that were measured by turns, round by round, and what can be said of them: the median of the
 * ratios of each round, because a machine that is slow for a while is slow for both.
 */
export interface Ratio {
  readonly median: number
  readonly least: number
  readonly most: number
  readonly rounds: number
}

/** The mean of the middle two, where there is no middle one. NaN of nothing. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = (sorted.length - 1) / 2
  const low = sorted[Math.floor(middle)] ?? NaN
  const high = sorted[Math.ceil(middle)] ?? NaN
  return (low + high) / 2
}

/**
 * Of `over` to `under`, round by round; null where no round has both. A round that lacks one of the
 * two counts for nothing, nor does one in which `under` is not above 0.
 */
export function ratioOf(
  over: readonly (number | undefined)[],
  under: readonly (number | undefined)[],
): Ratio | null {
  const ratios = over
    .map((value, round) => ({ value: value ?? NaN, base: under[round] ?? NaN }))
    .filter(({ value, base }) => !Number.isNaN(value) && base > 0)
    .map(({ value, base }) => value / base)
  if (ratios.length === 0) return null
  return {
    median: median(ratios),
    least: Math.min(...ratios),
    most: Math.max(...ratios),
    rounds: ratios.length,
  }
}

/** In fewer rounds, chance puts them all on one side too often. */
const FEWEST_ROUNDS = 5

/** Whether every round says the same: `more`, `less`, or neither. */
export function agreement({ least, most, rounds }: Ratio): 'more' | 'less' | '' {
  if (rounds < FEWEST_ROUNDS) return ''
  if (least > 1) return 'more'
  return most < 1 ? 'less' : ''
}

/** `1.03 (0.91–1.20)`. */
export function ratioText(ratio: Ratio | null): string {
  if (ratio === null) return '–'
  const { median: middle, least, most, rounds } = ratio
  const spread = rounds === 1 ? '' : ` (${least.toFixed(2)}–${most.toFixed(2)})`
  return `${middle.toFixed(2)}${spread}`
}
