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

export function stopSignals(onSecond: () => void = () => process.exit(HURRIED)): StopSignals {
  let isAsked = false
  let tell: (signal: NodeJS.Signals) => void = () => undefined
  const asked = new Promise<NodeJS.Signals>((resolve) => {
    tell = resolve
  })
  const listener = (signal: NodeJS.Signals): void => {
    if (isAsked) onSecond()
    isAsked = true
    tell(signal)
  }
  for (const signal of SIGNALS) process.on(signal, listener)
  return {
    asked,
    dispose() {
      for (const signal of SIGNALS) process.off(signal, listener)
    },
  }
}
