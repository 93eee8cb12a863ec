import { describe, expect, it } from 'vitest'
import { RULES } from '../../../../src/kernel/index.ts'
import { silenceAfterTheCharge } from '../../../../src/lab/unknown-outcome.ts'

describe('FM_008 effect with unknown outcome, recovered', () => {
  it('reconcile finds that it happened: the effect is finished, not repeated', () => {
    const { authority, ledger, next } = silenceAfterTheCharge(RULES, { reconcile: true })
    next.take()
    const found = { start: 1, outcome: 'happened', by: 'next', reason: 'the bank says so' } as const
    authority.must({ type: 'ResolveEffect', ...found })
    expect(authority.state()).toBe('SUCCEEDED')
    expect(ledger.charges).toEqual(['silent'])
  })

  it('an operator finds that it happened: ResolveEffect happened', () => {
    const { authority, ledger } = silenceAfterTheCharge(RULES, {})
    authority.must({ type: 'ResolveEffect', start: 1, outcome: 'happened' })
    expect(authority.state()).toBe('SUCCEEDED')
    expect(ledger.charges).toEqual(['silent'])
  })

  it('an operator wants it done again: ResolveEffect again', () => {
    const { authority, ledger, next } = silenceAfterTheCharge(RULES, {})
    authority.must({ type: 'ResolveEffect', start: 1, outcome: 'again' })
    expect(authority.state()).toBe('QUEUED')
    next.take()
    next.perform(0)
    next.finish(0)
    expect(authority.state()).toBe('SUCCEEDED')
    expect(ledger.charges).toEqual(['silent', 'next'])
  })

  it('the silent worker comes back and says that it happened: late is fine', () => {
    const { authority, ledger, silent } = silenceAfterTheCharge(RULES, {})
    expect(silent.finish(0)).toBe('committed')
    expect(authority.state()).toBe('SUCCEEDED')
    expect(ledger.charges).toEqual(['silent'])
  })
})
