import { describe, expect, it } from 'vitest'
import { RULES } from '../../../../src/kernel/index.ts'
import { theFormIsOld, theWorkerIsOld } from '../../../../src/lab/approval-after-deploy.ts'

describe('FM_014 approval after the deploy, prevented', () => {
  it('the approval of the old form is refused with the new one, and the wait stays open', () => {
    const { authority, answers } = theFormIsOld(RULES)
    expect(answers).toEqual({ approve: 'rejected: MessageNotChecked by value-checked' })
    expect(authority.state()).toBe('SUSPENDED')
  })

  it('the older worker may not record anything, and gives the job back', () => {
    const { authority, answers } = theWorkerIsOld(RULES)
    expect(answers['suspend']).toMatch(/^rejected: \w+ by definition-not-older$/)
    authority.must({ type: 'ReleaseLease', worker: 'old', lease: 2 })
    expect(authority.state()).toBe('QUEUED')
  })
})
