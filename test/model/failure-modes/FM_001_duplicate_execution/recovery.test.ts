import { describe, expect, it } from 'vitest'
import { Authority } from '../../../support/authority.ts'
import { plain } from '../../../support/specs.ts'
import { Ledger } from '../ledger.ts'
import { LEASE_MS, Worker } from '../worker.ts'

describe('FM_001 duplicate execution, recovered', () => {
  it('time takes the lease from a silent worker, and the next worker ends the job', () => {
    const authority = new Authority()
    const ledger = new Ledger()
    const silent = new Worker('silent', authority, ledger)
    const next = new Worker('next', authority, ledger)

    authority.must({ type: 'SubmitJob', spec: plain() })
    silent.take()
    expect(authority.state()).toBe('RUNNING')

    authority.advance(LEASE_MS)
    authority.must({ type: 'ExpireLease' })
    expect(authority.state()).toBe('QUEUED')
    expect(authority.task().retries).toBe(1)

    next.take()
    next.commit()
    expect(authority.state()).toBe('SUCCEEDED')
    expect(ledger.charges).toEqual(['next'])
  })

  it('what the silent worker saved is not done again', () => {
    const authority = new Authority()
    const next = new Worker('next', authority, new Ledger())

    authority.must({ type: 'SubmitJob', spec: plain() })
    authority.must({ type: 'GrantLease', worker: 'silent', started: true })
    authority.must({ type: 'RecordStep', worker: 'silent', name: 'render', value: '"page"' })
    authority.advance(LEASE_MS)
    authority.must({ type: 'ExpireLease' })

    next.take()
    const asked = { type: 'RecordStep', worker: 'next', name: 'render', value: '"other"' } as const
    expect(authority.must(asked).value).toBe('"page"')
  })
})
