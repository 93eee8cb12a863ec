import { describe, expect, it } from 'vitest'
import { DEFAULT_RETRY, RULES } from '../../../../src/kernel/index.ts'
import { MANY, manyFailTogether, SOME, theServiceIsDown } from '../../../../src/lab/retry-storm.ts'

describe('FM_007 retry storm, prevented', () => {
  it('with jitter a thousand jobs come back apart', () => {
    const dueAt = manyFailTogether({ delayMs: 60_000, jitter: 1 })
    const perSecond = new Map<number, number>()
    for (const time of dueAt) {
      const second = Math.floor(time / 1_000)
      perSecond.set(second, (perSecond.get(second) ?? 0) + 1)
    }
    expect(new Set(dueAt).size).toBeGreaterThan(0.95 * MANY)
    expect(Math.max(...perSecond.values())).toBeLessThan(0.04 * MANY)
    expect(Math.max(...dueAt)).toBeLessThanOrEqual(60_000)
  })

  it('a task is not granted before its retry time, so the calls are as far apart as the policy says', () => {
    const { callsAt } = theServiceIsDown(RULES)
    expect([...callsAt]).toEqual([
      [0, SOME],
      [1_000, SOME],
      [2_000, SOME],
      [3_000, SOME],
    ])
  })

  it('each wait is twice as long as the one before it, up to the cap', () => {
    const patient = { max: 5, backoff: 'exponential', delayMs: 1_000, capMs: 4_000 } as const
    const times = [...theServiceIsDown(RULES, { retry: patient }).callsAt.keys()]
    const waits = times.slice(1).map((time, i) => time - (times[i] ?? 0))
    expect(waits).toEqual([1_000, 2_000, 4_000, 4_000, 4_000])
  })

  it('however long the outage lasts, no task is tried more often than its budget says', () => {
    const { authority, callsAt } = theServiceIsDown(RULES)
    const calls = [...callsAt.values()].reduce((sum, count) => sum + count, 0)
    expect(calls).toBe(SOME * (1 + DEFAULT_RETRY.max))
    expect(authority.state()).toBe('QUARANTINED')
  })

  it('never more tasks call the service at once than the limit says', () => {
    expect(theServiceIsDown(RULES, { concurrency: 10 }).mostAtOnce).toBe(10)
  })
})
