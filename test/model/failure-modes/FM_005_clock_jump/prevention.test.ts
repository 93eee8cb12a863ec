import { describe, expect, it } from 'vitest'
import { RULES } from '../../../../src/kernel/index.ts'
import { theClockJumpsForward, theClockStepsBack } from '../../../../src/lab/clock-jump.ts'

describe('FM_005 clock jumps forward and back, prevented', () => {
  it('nothing is written while the clock is behind the log, so a lost lease stays lost', () => {
    const { authority, ledger, answers } = theClockStepsBack(RULES)
    expect(answers).toEqual({
      late: 'cancelled',
      copy: 'rejected: ClockBackwards by clock',
      next: 'committed',
    })
    expect(ledger.charges).toEqual(['next'])
    expect(authority.state()).toBe('SUCCEEDED')
  })

  it('a jump forward costs a retry and nothing else', () => {
    const { authority, ledger, answers } = theClockJumpsForward(RULES)
    expect(answers).toEqual({ first: 'cancelled', second: 'committed' })
    expect(ledger.charges).toEqual(['second'])
    expect(authority.task().retries).toBe(1)
    expect(authority.state()).toBe('SUCCEEDED')
  })
})
