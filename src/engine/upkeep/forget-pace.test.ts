import { describe, expect, it } from 'vitest'
import { ForgetPace } from './forget-pace.ts'

describe('forgetting', () => {
  it('does not rest while nothing else happens', () => {
    const pace = new ForgetPace({ others: 7, ends: 7 })
    expect(pace.restMs(0)).toBe(0)
    pace.forgot(500, 100, 1_000)
    expect(pace.restMs(1_000)).toBe(0)
  })

  it('rests four times as long as a batch took, beside others', () => {
    const traffic = { others: 7, ends: 7 }
    const pace = new ForgetPace(traffic)
    pace.forgot(500, 100, 1_000)
    traffic.others += 1
    expect(pace.restMs(1_000)).toBe(400)
    expect(pace.restMs(1_399)).toBe(1)
    expect(pace.restMs(1_400)).toBe(0)
  })

  it('keeps up with jobs that end: it rests no longer than until as many have', () => {
    const traffic = { others: 7, ends: 7 }
    const pace = new ForgetPace(traffic)
    pace.forgot(500, 100, 1_000)
    traffic.others += 499
    traffic.ends += 499
    expect(pace.restMs(1_001)).toBe(399)
    traffic.ends += 1
    expect(pace.restMs(1_001)).toBe(0)
  })
})
