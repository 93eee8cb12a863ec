/**
 * Telling somebody something, and going on whatever comes of it.
 */

/** Whoever is told things must not stop those who work, either. */
export function guarded(tell: () => void, onError: (error: Error) => void): void {
  try {
    tell()
  } catch (error) {
    onError(error as Error)
  }
}

/** Whoever writes errors down must not stop those who work. */
export function unfailing(onError: (error: Error) => void): (error: Error) => void {
  return (error) => {
    try {
      onError(error)
    } catch (second) {
      console.error('pawl: `onError` failed:', second, 'when it was told of:', error)
    }
  }
}
