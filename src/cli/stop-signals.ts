/**
 * What ends a program that runs until it is told to stop: the first signal asks it to end well, the second ends it.
 */
export interface StopSignals {
  /** Settles at the first signal. */
  readonly asked: Promise<NodeJS.Signals>
  dispose(): void
}

const SIGNALS = ['SIGINT', 'SIGTERM'] as const
const HURRIED = 130

/** Ends it without waiting for anything. */
function endNow(): void {
  process.exit(HURRIED)
}

export function stopSignals(onSecond: () => void = endNow): StopSignals {
  let dispose: () => void = endNow
  const asked = new Promise<NodeJS.Signals>((resolve) => {
    let isAsked = false
    const listener = (signal: NodeJS.Signals): void => {
      if (isAsked) onSecond()
      isAsked = true
      resolve(signal)
    }
    for (const signal of SIGNALS) process.on(signal, listener)
    dispose = () => {
      for (const signal of SIGNALS) process.off(signal, listener)
    }
  })
  return { asked, dispose: () => dispose() }
}
