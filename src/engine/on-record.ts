/**
 * Who did something, and why: kept in the log with whatever a client or an operator asks for.
 */

/** Who did it, and why: kept in the log. */
export interface OnRecord {
  readonly by?: string
  readonly reason?: string
}

/** Whoever does not say who it is, is a client. `otherwise`: the reason, if none is given. */
export function recorded(
  { by = 'client', reason }: OnRecord,
  otherwise: string,
): Required<OnRecord> {
  return { by, reason: reason ?? otherwise }
}
