import { describe, expect, it } from 'vitest'
import { Authority } from '../../../../src/lab/authority.ts'
import { plain, retry } from '../../../../src/lab/specs.ts'
import { DeedLedger } from '../../../../src/lab/deed-ledger.ts'
import { LEASE_MS, StoryWorker } from '../../../../src/lab/story-worker.ts'

/** DEAD at attempt 1, for want of retries. */
function deadTask(): { authority: Authority; ledger: DeedLedger } {
  const authority = new Authority()
  const ledger = new DeedLedger()
  authority.must({ type: 'SubmitJob', spec: plain({}, { retry: retry({ max: 0 }) }) })
  new StoryWorker('slow', authority, ledger).take()
  authority.advance(LEASE_MS)
  authority.must({ type: 'ExpireLease' })
  return { authority, ledger }
}

describe('FM_009 operator retry races a late worker, recovered', () => {
  it('an operator who was refused looks again and decides on what is there now', () => {
    const { authority, ledger } = deadTask()
    authority.must({ type: 'ForceTask', attempt: 1, to: 'WAITING', output: null })
    new StoryWorker('second', authority, ledger).take()
    authority.advance(LEASE_MS)
    authority.must({ type: 'ExpireLease' })

    const refused = authority.send({ type: 'RetryTask', attempt: 1 })
    expect(refused.rejection?.details).toEqual({ attempt: 2 })
    authority.must({ type: 'RetryTask', attempt: 2 })

    const third = new StoryWorker('third', authority, ledger)
    third.take()
    third.commit()
    expect(authority.state()).toBe('SUCCEEDED')
    expect(ledger.charges).toEqual(['third'])
  })

  it('an operator who presses twice retries once', () => {
    const { authority } = deadTask()
    authority.must({ type: 'RetryTask', attempt: 1 })
    expect(authority.must({ type: 'RetryTask', attempt: 1 }).entry).toBeNull()
    expect(authority.log.filter((entry) => entry.type === 'TaskRetried')).toHaveLength(1)
  })
})
