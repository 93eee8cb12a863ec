import { describe, expect, it } from 'vitest'
import { RULES } from '../../../../src/kernel/index.ts'
import { theNextWorkerRunsIt } from '../../../../src/lab/unknown-outcome.ts'

describe('FM_008 effect with unknown outcome, prevented', () => {
  it('an effect that can be reconciled is not started before somebody has looked', () => {
    const { ledger, answers } = theNextWorkerRunsIt(RULES, { reconcile: true })
    expect(answers).toEqual({
      take: 'committed',
      charge: 'rejected: OutcomeUnknown by outcome-known',
    })
    expect(ledger.charges).toEqual(['silent'])
  })

  it('an effect that declares nothing is held for a person, and its task is not given out', () => {
    const { authority, ledger, answers } = theNextWorkerRunsIt(RULES, {})
    expect(answers).toMatchObject({ take: 'rejected: TaskNotWaiting by task-waiting' })
    expect(ledger.charges).toEqual(['silent'])
    expect(authority.task().commit?.effects[0]?.state).toBe('HELD')
    expect(authority.state()).toBe('QUARANTINED')
  })

  it('an idempotent effect is run again, under the same key', () => {
    const { ledger, answers } = theNextWorkerRunsIt(RULES, { idempotent: true })
    expect(answers).toEqual({ take: 'committed', charge: 'committed' })
    expect(ledger.charges).toEqual(['silent', 'next'])
    expect(ledger.keysOf('charge')).toEqual(['a/0/0/0'])
  })
})
