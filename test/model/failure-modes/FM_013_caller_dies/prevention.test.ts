import { describe, expect, it } from 'vitest'
import { RULES } from '../../../../src/kernel/index.ts'
import {
  CALLEE,
  submitCallee,
  theCallerDies,
  theSubmitIsLate,
} from '../../../../src/lab/caller-dies.ts'

describe('FM_013 caller dies between suspension and submit, prevented', () => {
  it('what is to be submitted is on record with the suspension, and twice is once', () => {
    const { authority } = theCallerDies(RULES)
    expect(authority.task('a').waiting?.waits).toMatchObject([{ name: 'call', endedAt: null }])
    expect(submitCallee(authority)).toBe('committed')
    expect(submitCallee(authority)).toBe('committed')
    expect([...authority.world.jobs.keys()]).toEqual(['a', CALLEE])
  })

  it('a caller that went on without it gets no callee any more', () => {
    const { ledger, answers } = theSubmitIsLate(RULES)
    expect(answers['submit']).toBe('rejected: UnknownCaller by callee-promised')
    expect(ledger.charges).toEqual(['worker'])
  })
})
