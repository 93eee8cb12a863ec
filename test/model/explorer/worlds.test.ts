/**
 * The kernel in small worlds: everything that can happen, in every order.
 */
import { afterAll, describe, expect, it } from 'vitest'
import { replay } from '../../../src/kernel/index.ts'
import type { Part } from './component.ts'
import { initialParts } from './component.ts'
import { violationText } from './report.ts'
import { findScope, SCOPES } from './scope.ts'
import type { Result } from './search.ts'
import { explore } from './search.ts'
import type { Change } from './space.ts'
import { candidates, describeParts, retell, storyOf } from './trace.ts'

const COMPLETE = SCOPES.filter((scope) => scope.name !== 'large')

/**
 * Most worlds end before. `npm run explore`, and so `test:long`, go to the ends of all of them.
 */
const MOST_STATES = 15_000

/** Those that must end before: a rule that lets them grow is noticed here. */
const SMALL = new Set([
  'plain',
  'presence',
  'finishing',
  'schedule',
  'rescheduled-segments',
  'rescheduled-waits',
  'replace',
  'streams',
  'snoozes',
  'clock',
])

describe.each(COMPLETE)('a small world: $name', (scope) => {
  let result: Result | null = null
  /** What is behind it is as large as the world. */
  afterAll(() => (result = null))

  it.each([[scope.name, scope.about]])('%s (%s): no invariant is broken', () => {
    result = explore(scope, undefined, { states: MOST_STATES })
    expect(violationText(result)).toEqual([])
    if (SMALL.has(scope.name)) expect(result.complete).toBe(true)
    else expect(result.complete || result.states >= MOST_STATES).toBe(true)
  })

  it.each([[scope.name]])(
    'in %s, stories sent to an authority with a log lead to the same states, and so does replay',
    () => mustBeReal(result ?? explore(scope, undefined, { states: MOST_STATES })),
  )
})

function mustBeReal(result: Result): void {
  for (let i = 1; i <= 25; i++) {
    const story = storyOf(result, Math.floor(((result.states - 1) * i) / 25))
    const { authority, parts } = retell(result, story)
    expect(result.canonical(parts)).toEqual(result.canonical(story.parts))
    expect(describeParts(result, parts)).toEqual(describeParts(result, story.parts))
    expect(replay(authority.log)).toEqual(authority.world)
  }
}

describe('a larger world', () => {
  it('is explored by breadth, and no invariant is broken on the way', () => {
    const result = explore(findScope('large'), undefined, { states: MOST_STATES })
    expect(violationText(result)).toEqual([])
    expect(result.states).toBeGreaterThanOrEqual(MOST_STATES)
  })
})

/** Where a world can go next, by the numbers of alike parts. */
function destinations(result: Result, parts: readonly Part[]): Set<string> {
  const here = result.canonical(parts).join()
  const found = new Set<string>()
  for (const next of candidates(result, parts)) found.add(result.canonical(next.parts).join())
  // A step that leads to an alike state is no step.
  found.delete(here)
  return found
}

function changed(tuple: readonly number[], change: Change): number[] {
  const next = Array.from(tuple)
  for (const { index, id } of change) next[index] = id
  return next
}

/** The same as the search knows it, which asks once for a part and what it sees of the others. */
function knownDestinations(result: Result, tuple: readonly number[]): Set<string> {
  const { space } = result
  const changes = tuple.flatMap((_id, i) => space.successors(tuple, i).changes)
  const ways = changes.map((change) => changed(tuple, change))
  ways.push(tuple.map((id) => space.older(id)))
  const clock = space.part(tuple.at(-1) as number)
  if (clock.kind === 'clock' && clock.back > 0) ways.push(tuple.map((id) => space.younger(id)))
  const found = new Set(ways.map((next) => result.canonical(space.partsOf(next)).join()))
  found.delete(tuple.join())
  return found
}

describe('worlds that are taken to be alike', () => {
  it.each(SCOPES.map((scope) => [scope.name, scope] as const))(
    'in %s go the same ways: a walk through real ones never leaves the explored ones',
    (_name, scope) => {
      const result = explore(scope, undefined, { states: 1 })
      let random = 20_261_115
      for (let walk = 0; walk < 12; walk++) {
        let parts: readonly Part[] = initialParts(scope)
        for (let step = 0; step < 40; step++) {
          const tuple = result.canonical(parts)
          const ways = destinations(result, result.space.partsOf(tuple))
          expect(destinations(result, parts)).toEqual(ways)
          expect(knownDestinations(result, tuple)).toEqual(ways)
          const choices = [...candidates(result, parts)]
          random = (Math.imul(random, 1_664_525) + 1_013_904_223) >>> 0
          parts = choices[random % choices.length]?.parts ?? parts
        }
      }
    },
  )
})
