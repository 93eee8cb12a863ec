/**
 * The kernel's rules, noting which guards refuse something. A guard that refuses nothing in a run
 * can be left out of that run without any change, so tests that leave guards out skip such runs.
 */
import type { Guard, Rules } from '../../src/kernel/index.ts'
import { RULES } from '../../src/kernel/index.ts'

/** All rules; the id of each guard that refuses a command is added to `noted`. */
export function rulesNoting(noted: Set<string>): Rules {
  const table = Object.entries(RULES.table).map(([command, rule]) => {
    const guards = (rule.guards as readonly Guard<never>[]).map((guard) => {
      const check: Guard<never>['check'] = (...asked) => {
        const refusal = guard.check(...asked)
        if (refusal !== null) noted.add(`${command}.${guard.name}`)
        return refusal
      }
      return Object.assign({}, guard, { check })
    })
    return [command, Object.assign({}, rule, { guards })]
  })
  return { ...RULES, table: Object.fromEntries(table) as Rules['table'] }
}

/** The guards of every command are no guards of a rule: whether they refuse is not noted. */
export function isNoted(guard: string): boolean {
  return guard.includes('.')
}
