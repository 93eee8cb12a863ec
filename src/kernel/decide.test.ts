import { describe, expect, it } from 'vitest'
import { Authority } from '../../test/support/authority.ts'
import { plain, promise } from '../../test/support/specs.ts'

describe('the life of a plain job', () => {
  it('goes from submit over grant and commit to SUCCEEDED', () => {
    const a = new Authority()
    a.must({ type: 'SubmitJob', spec: plain() })
    expect(a.state()).toBe('QUEUED')
    a.must({ type: 'GrantLease', started: true })
    expect(a.state()).toBe('RUNNING')
    a.must({ type: 'CommitExecution' })
    expect(a.state()).toBe('SUCCEEDED')
  })

  it('is not over before every effect is finished', () => {
    const a = new Authority()
    a.must({ type: 'SubmitJob', spec: plain() })
    a.must({ type: 'GrantLease', started: true })
    a.must({ type: 'CommitExecution', effects: [promise()] })
    expect(a.state()).toBe('RUNNING')
    a.must({ type: 'StartEffect' })
    a.must({ type: 'FinishEffect' })
    expect(a.state()).toBe('SUCCEEDED')
  })
})
