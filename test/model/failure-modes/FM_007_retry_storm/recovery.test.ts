import { describe, expect, it } from 'vitest'
import { RULES } from '../../../../src/kernel/index.ts'
import { SOME, theServiceIsDown, workUntilNothingIsDue } from '../../../../src/lab/retry-storm.ts'

describe('FM_007 retry storm, recovered', () => {
  it('when the service comes back in time, every task is done without a person', () => {
    const { authority, ledger } = theServiceIsDown(RULES, { concurrency: 10, upFrom: 2_000 })
    expect(authority.state()).toBe('SUCCEEDED')
    expect(ledger.charges).toHaveLength(SOME)
  })

  it('when it comes back too late, an operator gives each task a fresh budget: RetryTask', () => {
    const { authority } = theServiceIsDown(RULES)
    for (let segment = 0; segment < SOME; segment++) authority.must({ type: 'RetryTask', segment })
    const { ledger } = workUntilNothingIsDue(authority, 0, 'second')
    expect(authority.state()).toBe('SUCCEEDED')
    expect(ledger.charges).toHaveLength(SOME)
  })
})
