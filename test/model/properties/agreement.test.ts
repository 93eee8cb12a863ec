/**
 * The kernel against the naive model: the same answers, and the same state after every step.
 */
import { describe, expect, it } from 'vitest'
import { firstDifference } from './comparison.ts'
import { forRandomRuns, SHARES, TOTAL_STEPS } from './steps.ts'

describe('the kernel', () => {
  it('agrees with a naive model on every answer and every state', () => {
    const tally = { steps: 0, committed: 0 }
    forRandomRuns(SHARES.agreement, 1, (numbers, counter) => {
      const difference = firstDifference(numbers, tally)
      if (difference !== null) throw new Error(difference)
      counter.steps = tally.steps
    })
    expect(tally.steps).toBeGreaterThanOrEqual(SHARES.agreement)
    // Commands that are only ever refused would show little.
    expect(tally.committed / tally.steps).toBeGreaterThan(0.5)
  })

  it('takes as many random steps in all properties together as it says', () => {
    const total = Object.values(SHARES).reduce((sum, share) => sum + share, 0)
    expect(total).toBeGreaterThanOrEqual(TOTAL_STEPS)
  })
})
