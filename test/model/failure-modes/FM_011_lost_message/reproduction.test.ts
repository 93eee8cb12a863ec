import { describe, expect, it } from 'vitest'
import { rulesWithout } from '../../../../src/kernel/index.ts'
import { brokenInvariants } from '../../../../src/lab/story.ts'
import { theApprovalIsFirst } from '../../../../src/lab/lost-message.ts'

describe('FM_011 message lost before the wait, reproduced', () => {
  it('the approval is there and the job waits for ever, when a suspension does not look for it', () => {
    const { authority, answers } = theApprovalIsFirst(rulesWithout('SuspendExecution.outcome-open'))
    expect(answers).toEqual({ send: 'committed', suspend: 'committed' })
    authority.now += 365 * 86_400_000
    expect(authority.state()).toBe('SUSPENDED')
    expect(brokenInvariants(authority)).not.toEqual([])
  })
})
