import { describe, expect, it } from 'vitest'
import { RULES } from '../../../../src/kernel/index.ts'
import { twoWorkersEndIt } from '../../../../src/lab/two-ends-of-a-wait.ts'

describe('FM_012 two workers finish one wait, prevented', () => {
  it('the late worker is told cancelled, and the wait stays as it ended', () => {
    const { authority, ledger, answers } = twoWorkersEndIt(RULES)
    expect(answers).toEqual({ live: 'committed', late: 'cancelled' })
    expect(ledger.doneBy('"yes"')).toEqual(['second'])
    expect(ledger.doneBy('"no"')).toEqual([])
    expect(authority.task('a').waiting?.waits).toMatchObject([{ value: '"yes"' }])
  })
})
