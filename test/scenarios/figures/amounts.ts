/** What a line of rates comes to. All of each step is known, but for the first: it is known from when the server began. */
export function amountOf(
  rates: readonly (number | null)[],
  times: readonly number[],
  stepMs: number,
): number {
  return rates.reduce<number>((sum, rate, i) => {
    const end = times[i] as number
    const ms = end - Math.floor((end - 1) / stepMs) * stepMs
    return sum + ((rate ?? 0) * ms) / 1_000
  }, 0)
}
