import { describe, expect, it } from 'vitest'
import { plain } from '../../../test/support/specs.ts'
import type { Job } from '../../kernel/index.ts'
import { createJob } from '../../kernel/index.ts'
import { LiveJobMap } from './live-job-map.ts'

function job(id: string): Job {
  return createJob({ type: 'JobSubmitted', job: id, at: 1, version: 1, spec: plain(), dueAt: 1 })
}

function sorted(entries: Iterable<[string, Job]>): string[] {
  return [...entries].map(([id]) => id).toSorted()
}

describe('the jobs in memory', () => {
  it('are a map like any other', () => {
    const jobs = new LiveJobMap(() => null)
    const plainMap = new Map<string, Job>()
    for (let i = 0; i < 1_000; i++) {
      const one = job(`job ${i % 700}`)
      jobs.set(one.id, one)
      plainMap.set(one.id, one)
      if (i % 3 === 0) expect(jobs.delete(`job ${i}`)).toBe(plainMap.delete(`job ${i}`))
    }
    expect(jobs.size).toBe(plainMap.size)
    for (const [id, one] of plainMap) expect(jobs.get(id)).toBe(one)
    expect(sorted(jobs)).toEqual(sorted(plainMap))
    expect([...jobs.keys()].toSorted()).toEqual([...plainMap.keys()].toSorted())
    expect(new Set(jobs.values())).toEqual(new Set(plainMap.values()))
    const seen: string[] = []
    // oxlint-disable-next-line unicorn/no-array-for-each -- it is what is tested
    jobs.forEach((one, id) => seen.push(`${id}${one.id}`))
    expect(seen).toHaveLength(plainMap.size)
    jobs.clear()
    expect(jobs.size).toBe(0)
  })

  it('are looked for elsewhere when they are not here, but not to peek', () => {
    const away = job('away')
    const jobs = new LiveJobMap((id) => (id === 'away' ? away : null))
    expect(jobs.get('away')).toBe(away)
    expect(jobs.has('away')).toBe(true)
    expect(jobs.has('nowhere')).toBe(false)
    expect(jobs.peek('away')).toBeUndefined()
  })
})
