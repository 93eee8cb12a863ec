import { describe, expect, it } from 'vitest'
import { RULES } from '../../../../src/kernel/index.ts'
import { theCancelIsFirst, theCommitIsFirst } from '../../../../src/lab/cancel-race.ts'

describe('FM_010 cancel races commit, prevented', () => {
  it('the commit is first: the customer is told that there is nothing left to cancel', () => {
    const { authority, ledger, answers } = theCommitIsFirst(RULES)
    expect(answers).toEqual({
      commit: 'committed',
      cancel: 'rejected: NothingToCancel by something-to-cancel',
    })
    expect(ledger.charges).toEqual(['worker'])
    expect(authority.state()).toBe('RUNNING')
  })

  it('the cancel is first: the worker is told cancelled, and nobody pays', () => {
    const { authority, ledger, answers } = theCancelIsFirst(RULES)
    expect(answers).toEqual({ cancel: 'committed', commit: 'cancelled' })
    expect(ledger.charges).toEqual([])
    expect(authority.state()).toBe('FAILED')
  })
})
