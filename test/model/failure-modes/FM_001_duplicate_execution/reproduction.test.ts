import { describe, expect, it } from 'vitest'
import { COMMIT_FENCE, rulesLeavingOut } from '../../../../src/lab/rules-left-out.ts'
import { brokenInvariants } from '../../../../src/lab/story.ts'
import { bothWorkersFinish } from '../../../../src/lab/duplicate-execution.ts'

describe('FM_001 duplicate execution, reproduced', () => {
  it('both workers charge the card when nothing is checked at commit', () => {
    const { authority, ledger, answers } = bothWorkersFinish(rulesLeavingOut(...COMMIT_FENCE))
    expect(answers).toEqual({ slow: 'committed', quick: 'committed' })
    expect(ledger.charges).toEqual(['slow', 'quick'])
    expect(brokenInvariants(authority)).toContain(3)
  })

  it.each(COMMIT_FENCE)('with %s alone put back, the card is charged once', (kept) => {
    const others = COMMIT_FENCE.filter((guard) => guard !== kept)
    expect(bothWorkersFinish(rulesLeavingOut(...others)).ledger.charges).toHaveLength(1)
  })
})
