/**
 * Who asks for something, and why: the log keeps both with every command of a client or operator.
 */

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
