/**
 * Durations as people write them: `'30s'`, `'1.5h'`, or a number of milliseconds.
 */
import { LIMITS } from '../kernel/index.ts'
import { InvalidDefinition } from './errors.ts'

type DurationUnit = 'ms' | 's' | 'm' | 'h' | 'd'
/** Milliseconds, or a number with a unit: `'250ms'`, `'30s'`, `'5m'`, `'2h'`, `'7d'`. */
export type Duration = number | `${number}${DurationUnit}`

const UNIT_MS: Readonly<Record<DurationUnit, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
}

const WRITTEN = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/

/** Whole milliseconds. `what` names the option in the message. */
export function toMs(duration: Duration, what: string): number {
  const ms = typeof duration === 'number' ? duration : readMs(duration)
  if (Number.isFinite(ms) && ms >= 0) return Math.round(ms)
  throw new InvalidDefinition(
    `${what} must be a duration such as '30s', '5m' or a number of milliseconds from 0, not ${shown(duration)}.`,
    { what, given: String(duration) },
  )
}

/** How long something waits before it is tried again: as `toMs`, and within what the authority takes. */
export function retryDelayMs(duration: Duration, what: string): number {
  const ms = toMs(duration, what)
  if (ms <= LIMITS.retryDelayMs) return ms
  throw new InvalidDefinition(`${what} must be at most 30 days, not ${shown(duration)}.`, {
    what,
    given: String(duration),
  })
}

function readMs(text: string): number {
  const [, number, unit] = WRITTEN.exec(text) ?? []
  return number === undefined ? Number.NaN : Number(number) * UNIT_MS[unit as DurationUnit]
}

function shown(value: unknown): string {
  return typeof value === 'string' ? `'${value}'` : String(value)
}
