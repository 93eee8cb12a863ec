import { describe, expect, it } from 'vitest'
import { RULES } from '../../../../src/kernel/index.ts'
import { StoryWorker } from '../../../../src/lab/story-worker.ts'
import {
  approve,
  NEW_FORM,
  theFormIsOld,
  theWorkerIsOld,
} from '../../../../src/lab/approval-after-deploy.ts'

describe('FM_014 approval after the deploy, recovered', () => {
  it('the person fills in the new form, and the job goes on', () => {
    const { authority, ledger } = theFormIsOld(RULES)
    expect(approve(authority, NEW_FORM, '{"ok":true,"amount":30}')).toBe('committed')
    const next = new StoryWorker('next', authority, ledger)
    next.take()
    next.commit()
    expect(authority.state()).toBe('SUCCEEDED')
  })

  it('a worker of the new version takes the job', () => {
    const { authority, ledger } = theWorkerIsOld(RULES)
    authority.must({ type: 'ReleaseLease', worker: 'old', lease: 2 })
    const next = new StoryWorker('next', authority, ledger)
    next.take()
    next.commit()
    expect(authority.state()).toBe('SUCCEEDED')
  })
})
