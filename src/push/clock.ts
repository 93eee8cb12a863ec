/**
 * The port to the clock of the receiving end.
 */
export function wallMs(): number {
  return Date.now()
}

/** Aborted when the time is there. */
export function abortedAt(ms: number): AbortSignal {
  return AbortSignal.timeout(Math.max(0, Math.ceil(ms - wallMs())))
}
