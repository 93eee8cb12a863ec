/** Functions that the user gives, called so that what they throw does not stop the engine. */

/** `onError` gets what an `onNotice` of the user's throws. */
export function notifier<Told>(
  onNotice: ((notice: Told) => void) | undefined,
  onError: (error: Error) => void,
): (notice: Told) => void {
  return (notice) => {
    try {
      onNotice?.(notice)
    } catch (error) {
      onError(error as Error)
    }
  }
}

/** An `onError` of the user's that throws must not stop the engine. */
export function neverThrowing(onError: (error: Error) => void): (error: Error) => void {
  return (error) => {
    try {
      onError(error)
    } catch (second) {
      console.error('pawl: `onError` failed:', second, 'when it was told of:', error)
    }
  }
}
