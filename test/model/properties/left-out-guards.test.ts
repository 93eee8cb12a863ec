/**
 * The comparison can fail: without any one guard of the kernel, the naive model soon disagrees.
 */
import { describe, expect, it } from 'vitest'
import { listGuards, rulesWithout } from '../../../src/kernel/index.ts'
import { isNoted, rulesNoting } from '../../support/noting-rules.ts'
import { firstDifference } from './comparison.ts'
import { Dice } from './dice.ts'
import { IS_LONG } from '../../support/campaign.ts'

function* numbersFrom(seed: number, length: number): Generator<number> {
  const dice = new Dice(seed)
  for (let i = 0; i < length; i++) yield dice.below(2 ** 32)
}

/** By run, the guards that refuse something in it when all rules hold. */
const refusers: ReadonlySet<string>[] = []

function refusesIn(guard: string, run: number): boolean {
  if (!isNoted(guard)) return true
  for (let next = refusers.length; next <= run; next++) {
    const noted = new Set<string>()
    firstDifference(numbersFrom(next, 600), { steps: 0, committed: 0 }, rulesNoting(noted))
    refusers.push(noted)
  }
  return (refusers[run] as ReadonlySet<string>).has(guard)
}

function isFound(guard: string): boolean {
  const rules = rulesWithout(guard)
  for (let run = 0; run < 1_500; run++) {
    if (!refusesIn(guard, run)) continue
    try {
      const numbers = numbersFrom(run, 600)
      if (firstDifference(numbers, { steps: 0, committed: 0 }, rules) !== null) return true
    } catch {
      // Without the guard the kernel wrote an entry that cannot be applied: that is a finding too.
      return true
    }
  }
  return false
}

describe('the comparison', () => {
  /** Never needed here: the clock of these runs never goes back, and nothing in them is large. */
  const silent = new Set([
    'clock',
    'RecordStep.room-for-step',
    'CommitExecution.room-for-commit',
    'AppendStream.room-for-values',
    'EndWait.room-for-waits',
    'SuspendExecution.room-for-waits',
    'SendMessage.room-for-message',
    // It gives the better of two reasons: a task that is suspended is not DEAD either.
    'RetryTask.not-suspended',
  ])

  /** Found only after many runs: `test:long` looks for them. */
  const rare = new Set([
    'EndWait.name-free',
    'EndWait.definition-not-older',
    'SubmitJob.callee-promised',
  ])

  const guards = listGuards()
    .map(({ id }) => id)
    .filter((id) => !silent.has(id) && (IS_LONG || !rare.has(id)))
  it.each(guards)('finds a left-out guard: %s', (guard) => {
    expect(isFound(guard)).toBe(true)
  })
})
