/**
 * What a definition says of each job by its input: whose it is, and which limits it is under. A submit asks it
 * once, and the answers go into the log with the job. So they do not change with a deploy, and no worker needs
 * the functions.
 */
import { InvalidDefinition } from './errors.ts'
import { shown } from './known-options.ts'
import type { LimitOptions, Policy } from './policy.ts'

/** As people write it, in a job or a pipeline. */
export interface ByInputOptions<Given> {
  /** A list, or a function that gives one for the input of a job: `({ input }) => [{ key: input.tenant, … }]`. */
  readonly limits?: readonly LimitOptions[] | LimitsOf<Given>
  /** Whose a job is, unless its submit says so. Null: it has no group. */
  readonly group?: GroupOf<Given>
}

type LimitsOf<Given> = (job: { readonly input: Given }) => readonly LimitOptions[]
type GroupOf<Given> = (job: { readonly input: Given }) => string | null

/** Null: there is no such function. */
export interface ByInput {
  readonly limits: LimitsOf<unknown> | null
  readonly group: GroupOf<unknown> | null
}

/** Null: nothing follows from the input. */
export function byInputOf({ limits, group }: ByInputOptions<never>, what: string): ByInput | null {
  if (group !== undefined && typeof group !== 'function') {
    throw new InvalidDefinition(
      `\`group\` of ${what} is a function of its input, such as ({ input }) => input.tenant, not ${shown(group)}.`,
    )
  }
  const limitsOf = typeof limits === 'function' ? (limits as LimitsOf<unknown>) : null
  if (limitsOf === null && group === undefined) return null
  return { limits: limitsOf, group: (group as GroupOf<unknown> | undefined) ?? null }
}

/** The options without what follows from the input. */
export function withoutFunctions<O extends ByInputOptions<never>>(
  options: O,
): Omit<O, 'limits' | 'group'> & Pick<Policy, 'limits'> {
  const { limits, group: _, ...others } = options
  return limits === undefined || typeof limits === 'function' ? others : { ...others, limits }
}

/** What they say of one job. What its submit says of the group comes first. */
export function termsByInput(
  { limits, group }: ByInput,
  input: unknown,
  said: string | undefined,
  what: string,
): { readonly limits: readonly LimitOptions[]; readonly group: string | null } {
  return {
    limits: limits?.({ input }) ?? [],
    group: said ?? checkedGroup(group?.({ input }), what),
  }
}

function checkedGroup(group: unknown, what: string): string | null {
  if (group === undefined || group === null || typeof group === 'string') return group ?? null
  throw new InvalidDefinition(`\`group\` of ${what} gave ${shown(group)}: give a text, or null.`)
}
