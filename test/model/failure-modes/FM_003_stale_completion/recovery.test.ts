import { describe, expect, it } from 'vitest'
import { Authority } from '../../../../src/lab/authority.ts'
import { plain } from '../../../../src/lab/specs.ts'
import { DeedLedger } from '../../../../src/lab/deed-ledger.ts'
import { LEASE_MS, StoryWorker } from '../../../../src/lab/story-worker.ts'
import { restart } from '../../../../src/lab/stale-completion.ts'

describe('FM_003 stale completion after recovery, recovered', () => {
  it('a worker that outlived the restart is not stale: its lease is in the log', () => {
    const authority = new Authority()
    const ledger = new DeedLedger()
    const worker = new StoryWorker('worker', authority, ledger)

    authority.must({ type: 'SubmitJob', spec: plain() })
    worker.take()
    restart(authority)
    expect(worker.commit()).toBe('committed')
    expect(authority.state()).toBe('SUCCEEDED')
    expect(ledger.charges).toEqual(['worker'])
  })

  it('a stale worker is told cancelled, drops its work, and is given new work', () => {
    const authority = new Authority()
    const ledger = new DeedLedger()
    const stale = new StoryWorker('stale', authority, ledger)

    authority.must({ type: 'SubmitJob', spec: plain() })
    stale.take()
    authority.advance(LEASE_MS)
    authority.must({ type: 'ExpireLease' })
    restart(authority)

    expect(stale.commit()).toBe('cancelled')
    expect(stale.take()).toBe('committed')
    expect(stale.commit()).toBe('committed')
    expect(authority.state()).toBe('SUCCEEDED')
    expect(ledger.charges).toEqual(['stale'])
  })
})
