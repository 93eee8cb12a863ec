import { describe, expect, it } from 'vitest'
import { Bench } from '../../../test/support/directory-bench.ts'
import type { Command } from '../../kernel/index.ts'
import { OldestOf } from './oldest-of.ts'

function oldestOf(count: number, limit: number): { page: number[]; held: number } {
  const oldest = new OldestOf<number>(limit)
  let held = 0
  for (let n = count; n > 0; n--) {
    oldest.add(n)
    held = Math.max(held, oldest.held)
  }
  return { page: oldest.page, held }
}

describe('the oldest few of many', () => {
  it('are the first ones, in order, and no more than are asked for', () => {
    for (const limit of [0, 1, 2, 63, 64, 65, 1_000, Infinity]) {
      for (const count of [0, 1, 2, 64, 65, 127, 128, 129, 700]) {
        const expected = Array.from({ length: Math.min(count, limit) }, (_, i) => i + 1)
        expect(oldestOf(count, limit).page).toEqual(expected)
      }
    }
    expect(oldestOf(10, -1).page).toEqual([])
  })

  it('take no more memory for those that are newer', () => {
    expect(oldestOf(100_000, 10).held).toBeLessThan(100)
    expect(oldestOf(100_000, 0).held).toBeLessThan(100)
    expect(oldestOf(100_000, 1_000).held).toBeLessThan(2_100)
  })
})

describe('a long history', () => {
  it('is read page by page, from the oldest entry on', async () => {
    const bench = await new Bench().open()
    await bench.submit('a')
    const claim = { worker: 'w', request: 1, max: 1, started: true }
    await bench.store.claim({
      ...claim,
      channels: [{ queue: 'default', type: 'test', stage: null }],
    })
    const lease = { job: 'a', stage: 0, segment: 0, lease: 1, worker: 'w' }
    const steps = Array.from({ length: 300 }, (_, i): Command => {
      return { type: 'RecordStep', ...lease, name: `step ${i}`, value: '1' }
    })
    await bench.store.execute(steps)
    const whole = await bench.store.query({ kind: 'history', job: 'a', limit: 1_000 })
    expect(whole).toHaveLength(302)
    const pages = []
    for (let after = 0; ;) {
      const page = await bench.store.query({ kind: 'history', job: 'a', after, limit: 7 })
      if (page.length === 0) break
      pages.push(...page)
      after = page.at(-1)?.position ?? 0
    }
    expect(pages).toEqual(whole)
  })
})
