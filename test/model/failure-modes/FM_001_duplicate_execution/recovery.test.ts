import { describe, expect, it } from 'vitest'
import { Authority } from '../../../../src/lab/authority.ts'
import { plain } from '../../../../src/lab/specs.ts'
import { DeedLedger } from '../../../../src/lab/deed-ledger.ts'
import { LEASE_MS, StoryWorker } from '../../../../src/lab/story-worker.ts'

describe('FM_001 duplicate execution, recovered', () => {
  it('time takes the lease from a silent worker, and the next worker ends the job', () => {
    const authority = new Authority()
    const ledger = new DeedLedger()
    const silent = new StoryWorker('silent', authority, ledger)
    const next = new StoryWorker('next', authority, ledger)

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
    const next = new StoryWorker('next', authority, new DeedLedger())

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
