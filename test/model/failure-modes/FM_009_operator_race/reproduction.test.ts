import { describe, expect, it } from 'vitest'
import { rulesWithout } from '../../../../src/kernel/index.ts'
import { COMMIT_FENCE, rulesLeavingOut } from '../../../../src/lab/rules-left-out.ts'
import { brokenInvariants } from '../../../../src/lab/story.ts'
import {
  anOperatorActsOnAnOldView,
  theSlowWorkerReportsAfterTheRetry,
} from '../../../../src/lab/operator-race.ts'

describe('FM_009 operator retry races a late worker, reproduced', () => {
  it('the given-up worker and the new one both charge the card', () => {
    const rules = rulesLeavingOut(...COMMIT_FENCE)
    const { authority, ledger, answers } = theSlowWorkerReportsAfterTheRetry(rules)
    expect(answers).toEqual({ retried: 'committed', slow: 'committed', next: 'committed' })
    expect(ledger.charges).toEqual(['slow', 'next'])
    expect(brokenInvariants(authority)).toContain(3)
  })

  it('a retry that was decided on an old view runs what is already paid by hand', () => {
    const rules = rulesWithout('RetryTask.attempt-seen')
    const { authority, ledger, answers } = anOperatorActsOnAnOldView(rules)
    expect(answers).toMatchObject({ ann: 'committed' })
    expect(ledger.charges).toEqual(['bob', 'third'])
    expect(brokenInvariants(authority)).toContain(4)
  })
})
