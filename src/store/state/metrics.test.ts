import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Histogram } from './metrics.ts'

describe('a histogram', () => {
  it('puts every number into the one bucket whose bounds hold it', () => {
    const number = fc.oneof(
      fc.integer({ min: -10, max: 100 }),
      fc.double({ min: 0, max: 1e12, noNaN: true }),
      fc.integer({ min: 0, max: 31 }).map((power) => 2 ** power),
      fc.integer({ min: 0, max: 31 }).map((power) => 2 ** power - 1),
    )
    fc.assert(
      fc.property(number, (value) => {
        const histogram = new Histogram()
        histogram.add(value)
        const { bounds, counts, count } = histogram.distribution
        const whole = Math.max(0, Math.floor(value))
        const bucket = bounds.findIndex((bound) => whole <= bound)
        expect(counts.map((one, i) => (one > 0 ? i : -1)).filter((i) => i >= 0)).toEqual([bucket])
        expect(count).toBe(1)
      }),
    )
  })

  it('knows how many there were, and their sum', () => {
    const histogram = new Histogram()
    for (const value of [0, 1, 2, 3, 4.9, -7]) histogram.add(value)
    const { count, sum, bounds, counts } = histogram.distribution
    expect([count, sum]).toEqual([6, 10])
    expect(bounds.slice(0, 4)).toEqual([0, 1, 3, 7])
    expect(counts.slice(0, 5)).toEqual([2, 1, 2, 1, 0])
    expect(bounds.at(-1)).toBe(Infinity)
  })

  it('gives a copy', () => {
    const histogram = new Histogram()
    const before = histogram.distribution
    histogram.add(1)
    expect(before.count).toBe(0)
    expect(before.counts.every((count) => count === 0)).toBe(true)
  })
})
