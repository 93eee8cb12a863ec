/**
 * A turn of the event loop: everybody else who can go on goes on first.
 */

/** The real one, also where a test puts a fake in its place: a store must not stand still then. */
const immediately = setImmediate

export function eventLoopTurn(): Promise<void> {
  return new Promise((resolve) => {
    immediately(resolve)
  })
}
