/**
 * Moments of the past, as the address has them: a position of the log, or a time; and the one that is now.
 */
import { serverNow } from '../clock.ts'
import type { RouteParameters } from '../route.ts'

export type PastMoment = { readonly time: number } | { readonly position: number }

/** A moment that is still to come is now, whatever the clock of this browser says. */
const COMING_MS = 60_000

export function nowMoment(): { readonly time: number } {
  return { time: Math.round(serverNow()) + COMING_MS }
}

const WHOLE = /^\d+$/

/** Null: the address names none. */
export function momentIn({ time, position }: RouteParameters): PastMoment | null {
  if (position !== undefined && WHOLE.test(position)) return { position: Number(position) }
  if (time !== undefined && WHOLE.test(time)) return { time: Number(time) }
  return null
}

/** The one that it is compared with: `p12` or `t1763479200000`. Null: the address names none. */
export function otherMomentIn({ with: other = '' }: RouteParameters): PastMoment | null {
  const [, kind, digits = ''] = /^([pt])(\d+)$/.exec(other) ?? []
  if (kind === undefined) return null
  return kind === 'p' ? { position: Number(digits) } : { time: Number(digits) }
}

/** Parameters of an address with this moment in place of the one that it had. */
export function withMoment(parameters: RouteParameters, moment: PastMoment): RouteParameters {
  const { time: _, position: __, ...others } = parameters
  return 'time' in moment
    ? { ...others, time: String(Math.round(moment.time)) }
    : { ...others, position: String(moment.position) }
}
