import { describe, expect, it } from 'vitest'
import { RULES } from '../../../../src/kernel/index.ts'
import {
  anOperatorActsOnAnOldView,
  theSlowWorkerReportsAfterTheRetry,
} from '../../../../src/lab/operator-race.ts'

describe('FM_009 operator retry races a late worker, prevented', () => {
  it('the worker that was given up is answered cancelled, and the card is charged once', () => {
    const { authority, ledger, answers } = theSlowWorkerReportsAfterTheRetry(RULES)
    expect(answers).toEqual({ retried: 'committed', slow: 'cancelled', next: 'committed' })
    expect(ledger.charges).toEqual(['next'])
    expect(authority.state()).toBe('SUCCEEDED')
  })

  it('a retry that was decided on an old view is refused, and nothing is run', () => {
    const { authority, ledger, answers } = anOperatorActsOnAnOldView(RULES)
    expect(answers).toEqual({
      ann: 'rejected: TaskChanged by attempt-seen',
      bob: 'committed',
    })
    expect(ledger.charges).toEqual(['bob'])
    expect(authority.task().output).toBe('"paid by hand"')
    expect(authority.state()).toBe('SUCCEEDED')
  })
})
