import { describe, expect, it } from 'vitest'
import { brokenInvariants } from '../../../../src/lab/story.ts'
import { rulesLeavingOut } from '../../../../src/lab/rules-left-out.ts'
import { twoWorkersEndIt } from '../../../../src/lab/two-ends-of-a-wait.ts'

describe('FM_012 two workers finish one wait, reproduced', () => {
  it('one acts on yes and the other on no, when ending a wait needs no lease', () => {
    const { authority, ledger, answers } = twoWorkersEndIt(
      rulesLeavingOut('EndWait.lease-held', 'EndWait.lease-unexpired'),
    )
    expect(answers).toEqual({ live: 'committed', late: 'committed' })
    expect(ledger.deeds.map(({ what, by }) => [what, by])).toEqual([
      ['"yes"', 'second'],
      ['"no"', 'first'],
    ])
    expect(brokenInvariants(authority)).not.toEqual([])
  })
})
