import { describe, expect, it } from 'vitest'
import { RULES } from '../../../../src/kernel/index.ts'
import { approval } from '../../../../src/lab/approval-wait.ts'
import { LEASE_MS, StoryWorker } from '../../../../src/lab/story-worker.ts'
import { theApprovalIsFirst } from '../../../../src/lab/lost-message.ts'

describe('FM_011 message lost before the wait, recovered', () => {
  it('the worker ends the wait in place, and goes on', () => {
    const { authority, ledger, worker } = theApprovalIsFirst(RULES)
    expect(worker.endWait(approval(), 'm1')).toBe('committed')
    worker.commit()
    expect(ledger.doneBy('"yes"')).toEqual(['worker'])
    expect(authority.state()).toBe('SUCCEEDED')
  })

  it('the worker dies first: the message is there for the next one', () => {
    const { authority, ledger } = theApprovalIsFirst(RULES)
    authority.now += LEASE_MS
    authority.must({ type: 'ExpireLease', lease: 1 })
    const next = new StoryWorker('next', authority, ledger)
    next.take()
    expect(next.endWait(approval(), 'm1')).toBe('committed')
    next.commit()
    expect(authority.state()).toBe('SUCCEEDED')
  })
})
