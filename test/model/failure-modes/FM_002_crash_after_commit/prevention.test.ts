import { describe, expect, it } from 'vitest'
import { RULES } from '../../../../src/kernel/index.ts'
import {
  theNextWorkerDoesItAllAgain,
  theNextWorkerFails,
} from '../../../../src/lab/crash-after-commit.ts'

describe('FM_002 crash between COMMITTED and DONE, prevented', () => {
  it('the next worker can only finish what was promised, so the card is charged once', () => {
    const { authority, ledger, answers } = theNextWorkerDoesItAllAgain(RULES)
    expect(answers).toEqual({
      take: 'committed',
      commit: 'rejected: AlreadyCommitted by before-commit',
      charge: 'rejected: EffectNotStartable by effect-startable',
      chargeFinished: 'rejected: EffectNotStarted by effect-started',
      receipt: 'committed',
      receiptFinished: 'committed',
    })
    expect(ledger.charges).toEqual(['dies'])
    expect(ledger.doneBy('receipt')).toEqual(['next'])
    expect(authority.state()).toBe('SUCCEEDED')
  })

  it('what is committed cannot fail any more', () => {
    const { authority, answers } = theNextWorkerFails(RULES)
    expect(answers).toEqual({
      take: 'committed',
      fail: 'rejected: AlreadyCommitted by before-commit',
    })
    expect(authority.state()).toBe('RUNNING')
  })
})
