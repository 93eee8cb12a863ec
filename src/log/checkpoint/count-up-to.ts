/**
 * How many of an ascending list are no larger than a value: where to go on behind it.
 */
export function countUpTo(value: number, length: number, nth: (n: number) => number): number {
  let low = 0
  let high = length
  while (low < high) {
    const middle = (low + high) >> 1
    if (nth(middle) <= value) low = middle + 1
    else high = middle
  }
  return low
}
