import { describe, expect, it } from 'vitest'
import { Pace } from './pace.ts'

/** A worker whose handlers ended, so many in so long. */
function measured(jobs: number, ms: number): Pace {
  const pace = new Pace()
  pace.restart(0)
  for (let i = 0; i < jobs; i++) pace.noteEnded()
  pace.measure(ms)
  return pace
}

/** Until groups have grown as far as they may. */
function grown(jobs: number, ms: number): Pace {
  const pace = measured(jobs, ms)
  for (let i = 0; i < 20; i++) pace.noteGranted(1, 1)
  return pace
}

describe('the pace of a worker', () => {
  it('that was never measured lets nothing be claimed ahead', () => {
    expect(new Pace().groupSize(0, 10)).toBe(0)
    // Too short to say something.
    expect(measured(100, 4).groupSize(0, 10)).toBe(0)
  })

  it('lets two groups be in hand, each of what begins within a tenth of a second', () => {
    expect(grown(30, 10).groupSize(0, 10)).toBe(300)
    expect(grown(30, 10).groupSize(300, 10)).toBe(300)
    expect(grown(30, 10).groupSize(600, 10)).toBe(0)
  })

  it('lets nothing be claimed ahead of handlers that take longer than that', () => {
    expect(grown(10, 1_000).groupSize(0, 10)).toBe(0)
    expect(grown(10, 101).groupSize(0, 10)).toBe(0)
    expect(grown(10, 100).groupSize(0, 10)).toBe(10)
  })

  it('lets the next group be claimed when no more than one is in hand', () => {
    const pace = grown(30, 10)
    expect(pace.groupSize(301, 10)).toBe(0)
    expect(pace.groupSize(300, 10)).toBe(300)
  })

  it('has a bound, however quick handlers are', () => {
    expect(grown(100_000, 10).groupSize(0, 10)).toBe(500)
  })

  it('lets less be claimed ahead where inputs are large', () => {
    const pace = grown(100_000, 10)
    pace.noteChars(1_048_576)
    expect(pace.groupSize(0, 10)).toBe(8)
    expect(pace.groupSize(9, 10)).toBe(0)
    pace.noteChars(200)
    expect(pace.groupSize(0, 10)).toBe(500)
  })

  it('begins with small groups, and doubles them while all is granted', () => {
    const pace = measured(1_000, 10)
    const sizes = Array.from({ length: 8 }, () => {
      const size = pace.groupSize(0, 10)
      pace.noteGranted(size, size)
      return size
    })
    expect(sizes).toEqual([16, 32, 64, 128, 256, 500, 500, 500])
  })

  it('asks for little where little is granted, so that a claim reads few tasks in vain', () => {
    const pace = grown(1_000, 10)
    pace.noteGranted(1_000, 0)
    expect(pace.groupSize(0, 10)).toBe(1)
    pace.noteGranted(1, 1)
    expect(pace.groupSize(0, 10)).toBe(2)
    pace.noteGranted(2, 1)
    expect(pace.groupSize(0, 10)).toBe(2)
  })

  it('does not count the time in which there was nothing to do', () => {
    const pace = new Pace()
    pace.restart(1_000)
    for (let i = 0; i < 50; i++) pace.noteEnded()
    pace.measure(1_010)
    for (let i = 0; i < 20; i++) pace.noteGranted(1, 1)
    expect(pace.groupSize(0, 10)).toBe(500)
  })

  it('is unknown again AFTER it was forgotten', () => {
    const pace = grown(50, 10)
    pace.forget(10)
    expect(pace.groupSize(0, 10)).toBe(0)
  })
})
