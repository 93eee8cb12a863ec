import { describe, expect, it } from 'vitest'
import { Authority } from '../../../../src/lab/authority.ts'
import { plain, promise } from '../../../../src/lab/specs.ts'
import { DeedLedger } from '../../../../src/lab/deed-ledger.ts'
import { LEASE_MS, StoryWorker } from '../../../../src/lab/story-worker.ts'

describe('FM_004 answer lost, report repeated, recovered', () => {
  it('a worker that died before it heard the answer is not needed: the promise is in the log', () => {
    const authority = new Authority()
    const ledger = new DeedLedger()
    const dies = new StoryWorker('dies', authority, ledger)
    const next = new StoryWorker('next', authority, ledger)

    authority.must({ type: 'SubmitJob', spec: plain() })
    dies.take()
    dies.commit({ effects: [promise({ name: 'charge' })], heard: false })
    authority.advance(LEASE_MS)
    authority.must({ type: 'ExpireLease' })

    next.take()
    next.perform(0)
    next.finish(0)
    expect(authority.state()).toBe('SUCCEEDED')
    expect(ledger.charges).toEqual(['next'])
  })

  it('a worker that never heard of its lease asks again and gets the same one', () => {
    const authority = new Authority()
    authority.must({ type: 'SubmitJob', spec: plain() })
    const request = { type: 'GrantLease', worker: 'w1', request: 7, started: true } as const
    expect(authority.must(request).value).toBe(1)
    expect(authority.must(request)).toMatchObject({ value: 1, entry: null })
    authority.must({ type: 'CommitExecution', worker: 'w1', lease: 1 })
    expect(authority.state()).toBe('SUCCEEDED')
  })

  it('known limit: what a worker meant to do, and did not promise, is lost with the worker', () => {
    const authority = new Authority()
    const ledger = new DeedLedger()
    const dies = new StoryWorker('dies', authority, ledger)

    authority.must({ type: 'SubmitJob', spec: plain() })
    dies.take()
    dies.commit({ heard: false })
    expect(authority.state()).toBe('SUCCEEDED')
    expect(ledger.charges).toEqual([])
  })
})
