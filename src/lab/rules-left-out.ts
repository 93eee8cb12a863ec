/**
 * The rules with something missing, for reproductions.
 */
import type { CommandType, Guard, Rules, RuleTable } from '../kernel/index.ts'
import { RULES, rulesWithout } from '../kernel/index.ts'

/**
 * What stands between a late worker and a second commit. Each one alone prevents the second
 * charge, so all three must be missing before a card is charged twice.
 */
export const COMMIT_FENCE = [
  'CommitExecution.lease-held',
  'CommitExecution.lease-unexpired',
  'CommitExecution.before-commit',
] as const

/** The rules without all of these guards. */
export function rulesLeavingOut(...ids: readonly string[]): Rules {
  for (const id of ids) rulesWithout(id) // Throws when there is no such guard.
  const table = Object.entries(RULES.table).map(([command, rule]) => {
    const all = rule.guards as readonly Guard<never>[]
    const guards = all.filter((guard) => !ids.includes(`${command}.${guard.name}`))
    return [command, { ...rule, guards }]
  })
  return {
    table: Object.fromEntries(table) as RuleTable,
    clock: !ids.includes('clock'),
    transition: !ids.includes('transition'),
  }
}

/** The rules of an authority that does not know a command again when it is repeated. */
export function rulesForgetting(command: CommandType): Rules {
  const forgetful = { ...RULES.table[command], repeat: () => null }
  return { ...RULES, table: { ...RULES.table, [command]: forgetful } }
}
