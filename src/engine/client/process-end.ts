/** The port to the end of the process: it ends by itself once no timer and no request is left. */

const calls = new Set<() => void>()

/** Calls back once, before that end; gives what stops listening for it. What is begun then puts it off. */
export function onceNothingIsLeft(call: () => void): () => void {
  if (calls.size === 0) process.on('beforeExit', callAll)
  calls.add(call)
  return () => remove(call)
}

function remove(call: () => void): void {
  if (calls.delete(call) && calls.size === 0) process.off('beforeExit', callAll)
}

function callAll(): void {
  for (const call of calls) {
    remove(call)
    call()
  }
}
