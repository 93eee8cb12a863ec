/**
 * Chance that can be repeated: from 0 to 1, the same for the same seed (mulberry32).
 */

export type Chance = () => number

export function chance(seed: number): Chance {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** A whole number, both ends included. */
export function between(least: number, most: number, random: Chance): number {
  return least + Math.floor(random() * (most - least + 1))
}

export function pick<T>(list: readonly T[], random: Chance): T {
  return list[Math.floor(random() * list.length)] as T
}

/** So many different ones, in no order. */
export function pickSome<T>(list: readonly T[], count: number, random: Chance): T[] {
  const left = [...list]
  return Array.from(
    { length: Math.min(count, left.length) },
    () => left.splice(Math.floor(random() * left.length), 1)[0] as T,
  )
}
