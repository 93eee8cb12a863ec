/**
 * What a search found, in lines for a terminal.
 */
import type { GuardListing } from '../../../src/kernel/index.ts'
import { listGuards, RULES, rulesWithout } from '../../../src/kernel/index.ts'
import { isNoted, rulesNoting } from '../../support/noting-rules.ts'
import type { Scope } from './scope.ts'
import { SCOPES } from './scope.ts'
import type { Result } from './search.ts'
import { explore } from './search.ts'
import { describeLines, describeViolation, violationStory } from './trace.ts'

export const HEADINGS =
  'scope        states       transitions    depth   asked     states/s     explored to'

export function row(result: Result, seconds: number): string {
  return [
    result.scope.name.padEnd(12),
    count(result.states).padEnd(12),
    count(result.transitions).padEnd(14),
    String(result.depth).padEnd(7),
    count(result.space.distinctSurroundings).padEnd(9),
    count(Math.round(result.states / Math.max(seconds, 0.001))).padEnd(12),
    result.violation !== null
      ? 'A VIOLATION'
      : result.complete
        ? 'the end'
        : `depth ${result.depth - 1}`,
  ].join(' ')
}

function count(number: number): string {
  return number.toLocaleString('en-US')
}

export function violationText(result: Result): string[] {
  const story = violationStory(result)
  if (story === null) return []
  return [
    ...describeLines(story.lines),
    ...story.violations.slice(0, 2).map((one) => `   ✗  ${describeViolation(one)}`),
  ]
}

export function safetyGuards(): readonly GuardListing[] {
  return listGuards().filter((guard) => guard.kind === 'safety')
}

/** Worlds that are too large to look for a missing guard in. */
const LARGE = new Set(['whole', 'large'])

/** By world and number of states, the guards that refuse something on the way. */
const refusers = new Map<string, ReadonlySet<string>>()

/**
 * Leaving out a guard that refuses nothing changes nothing: the search would go the same way, and
 * find what the search with all rules finds.
 */
function refusesIn(id: string, scope: Scope, states: number): boolean {
  if (!isNoted(id)) return true
  const key = `${scope.name} ${states}`
  let found = refusers.get(key)
  if (found === undefined) {
    const noted = new Set<string>()
    explore(scope, rulesNoting(noted), { states })
    refusers.set(key, (found = noted))
  }
  return found.has(id)
}

/**
 * The first violation without a guard: every small world a little way first, then further,
 * because nearly all guards are missed within a few steps of some world.
 */
export function missGuard(id: string, scopes: readonly Scope[] = SCOPES): Result | null {
  const rules = id === '' ? RULES : rulesWithout(id)
  const small = scopes.filter((scope) => !LARGE.has(scope.name) || scopes.length === 1)
  for (const states of [30, 300, 3_000, 10_000, 100_000]) {
    for (const scope of small) {
      if (!refusesIn(id, scope, states)) continue
      const result = explore(scope, rules, { states })
      if (result.violation !== null) return result
    }
  }
  return null
}
