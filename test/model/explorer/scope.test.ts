/**
 * What is said of the small worlds holds for them: in those that are not linked, jobs share nothing.
 */
import { describe, expect, it } from 'vitest'
import type { JobSpec } from '../../../src/kernel/index.ts'
import { child, pipeline, plain, policy, stage } from '../../support/specs.ts'
import { initialParts } from './component.ts'
import { moves } from './moves.ts'
import type { Slot } from './scope.ts'
import { scope, SCOPES, slot } from './scope.ts'

const limits = [{ key: 'k', concurrency: 1, rate: null }]
const limited = stage('only', { policy: policy({ limits }) })
const parent = { job: 'a', stage: 0, segment: 0, effect: 0 }
const tick = { schedule: { id: 's', tick: 5 } }

function both(a: JobSpec, b: JobSpec, ofA: Partial<Slot> = {}): readonly Slot[] {
  return [slot('a', a, ofA), slot('b', b)]
}

describe('a world whose jobs are not linked', () => {
  it.each<[what: string, slots: readonly Slot[]]>([
    ["the key 'k' of test", both(plain({ key: 'k' }), plain({ key: 'k' }))],
    ["the limit 'k'", both(plain({}, { limits }), plain({}, { limits }))],
    ["the limit 'k'", both(plain({}, { limits }), pipeline([stage('other'), limited]))],
    ['what a promises', both(plain(), plain({ parent }), { effects: [child(plain())] })],
    ['tick 5 of s', both(plain(tick), plain(tick))],
  ])('is refused if they share %s', (bond, slots) => {
    const message = `In 'wrong' a and b share ${bond}, and are not linked.`
    expect(() => scope('wrong', 'shares', { slots })).toThrow(message)
    expect(scope('right', 'shares', { slots, linked: true }).slots).toBe(slots)
  })

  it('may have them use what no other uses, each as often as it likes', () => {
    const twice = pipeline([limited, { ...limited, name: 'again' }], { key: 'k' })
    const own = [{ key: 'l', concurrency: 1, rate: null }]
    const other = plain({ key: 'k', type: 'other' }, { limits: own })
    const slots = both(twice, other, { specs: [twice, { ...twice, priority: 1 }] })
    expect(scope('right', 'shares nothing', { slots }).linked).toBe(false)
  })
})

describe('no world', () => {
  it('has a queue with bounds, which its jobs would share', () => {
    const types = SCOPES.flatMap((one) =>
      initialParts(one).flatMap((part) => moves(one, part).map(({ type }) => type)),
    )
    expect(types).toContain('PauseQueue')
    expect(types).not.toContain('ConfigureQueue')
  })
})
