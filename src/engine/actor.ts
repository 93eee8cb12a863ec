/**
 * Who did something, and why: kept in the log with whatever a client or an operator asks for.
 */

/** Who did it, and why: kept in the log. */
export interface Actor {
  readonly by?: string
  readonly reason?: string
}

/** Whoever does not say who it is, is a client. `otherwise`: the reason, if none is given. */
export function recorded({ by = 'client', reason }: Actor, otherwise: string): Required<Actor> {
  return { by, reason: reason ?? otherwise }
}
