/**
 * Sleeps: waits that only time ends.
 */
import type { Duration } from '../../definition/index.ts'
import { InvalidDefinition, timeOf, toMs } from '../../definition/index.ts'
import type { WaitSpec } from '../../kernel/index.ts'
import { LIMITS } from '../../kernel/index.ts'
import type { WaitTerms } from './wait-nodes.ts'

const NOTHING_BUT_TIME = { message: null, schema: null, ask: null, callee: null } as const

export function sleepTerms(name: string, duration: Duration): WaitTerms {
  const written = `sleep('${name}', …)`
  const delayMs = waitMs(duration, `The duration of ${written}`)
  return sleep(written, { name, ...NOTHING_BUT_TIME, delayMs, dueAt: null })
}

export function sleepUntilTerms(name: string, time: Date | number): WaitTerms {
  const written = `sleepUntil('${name}', …)`
  const dueAt = timeOf(time, `The time of ${written}`)
  return sleep(written, { name, ...NOTHING_BUT_TIME, delayMs: null, dueAt })
}

function sleep(written: string, spec: WaitSpec): WaitTerms {
  return {
    name: spec.name,
    written,
    inPlaceMs: spec.delayMs,
    message: null,
    spec: () => spec,
    read: () => undefined,
    misfit: () => null,
  }
}

/** How long something is waited for, within what the authority takes. */
export function waitMs(duration: Duration, what: string): number {
  const ms = toMs(duration, what)
  if (ms <= LIMITS.delayMs) return ms
  throw new InvalidDefinition(`${what} must be at most 10 years, not ${String(duration)}.`)
}
