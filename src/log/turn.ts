/**
 * A turn of the event loop: everybody else who can go on goes on first.
 */
export function turn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}
