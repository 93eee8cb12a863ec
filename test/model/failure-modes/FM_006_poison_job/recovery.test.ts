import { describe, expect, it } from 'vitest'
import { RULES } from '../../../../src/kernel/index.ts'
import { Authority } from '../../../support/authority.ts'
import { plain, retry } from '../../../support/specs.ts'
import { Ledger } from '../ledger.ts'
import { LEASE_MS, Worker } from '../worker.ts'
import { everyWorkerDies } from './story.ts'

describe('FM_006 a job that kills its worker each time, recovered', () => {
  it('an operator repairs the input and retries: RetryTask', () => {
    const { authority } = everyWorkerDies(RULES, { started: true })
    const ledger = new Ledger()
    authority.must({ type: 'RetryTask', input: '{"repaired":true}' })
    expect(authority.state()).toBe('QUEUED')

    const survivor = new Worker('survivor', authority, ledger)
    survivor.take()
    survivor.commit()
    expect(authority.state()).toBe('SUCCEEDED')
    expect(ledger.charges).toEqual(['survivor'])
  })

  it('an operator gives it up: CancelJob', () => {
    const { authority } = everyWorkerDies(RULES, { started: true })
    authority.must({ type: 'CancelJob' })
    expect(authority.state()).toBe('FAILED')
  })

  it('a job that says quarantine never ends FAILED without a person', () => {
    const authority = new Authority()
    const spec = plain({}, { quarantine: 'never', retry: retry({ max: 0 }) })
    authority.must({ type: 'SubmitJob', spec })
    new Worker('dies', authority, new Ledger()).take()
    authority.advance(LEASE_MS)
    authority.must({ type: 'ExpireLease' })
    expect(authority.state()).toBe('FAILED')
  })
})
