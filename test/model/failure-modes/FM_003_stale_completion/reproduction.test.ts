import { describe, expect, it } from 'vitest'
import { rulesWithout } from '../../../../src/kernel/index.ts'
import { COMMIT_FENCE, rulesLeavingOut } from '../../../../src/lab/rules-left-out.ts'
import { brokenInvariants } from '../../../../src/lab/story.ts'
import {
  aReportFromAnEarlierLife,
  aStaleResultArrives,
} from '../../../../src/lab/stale-completion.ts'

describe('FM_003 stale completion after recovery, reproduced', () => {
  it('a result that was already read is replaced by the stale one', () => {
    const { authority, ledger, read } = aStaleResultArrives(rulesLeavingOut(...COMMIT_FENCE))
    expect(read).toEqual({ before: '"fresh"', after: '"stale"' })
    expect(ledger.charges).toEqual(['fresh', 'stale'])
    expect(brokenInvariants(authority)).toEqual(expect.arrayContaining([3, 4]))
  })

  it('the new order gets the result of the old one when the holder is not checked', () => {
    const { authority, ledger, answers } = aReportFromAnEarlierLife(
      rulesWithout('CommitExecution.lease-holder'),
    )
    expect(answers).toEqual({ old: 'committed', present: 'committed' })
    expect(authority.task().output).toBe('"old order paid"')
    expect(ledger.charges).toEqual(['old', 'present'])
  })
})
