import { describe, expect, it } from 'vitest'
import { rulesWithout } from '../../../../src/kernel/index.ts'
import { brokenInvariants } from '../../../../src/lab/story.ts'
import { theNextWorkerRunsIt } from '../../../../src/lab/unknown-outcome.ts'

describe('FM_008 effect with unknown outcome, reproduced', () => {
  it('the card is charged twice when an effect of unknown outcome may simply be started again', () => {
    const rules = rulesWithout('StartEffect.outcome-known')
    const { authority, ledger, answers } = theNextWorkerRunsIt(rules, { reconcile: true })
    expect(answers).toEqual({ take: 'committed', charge: 'committed' })
    expect(ledger.charges).toEqual(['silent', 'next'])
    expect(brokenInvariants(authority)).toContain(3)
  })
})
