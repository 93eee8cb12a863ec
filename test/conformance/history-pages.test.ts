/** Histories that are read page by page: each entry is read once, and the pages are those of the whole. */
import { describe, expect, it } from 'vitest'
import { HistoryReplays, jobHistory } from '../../src/engine/inspect/history.ts'
import type { HistoryItem } from '../../src/engine/inspect/history.ts'
import type { Command } from '../../src/kernel/index.ts'
import type { Query, Store } from '../../src/store/index.ts'
import { onRecord, plain } from '../support/specs.ts'
import { setUp, STORES } from './bench.ts'

const ENTRIES = 200
const LIMIT = 9

/** The same store, and how many entries of histories it gave. */
function counting(store: Store): Store & { given: number } {
  const counted = {
    given: 0,
    query: async (query: Query) => {
      const answer = await store.query(query)
      if (query.kind === 'history') counted.given += (answer as readonly unknown[]).length
      return answer
    },
  }
  return counted as unknown as Store & { given: number }
}

describe.each(Object.keys(STORES))('a history in the %s store', (kind) => {
  it('is read once, page by page, with the states that the whole has', async () => {
    const { store, clock } = await setUp(kind)
    await store.execute([{ type: 'SubmitJob', job: 'a', spec: plain() }])
    const at = { job: 'a', stage: 0, segment: 0 }
    for (let i = 1; i < ENTRIES; i++) {
      const to = { attempt: 0, dueAt: null, priority: i % 100, toQueue: null }
      const command: Command = { type: 'RescheduleTask', ...at, ...to, ...onRecord }
      const [answer] = await store.execute([command])
      expect(answer?.verdict, answer?.rejection?.message).toBe('committed')
    }
    const page = (from: Store, after: number, limit: number, replays = new HistoryReplays()) =>
      jobHistory(from, 'a', { after, limit }, clock.time, replays)
    const whole = await page(store, 0, 2 * ENTRIES)
    expect(whole).toHaveLength(ENTRIES)
    const counted = counting(store)
    const replays = new HistoryReplays()
    const items: HistoryItem[] = []
    for (;;) {
      const found = await page(counted, items.at(-1)?.position ?? 0, LIMIT, replays)
      items.push(...found)
      if (found.length < LIMIT) break
    }
    expect(items).toEqual(whole)
    // One more for each page says whether there is a next one.
    expect(counted.given).toBeLessThanOrEqual(ENTRIES + Math.ceil(ENTRIES / LIMIT))
    // From anywhere, and again, it is the same.
    const middle = whole[100]?.position as number
    for (let i = 0; i < 2; i++) {
      expect(await page(store, middle, LIMIT, replays)).toEqual(whole.slice(101, 101 + LIMIT))
    }
    await store.close()
  })
})
