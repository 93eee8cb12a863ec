/**
 * How many random steps the properties take, and how a property runs over them. `npm test` takes an
 * eighth of what each round of `npm run test:long` does.
 *
 * A step is one command that the kernel decided. Every property counts its own and must reach its
 * share; all shares together are the promise of `TOTAL_STEPS`.
 */
import { array, assert, integer, noBias, property } from 'fast-check'
import { IS_LONG } from '../../support/campaign.ts'

const PART = IS_LONG ? 1 : 1 / 8

export const TOTAL_STEPS = 2_000_000 * PART

export const SHARES = {
  agreement: 1_000_000 * PART,
  prefixes: 250_000 * PART,
  sameSeed: 250_000 * PART,
  repeats: 350_000 * PART,
  commuting: 150_000 * PART,
  arbitrary: 20_000,
} as const

/** Override with `PAWL_SEED=123 npm test`; a failure prints the seed it used. */
const DEFAULT_SEED = 20_260_715
export const SEED = Number(process.env['PAWL_SEED'] ?? DEFAULT_SEED)

const LONGEST_RUN = 1_200

/** Counts steps, so that a property cannot quietly do less than it says. */
export class Counter {
  steps = 0
}

/**
 * Runs a property over random sequences, which have half the longest length on average, until it
 * has taken its share of steps.
 */
export function forRandomRuns(
  share: number,
  stepsPerNumber: number,
  check: (numbers: readonly number[], counter: Counter) => void,
): number {
  const counter = new Counter()
  const numbers = array(integer({ min: 0, max: 0xffff_ffff }), {
    minLength: 1,
    maxLength: LONGEST_RUN,
    size: 'max',
  })
  // A tenth more than needed on average, because the lengths are random too; what is left over
  // when the share is taken is not run.
  const numRuns = Math.ceil((1.1 * share) / ((LONGEST_RUN / 2) * stepsPerNumber))
  let failed = false
  assert(
    property(noBias(numbers), (sequence) => {
      // What failed is made smaller by running parts of it, however many steps that takes.
      if (counter.steps >= share && !failed) return
      try {
        check(sequence, counter)
      } catch (error) {
        failed = true
        throw error
      }
    }),
    { seed: SEED, numRuns },
  )
  return counter.steps
}
