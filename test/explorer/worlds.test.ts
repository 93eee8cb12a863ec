/**
 * The kernel in small worlds: everything that can happen, in every order.
 */
import { describe, expect, it } from 'vitest'
import { replay } from '../../src/kernel/index.ts'
import { violationText } from './report.ts'
import { findScope, SCOPES } from './scope.ts'
import { explore } from './search.ts'
import { describeParts, retell, storyOf } from './trace.ts'

const COMPLETE = SCOPES.filter((scope) => scope.name !== 'large')

describe('every world that can be explored to the end', () => {
  it.each(COMPLETE.map((scope) => [scope.name, scope.about, scope] as const))(
    '%s (%s): no state is left, and no invariant is broken',
    (_name, _about, scope) => {
      const result = explore(scope)
      expect(violationText(result)).toEqual([])
      expect(result.complete).toBe(true)
    },
  )
})

describe('a larger world', () => {
  it('is explored by breadth, and no invariant is broken on the way', () => {
    const result = explore(findScope('large'), undefined, { states: 1_000_000 })
    expect(violationText(result)).toEqual([])
    expect(result.states).toBeGreaterThanOrEqual(1_000_000)
  })
})

describe('what the explorer says is what a real log does', () => {
  const told = COMPLETE.filter((scope) => scope.name !== 'whole')
  it.each(told.map((scope) => [scope.name, scope] as const))(
    'in %s, stories sent to an authority with a log lead to the same states, and so does replay',
    (_name, scope) => {
      const result = explore(scope, undefined, { states: 20_000 })
      for (let i = 1; i <= 25; i++) {
        const story = storyOf(result, Math.floor(((result.states - 1) * i) / 25))
        const { authority, parts } = retell(result, story)
        expect(result.canonical(parts)).toEqual(result.canonical(story.parts))
        expect(describeParts(result, parts)).toEqual(describeParts(result, story.parts))
        expect(replay(authority.log)).toEqual(authority.world)
      }
    },
  )
})
