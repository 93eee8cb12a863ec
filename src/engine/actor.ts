/**
 * Who asks for something, and why: the log keeps both with every command of a client or operator.
 */

import { InvalidDefinition } from '../definition/index.ts'
import { LIMITS } from '../kernel/index.ts'

export interface Actor {
  /** Default `'client'`. */
  readonly by?: string
  readonly reason?: string
}

export function actorOrDefault(
  { by = 'client', reason }: Actor,
  defaultReason: string,
): Required<Actor> {
  return { by, reason: reason ?? defaultReason }
}

/** What is run stands behind the reason, or alone: it is on record whatever the caller says. `what`: such as `again from 'pay'`. */
export function actorOfRun(actor: Actor, what: string): Required<Actor> {
  const { by, reason } = actorOrDefault(actor, `Run ${what}`)
  if (actor.reason === undefined) return { by, reason }
  const said = `${reason} (run ${what})`
  if (said.length <= LIMITS.reasonChars) return { by, reason: said }
  throw new InvalidDefinition(
    `The reason has ${said.length} characters together with what is on record behind it: at most ${LIMITS.reasonChars} are kept.`,
  )
}
