import type { Figures } from '../../src/protocol/index.ts'

/** What a line of rates comes to, where it has no gap. */
export function amountOf(
  { times, stepMs, since, rates }: Figures,
  line: keyof Figures['rates'],
): number {
  return rates[line].reduce<number>((sum, rate, i) => {
    const end = times[i] as number
    const begin = Math.max(since, Math.floor((end - 1) / stepMs) * stepMs)
    return sum + ((rate ?? 0) * (end - begin)) / 1_000
  }, 0)
}
