import { describe, expect, it } from 'vitest'
import { rulesWithout } from '../../../../src/kernel/index.ts'
import { brokenInvariants } from '../../../../src/lab/story.ts'
import { theCancelIsFirst, theCommitIsFirst } from '../../../../src/lab/cancel-race.ts'

describe('FM_010 cancel races commit, reproduced', () => {
  it('the customer is told that it is cancelled, and pays, when what is committed may be cancelled', () => {
    const { authority, ledger, answers } = theCommitIsFirst(
      rulesWithout('CancelJob.something-to-cancel'),
    )
    expect(answers).toEqual({ commit: 'committed', cancel: 'committed' })
    expect(authority.state()).toBe('FAILED')
    expect(ledger.charges).toEqual(['worker'])
    expect(brokenInvariants(authority)).toContain(3)
  })

  it('the customer is told that it is cancelled, and pays, when a commit needs no lease', () => {
    const { authority, ledger, answers } = theCancelIsFirst(
      rulesWithout('CommitExecution.lease-held'),
    )
    expect(answers).toEqual({ cancel: 'committed', commit: 'committed' })
    expect(ledger.charges).toEqual(['worker'])
    expect(brokenInvariants(authority)).toContain(4)
  })
})
