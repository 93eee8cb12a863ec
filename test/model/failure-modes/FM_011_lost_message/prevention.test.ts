import { describe, expect, it } from 'vitest'
import { RULES } from '../../../../src/kernel/index.ts'
import { theApprovalIsFirst } from '../../../../src/lab/lost-message.ts'

describe('FM_011 message lost before the wait, prevented', () => {
  it('the message is kept, and the worker that wants to wait is told that it is there', () => {
    const { authority, answers } = theApprovalIsFirst(RULES)
    expect(answers).toEqual({
      send: 'committed',
      suspend: 'rejected: WaitSettled by outcome-open',
    })
    expect(authority.state()).toBe('RUNNING')
    expect(authority.task('a').waiting?.messages).toMatchObject([{ id: 'm1', state: 'KEPT' }])
  })
})
