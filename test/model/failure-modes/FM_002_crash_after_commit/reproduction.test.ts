import { describe, expect, it } from 'vitest'
import { rulesWithout } from '../../../../src/kernel/index.ts'
import { brokenInvariants } from '../../../../src/lab/story.ts'
import {
  theNextWorkerDoesItAllAgain,
  theNextWorkerFails,
} from '../../../../src/lab/crash-after-commit.ts'

describe('FM_002 crash between COMMITTED and DONE, reproduced', () => {
  it('the card is charged twice when a committed task may be committed again', () => {
    const rules = rulesWithout('CommitExecution.before-commit')
    const { authority, ledger, answers } = theNextWorkerDoesItAllAgain(rules)
    expect(answers).toMatchObject({ commit: 'committed', charge: 'committed' })
    expect(ledger.charges).toEqual(['dies', 'next'])
    expect(brokenInvariants(authority)).toContain(3)
  })

  it('a charged order ends FAILED when a committed task may still fail', () => {
    const { authority, ledger } = theNextWorkerFails(rulesWithout('FailTask.before-commit'))
    expect(authority.state()).toBe('FAILED')
    expect(ledger.charges).toEqual(['dies'])
    expect(ledger.doneBy('receipt')).toEqual([])
    expect(brokenInvariants(authority)).toContain(3)
  })
})
