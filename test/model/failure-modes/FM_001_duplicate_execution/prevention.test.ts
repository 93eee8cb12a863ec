import { describe, expect, it } from 'vitest'
import { RULES } from '../../../../src/kernel/index.ts'
import { bothWorkersFinish } from '../../../../src/lab/duplicate-execution.ts'

describe('FM_001 duplicate execution, prevented', () => {
  it('the worker that lost its lease is answered cancelled, and the card is charged once', () => {
    const { authority, ledger, answers } = bothWorkersFinish(RULES)
    expect(answers).toEqual({ slow: 'cancelled', quick: 'committed' })
    expect(ledger.charges).toEqual(['quick'])
    expect(authority.state()).toBe('SUCCEEDED')
  })

  it('the refusal is on record once, and asking again changes nothing', () => {
    const { authority } = bothWorkersFinish(RULES)
    const late = { type: 'CommitExecution', worker: 'slow', lease: 1 } as const
    expect(authority.send(late)).toMatchObject({ verdict: 'cancelled', entry: null })
    expect(authority.log.filter((entry) => entry.type === 'ReportRefused')).toHaveLength(1)
  })
})
