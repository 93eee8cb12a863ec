import { describe, expect, it } from 'vitest'
import { rulesWithout } from '../../../../src/kernel/index.ts'
import { COMMIT_FENCE, rulesLeavingOut } from '../../../../src/lab/rules-left-out.ts'
import { brokenInvariants } from '../../../../src/lab/story.ts'
import { theClockJumpsForward, theClockStepsBack } from '../../../../src/lab/clock-jump.ts'

describe('FM_005 clock jumps forward and back, reproduced', () => {
  it('discarded work is accepted: the job has succeeded, and nobody charged the card', () => {
    const { authority, ledger, answers } = theClockStepsBack(rulesWithout('clock'))
    expect(answers).toMatchObject({ late: 'cancelled', copy: 'committed' })
    expect(authority.state()).toBe('SUCCEEDED')
    expect(ledger.charges).toEqual([])
    expect(brokenInvariants(authority)).toContain(5)
  })

  it('both workers charge the card after a jump forward when nothing is checked at commit', () => {
    const { ledger } = theClockJumpsForward(rulesLeavingOut(...COMMIT_FENCE))
    expect(ledger.charges).toEqual(['first', 'second'])
  })
})
