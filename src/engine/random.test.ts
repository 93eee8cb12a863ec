import { describe, expect, it } from 'vitest'
import { JobIds, newJobId } from './random.ts'

const UUID_7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

function timeOf(id: string): number {
  return Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16)
}

function make(count: number, ids: JobIds): string[] {
  return Array.from({ length: count }, () => ids.next())
}

describe('ids of jobs', () => {
  it('are UUIDs of version 7', () => {
    for (let i = 0; i < 1_000; i++) expect(newJobId()).toMatch(UUID_7)
  })

  it('say when they were made, to the millisecond', () => {
    let now = Date.UTC(2026, 10, 17, 12)
    const ids = new JobIds(() => now)
    expect(timeOf(ids.next())).toBe(now)
    now += 1
    expect(timeOf(ids.next())).toBe(now)
    now = 2 ** 48 - 1
    expect(timeOf(ids.next())).toBe(now)
  })

  it('are of whole milliseconds, whatever the clock says', () => {
    expect(timeOf(new JobIds(() => 1_234.9).next())).toBe(1_234)
    expect(timeOf(new JobIds(() => -5).next())).toBe(0)
  })

  it('are in the order in which they were made, within a millisecond and across', () => {
    let calls = 0
    const made = make(200_000, new JobIds(() => 1_700_000_000_000 + Math.floor(calls++ / 30_000)))
    expect(made).toEqual(made.toSorted())
    expect(new Set(made).size).toBe(made.length)
  })

  it('of the process are in one order, and never come twice', () => {
    const made = Array.from({ length: 200_000 }, () => newJobId())
    expect(made).toEqual(made.toSorted())
    expect(new Set(made).size).toBe(made.length)
  })

  it('go on from the latest time when the clock steps back', () => {
    let now = 1_700_000_000_000
    const ids = new JobIds(() => now)
    const before = make(10, ids)
    now -= 3_600_000
    const after = make(10, ids)
    expect([...before, ...after]).toEqual([...before, ...after].toSorted())
    expect(timeOf(after.at(-1) as string)).toBe(1_700_000_000_000)
    now = 1_700_000_000_001
    expect(timeOf(ids.next())).toBe(now)
  })

  it('take the next millisecond when the counter is used up', () => {
    const made = make(100, new JobIds(() => 1_700_000_000_000, 9))
    expect(made).toEqual(made.toSorted())
    expect(new Set(made).size).toBe(made.length)
    expect(timeOf(made.at(-1) as string)).toBeGreaterThan(1_700_000_000_000)
  })

  it('that two processes make in the same millisecond differ', () => {
    const made = Array.from({ length: 1_000 }, () => make(10, new JobIds(() => 1_700_000_000_000)))
    expect(new Set(made.flat()).size).toBe(10_000)
  })
})
