/** Limits: how many at once, and how many per period, as a token bucket. */
import { describe, expect, it } from 'vitest'
import type { Rate } from './model.ts'
import { changeRate, chargeGrant, creditEnd, mayStartAt, noUsage } from './usage.ts'

const two = { key: 'k', concurrency: 2, rate: null }
const tenPerMinute = { key: 'k', concurrency: null, rate: { count: 10, perMs: 60_000 } }

describe('concurrency', () => {
  it('has room while fewer than the limit are held', () => {
    expect(mayStartAt(two, undefined, 7)).toBe(7)
    expect(mayStartAt(two, { held: 1, fullAt: 0 }, 7)).toBe(7)
  })

  it('has none at the limit, and no time alone makes any', () => {
    expect(mayStartAt(two, { held: 2, fullAt: 0 }, 7)).toBe(Infinity)
  })

  it('has room again when a lease ends', () => {
    const usage = noUsage()
    chargeGrant(usage, two, 0, false)
    chargeGrant(usage, two, 0, false)
    creditEnd(usage)
    expect(mayStartAt(two, usage, 0)).toBe(0)
  })
})

/** How many start at once, and when the next may. */
function burst(rate: Rate, now: number): { started: number; next: number } {
  const limit = { key: 'k', concurrency: null, rate }
  const usage = noUsage()
  let started = 0
  while (mayStartAt(limit, usage, now) <= now) {
    chargeGrant(usage, limit, now, false)
    started += 1
  }
  return { started, next: mayStartAt(limit, usage, now) }
}

describe('a rate', () => {
  it('lets a full bucket go at once, and then one token at a time', () => {
    const usage = noUsage()
    for (let i = 0; i < 10; i++) {
      expect(mayStartAt(tenPerMinute, usage, 1_000)).toBe(1_000)
      chargeGrant(usage, tenPerMinute, 1_000, false)
    }
    expect(mayStartAt(tenPerMinute, usage, 1_000)).toBe(7_000)
    expect(mayStartAt(tenPerMinute, usage, 7_000)).toBe(7_000)
    chargeGrant(usage, tenPerMinute, 7_000, false)
    expect(mayStartAt(tenPerMinute, usage, 7_000)).toBe(13_000)
  })

  it('never lets more than its count start within a period that begins full', () => {
    const usage = noUsage()
    let started = 0
    for (let now = 0; now < 60_000; now += 100) {
      if (mayStartAt(tenPerMinute, usage, now) > now) continue
      chargeGrant(usage, tenPerMinute, now, false)
      started++
    }
    // Ten that were saved up, and those refilled meanwhile.
    expect(started).toBe(19)
  })

  it('that takes the place of a slower one begins empty, and not with its debt', () => {
    const usage = noUsage()
    const onePerHour = { ...tenPerMinute, rate: { count: 1, perMs: 3_600_000 } }
    chargeGrant(usage, onePerHour, 0, false)
    changeRate(usage, tenPerMinute.rate, 1_000)
    expect(mayStartAt(tenPerMinute, usage, 1_000)).toBe(7_000)
    // It was a slower one, and has no more to give now.
    changeRate(usage, onePerHour.rate, 1_000)
    expect(mayStartAt(onePerHour, usage, 1_000)).toBe(61_000)
    changeRate(usage, null, 1_000)
    expect(usage.fullAt).toBe(61_000)
  })

  it('is full again after a period of rest, and no fuller', () => {
    const usage = noUsage()
    chargeGrant(usage, tenPerMinute, 0, false)
    for (let i = 0; i < 10; i++) chargeGrant(usage, tenPerMinute, 600_000, false)
    expect(mayStartAt(tenPerMinute, usage, 600_000)).toBe(606_000)
  })

  it('costs nobody a token who only finishes what is committed', () => {
    const usage = noUsage()
    chargeGrant(usage, tenPerMinute, 0, true)
    expect(usage).toEqual({ held: 1, fullAt: 0 })
  })

  it('is rounded up to whole milliseconds, never down', () => {
    const three = { key: 'k', concurrency: null, rate: { count: 3, perMs: 1_000 } }
    const usage = noUsage()
    for (let i = 0; i < 3; i++) chargeGrant(usage, three, 0, false)
    expect(mayStartAt(three, usage, 0)).toBe(334)
  })

  it('has room when nobody ever started', () => {
    expect(mayStartAt(tenPerMinute, undefined, 5)).toBe(5)
  })

  it.each([7, 100, 1_000, 60_000])('lets exactly its count start at once, per %i ms', (perMs) => {
    const now = 1_800_000_000_123
    for (let count = 1; count <= 200; count++) {
      const { started, next } = burst({ count, perMs }, now)
      expect(started, `of ${count}`).toBe(count)
      expect(next - now, `after ${count}`).toBe(
        Math.ceil(Math.ceil((perMs * 1_024) / count) / 1_024),
      )
    }
  })

  it('is never so fast that its tokens vanish', () => {
    const usage = noUsage()
    const fast = { key: 'k', concurrency: null, rate: { count: 1_000_000, perMs: 100 } }
    const now = 1_800_000_000_000
    chargeGrant(usage, fast, now, false)
    expect(usage.fullAt).toBe(now + 1 / 1_024)
    for (let i = 1; i < 1_000_000; i++) chargeGrant(usage, fast, now, false)
    expect(usage.fullAt).toBe(now + 1_000_000 / 1_024)
    expect(mayStartAt(fast, usage, now)).toBe(now + 1)
  })
})
