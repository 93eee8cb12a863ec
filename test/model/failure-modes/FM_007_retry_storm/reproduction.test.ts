import { describe, expect, it } from 'vitest'
import { DEFAULT_RETRY, rulesWithout } from '../../../../src/kernel/index.ts'
import { MANY, manyFailTogether, SOME, theServiceIsDown } from '../../../../src/lab/retry-storm.ts'

describe('FM_007 retry storm, reproduced', () => {
  it('a thousand jobs come back in the same millisecond when their policy has no jitter', () => {
    const dueAt = manyFailTogether({ delayMs: 60_000, jitter: 0 })
    expect(dueAt).toHaveLength(MANY)
    expect(new Set(dueAt)).toEqual(new Set([60_000]))
  })

  it('every retry is spent at once, on a service that is down, when nobody waits until it is due', () => {
    const outage = theServiceIsDown(rulesWithout('GrantLease.task-due'))
    expect([...outage.callsAt]).toEqual([[0, SOME * (1 + DEFAULT_RETRY.max)]])
    expect(outage.authority.state()).toBe('QUARANTINED')
    expect(outage.broken).toContain(9)
  })

  it('all tasks call the service at once when the limit is not checked', () => {
    const rules = rulesWithout('GrantLease.within-limits')
    const outage = theServiceIsDown(rules, { concurrency: 10 })
    expect(outage.mostAtOnce).toBe(SOME)
    expect(outage.broken).toContain(9)
  })
})
