/**
 * What follows from news, and from commands: who is told, and when.
 */
import { describe, expect, it } from 'vitest'
import { plain } from '../../../test/support/specs.ts'
import type { Command } from '../../kernel/index.ts'
import type { News, NewsKind, Store } from '../../store/index.ts'
import { MemoryStore } from '../../store/index.ts'
import type { CommandListenersParts } from './command-listeners.ts'
import { CommandListeners } from './command-listeners.ts'

function setUp(isShared: boolean): {
  listeners: CommandListeners
  told: string[]
  tell: (...kinds: readonly NewsKind[]) => void
} {
  const told: string[] = []
  const newsListeners = new Set<(news: News) => void>()
  const note =
    (what: string) =>
    (of?: unknown): void =>
      void told.push(typeof of === 'string' ? `${what} ${of}` : what)
  const store: Store = new MemoryStore({ now: () => 0 })
  if (isShared) {
    store.onNews = (listener) => {
      newsListeners.add(listener)
      return () => void newsListeners.delete(listener)
    }
  }
  const parts = {
    store,
    workers: new Set([{ wake: note('worker: wake'), checkLeases: note('worker: check leases') }]),
    results: { onNews: note('results: query'), answered: note('results: answered') },
    upkeepLoop: { runNow: note('upkeep: now'), runSoon: note('upkeep: soon') },
    schedules: { onNews: note('schedules: look') },
    traffic: { others: 0, ends: 0 },
    onRefused: null,
  } as unknown as CommandListenersParts
  return {
    listeners: new CommandListeners(parts),
    told,
    tell: (...kinds) => newsListeners.forEach((listener) => listener(new Set(kinds))),
  }
}

const SUBMIT: Command = { type: 'SubmitJob', job: 'a', spec: plain() }
const CANCEL: Command = { type: 'CancelJob', job: 'a', by: 'ann', reason: 'enough' }
const COMMITTED = { verdict: 'committed', value: null, rejection: null } as const

describe('an engine listens', () => {
  it('to news: each kind reaches the part that it is for', () => {
    const { told, tell } = setUp(true)
    const all: [NewsKind, string][] = [
      ['work', 'worker: wake'],
      ['ends', 'results: query'],
      ['interrupts', 'worker: check leases'],
      ['upkeep', 'upkeep: soon'],
      ['schedules', 'schedules: look'],
    ]
    for (const [kind, who] of all) {
      tell(kind)
      expect(told.splice(0)).toEqual([who])
    }
    tell(...all.map(([kind]) => kind))
    expect(told).toHaveLength(all.length)
  })

  it('to news: none when the engine is closed', () => {
    const { listeners, told, tell } = setUp(true)
    listeners.close()
    tell('work', 'ends')
    expect(told).toEqual([])
  })

  it('to a submit: workers claim when it is decided, or, on a store that is shared, when it says so', () => {
    for (const isShared of [false, true]) {
      const { listeners, told, tell } = setUp(isShared)
      listeners.sent([SUBMIT])
      expect(told.splice(0)).toEqual(isShared ? [] : ['worker: wake'])
      listeners.answered([SUBMIT], [COMMITTED])
      expect(told.splice(0)).not.toContain('worker: wake')
      tell('work')
      expect(told).toEqual(isShared ? ['worker: wake'] : [])
    }
  })

  it('to a cancel: workers check their leases of the job', () => {
    const { listeners, told } = setUp(true)
    listeners.answered([CANCEL], [COMMITTED])
    expect(told).toContain('worker: check leases a')
    expect(told).toContain('upkeep: now')
  })
})
