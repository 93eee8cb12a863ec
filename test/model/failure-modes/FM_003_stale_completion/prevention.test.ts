import { describe, expect, it } from 'vitest'
import { RULES } from '../../../../src/kernel/index.ts'
import {
  aReportFromAnEarlierLife,
  aStaleResultArrives,
} from '../../../../src/lab/stale-completion.ts'

describe('FM_003 stale completion after recovery, prevented', () => {
  it('the stale report is answered cancelled, and the result stands', () => {
    const { authority, ledger, answers, read } = aStaleResultArrives(RULES)
    expect(answers).toEqual({ fresh: 'committed', stale: 'cancelled' })
    expect(read).toEqual({ before: '"fresh"', after: '"fresh"' })
    expect(ledger.charges).toEqual(['fresh'])
    expect(authority.state()).toBe('SUCCEEDED')
  })

  it('a report from an earlier life of the id is not taken for one of this life', () => {
    const { authority, ledger, answers } = aReportFromAnEarlierLife(RULES)
    expect(answers).toEqual({
      old: 'rejected: NotLeaseHolder by lease-holder',
      present: 'committed',
    })
    expect(authority.task().output).toBe('"new order paid"')
    expect(ledger.charges).toEqual(['present'])
  })

  it('known limit: a worker that holds both leases is not told apart from its earlier self', () => {
    const { authority, answers } = aReportFromAnEarlierLife(RULES, 'old')
    expect(answers).toEqual({ old: 'committed', present: 'committed' })
    expect(authority.task().output).toBe('"old order paid"')
  })
})
