/**
 * Counts the handlers that ran.
 */
export interface RunCount {
  /** To be called by the handler. */
  readonly note: () => null
  /** Resolved when so many more have run. */
  count(wanted: number): Promise<void>
}

export function untilRun(): RunCount {
  let left = Infinity
  let resolve: (() => void) | null = null
  return {
    note: () => {
      left -= 1
      if (left === 0) resolve?.()
      return null
    },
    count: (wanted) => {
      left = wanted
      return new Promise<void>((settle) => (resolve = settle))
    },
  }
}
