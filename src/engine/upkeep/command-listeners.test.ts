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
  reactions: CommandListeners
  told: string[]
  tell: (...kinds: readonly NewsKind[]) => void
} {
  const told: string[] = []
  const listeners = new Set<(news: News) => void>()
  const note =
    (what: string) =>
    (of?: unknown): void =>
      void told.push(typeof of === 'string' ? `${what} ${of}` : what)
  const store: Store = new MemoryStore({ now: () => 0 })
  if (isShared) {
    store.onNews = (listener) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    }
  }
  const parts = {
    store,
    workers: new Set([{ wake: note('worker: wake'), lookAgain: note('worker: look again') }]),
    results: { news: note('results: ask'), answered: note('results: answered') },
    upkeepLoop: { hurry: note('upkeep: now'), hurrySoon: note('upkeep: soon') },
    schedules: { changed: note('schedules: look') },
  } as unknown as CommandListenersParts
  return {
    reactions: new CommandListeners(parts),
    told,
    tell: (...kinds) => listeners.forEach((listener) => listener(new Set(kinds))),
  }
}

const SUBMIT: Command = { type: 'SubmitJob', job: 'a', spec: plain() }
const CANCEL: Command = { type: 'CancelJob', job: 'a', by: 'ann', reason: 'enough' }
const COMMITTED = { verdict: 'committed', value: null, rejection: null } as const

describe('the reactions of an engine', () => {
  it('to news: each kind is for somebody', () => {
    const { told, tell } = setUp(true)
    const all: [NewsKind, string][] = [
      ['work', 'worker: wake'],
      ['ends', 'results: ask'],
      ['interrupts', 'worker: look again'],
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
    const { reactions, told, tell } = setUp(true)
    reactions.close()
    tell('work', 'ends')
    expect(told).toEqual([])
  })

  it('to a submit: workers look when it is decided, or, on a store that is shared, when it says so', () => {
    for (const isShared of [false, true]) {
      const { reactions, told, tell } = setUp(isShared)
      reactions.sent([SUBMIT])
      expect(told.splice(0)).toEqual(isShared ? [] : ['worker: wake'])
      reactions.answered([SUBMIT], [COMMITTED])
      expect(told.splice(0)).not.toContain('worker: wake')
      tell('work')
      expect(told).toEqual(isShared ? ['worker: wake'] : [])
    }
  })

  it('to a cancel: whoever has the job in hand looks again', () => {
    const { reactions, told } = setUp(true)
    reactions.answered([CANCEL], [COMMITTED])
    expect(told).toContain('worker: look again a')
    expect(told).toContain('upkeep: now')
  })
})
