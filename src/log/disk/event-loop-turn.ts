/**
 * A turn of the event loop: all other work that is ready to go on goes on first.
 */

/** The real one, also where a test replaces it by a fake: a store must not stand still then. */
const immediately = setImmediate

export function eventLoopTurn(): Promise<void> {
  return new Promise((resolve) => {
    immediately(resolve)
  })
}
