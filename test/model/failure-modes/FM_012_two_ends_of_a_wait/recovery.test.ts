import { describe, expect, it } from 'vitest'
import { RULES } from '../../../../src/kernel/index.ts'
import { approval } from '../../../../src/lab/approval-wait.ts'
import { twoWorkersEndIt } from '../../../../src/lab/two-ends-of-a-wait.ts'

describe('FM_012 two workers finish one wait, recovered', () => {
  it('the worker that has the lease goes on, asking again gets the same answer, and the other message is kept', () => {
    const { authority, ledger, second } = twoWorkersEndIt(RULES)
    expect(second.endWait(approval(), 'm1')).toBe('committed')
    expect(authority.task('a').waiting?.messages).toMatchObject([
      { id: 'm1', state: 'TAKEN' },
      { id: 'm2', state: 'KEPT' },
    ])
    second.commit()
    expect(authority.state()).toBe('SUCCEEDED')
    expect(ledger.charges).toEqual(['second'])
  })
})
