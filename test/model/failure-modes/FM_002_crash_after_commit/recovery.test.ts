import { describe, expect, it } from 'vitest'
import { executionStatus, RULES } from '../../../../src/kernel/index.ts'
import { crashAfterTheCharge } from '../../../../src/lab/crash-after-commit.ts'

const RECEIPT = 1

describe('FM_002 crash between COMMITTED and DONE, recovered', () => {
  it('the next worker resumes the same execution and finishes it, at no cost', () => {
    const { authority, ledger, next } = crashAfterTheCharge(RULES)
    next.take()
    const resumed = authority.task()
    expect(resumed.lease && executionStatus(resumed, resumed.lease)).toBe('COMMITTED')
    expect(resumed.retries).toBe(0)

    next.perform(RECEIPT)
    next.finish(RECEIPT)
    expect(authority.state()).toBe('SUCCEEDED')
    expect(ledger.deeds.map(({ what, by }) => `${by}: ${what}`)).toEqual([
      'dies: charge',
      'next: receipt',
    ])
  })

  it('a paused queue does not keep it from being finished', () => {
    const { authority, next } = crashAfterTheCharge(RULES)
    authority.must({ type: 'PauseQueue' })
    next.take()
    next.perform(RECEIPT)
    next.finish(RECEIPT)
    expect(authority.state()).toBe('SUCCEEDED')
  })
})
