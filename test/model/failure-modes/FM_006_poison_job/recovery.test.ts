import { describe, expect, it } from 'vitest'
import { RULES } from '../../../../src/kernel/index.ts'
import { Authority } from '../../../../src/lab/authority.ts'
import { plain, retry } from '../../../../src/lab/specs.ts'
import { DeedLedger } from '../../../../src/lab/deed-ledger.ts'
import { LEASE_MS, StoryWorker } from '../../../../src/lab/story-worker.ts'
import { everyWorkerDies } from '../../../../src/lab/poison-job.ts'

describe('FM_006 a job that kills its worker each time, recovered', () => {
  it('an operator repairs the input and retries: RetryTask', () => {
    const { authority } = everyWorkerDies(RULES, { started: true })
    const ledger = new DeedLedger()
    authority.must({ type: 'RetryTask', input: '{"repaired":true}' })
    expect(authority.state()).toBe('QUEUED')

    const survivor = new StoryWorker('survivor', authority, ledger)
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
    new StoryWorker('dies', authority, new DeedLedger()).take()
    authority.advance(LEASE_MS)
    authority.must({ type: 'ExpireLease' })
    expect(authority.state()).toBe('FAILED')
  })
})
