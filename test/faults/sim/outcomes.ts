/**
 * What may be left after a power loss, as a list of independent choices, and the ways to go
 * through them: all, a sample, or one.
 *
 * In every choice 0 is the oldest version (nothing since the last sync survived) and the last
 * one is what the running system saw.
 */
import { Dice } from '../../model/properties/dice.ts'

export interface Doubts<T> {
  /** How many versions each choice has. */
  readonly counts: readonly number[]
  /** What is left if the choices fall like this. */
  settle(choices: readonly number[]): T
  /** Whether other choices, which are not redundant, leave the same. */
  isRedundant(choices: readonly number[]): boolean
}

/** A number is a seed. */
export type Survival = 'nothing' | 'everything' | number

export function chosen(counts: readonly number[], survival: Survival): number[] {
  if (survival === 'nothing') return counts.map(() => 0)
  if (survival === 'everything') return counts.map((count) => count - 1)
  return drawn(counts, new Dice(survival))
}

/**
 * Every combination if there are at most `limit`. Else the extremes, all of them however low the
 * limit is, and then as many drawn ones as make it `limit`.
 */
export function* combinations(
  doubts: Doubts<unknown>,
  limit: number,
  seed: number,
): Generator<number[]> {
  const { counts } = doubts
  if (counts.reduce((product, count) => product * count, 1) <= limit) {
    for (const choices of all(counts)) if (!doubts.isRedundant(choices)) yield choices
    return
  }
  yield* extremes(counts)
  const dice = new Dice(seed)
  for (let i = 2 + 2 * counts.length; i < limit; i++) yield drawn(counts, dice)
}

function* all(counts: readonly number[]): Generator<number[]> {
  const choices = counts.map(() => 0)
  for (;;) {
    yield [...choices]
    let place = 0
    while (place < counts.length && choices[place] === (counts[place] as number) - 1) {
      choices[place] = 0
      place += 1
    }
    if (place === counts.length) return
    choices[place] = (choices[place] as number) + 1
  }
}

/** None, all, each single one present, each single one missing. */
function* extremes(counts: readonly number[]): Generator<number[]> {
  const none = chosen(counts, 'nothing')
  const every = chosen(counts, 'everything')
  yield none
  yield every
  for (let i = 0; i < counts.length; i++) {
    yield none.with(i, every[i] as number)
    yield every.with(i, 0)
  }
}

/**
 * Coins alone would hardly ever leave the first half of a long write, which is what a real disk
 * leaves most often, so some draws cut the list in two.
 */
function drawn(counts: readonly number[], dice: Dice): number[] {
  const style = dice.below(4)
  if (style < 2) {
    const cut = dice.below(counts.length + 1)
    return counts.map((count, i) => (i < cut === (style === 0) ? count - 1 : 0))
  }
  if (style === 2) return counts.map((count) => dice.below(count))
  const percent = dice.pick([3, 15, 85, 97])
  return counts.map((count) => (dice.chance(percent) ? count - 1 : dice.below(count - 1)))
}
