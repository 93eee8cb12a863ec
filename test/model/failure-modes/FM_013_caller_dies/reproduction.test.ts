import { describe, expect, it } from 'vitest'
import { rulesWithout } from '../../../../src/kernel/index.ts'
import { theSubmitIsLate } from '../../../../src/lab/caller-dies.ts'

describe('FM_013 caller dies between suspension and submit, reproduced', () => {
  it('the callee pays after its caller has paid without it, when a callee may be submitted at any time', () => {
    const { ledger, answers } = theSubmitIsLate(rulesWithout('SubmitJob.callee-promised'))
    expect(answers['submit']).toBe('committed')
    expect(ledger.charges).toEqual(['worker', 'other'])
  })
})
