/**
 * Aims: a figure beside what it should be, and plainly whether it is.
 */
import { whole } from '../table.ts'

export function atLeast(what: string, value: number, aim: number): string {
  return line(value >= aim, `${what}: ${figure(value)} (aim: at least ${figure(aim)})`)
}

export function atMost(what: string, value: number, aim: number): string {
  return line(value <= aim, `${what}: ${figure(value)} (aim: at most ${figure(aim)})`)
}

function line(isMet: boolean, text: string): string {
  return `${isMet ? 'aim met    ' : 'aim NOT met'}  ${text}`
}

/** Small figures are ratios, and need their decimals. */
export function figure(value: number): string {
  return Math.abs(value) < 100 ? value.toFixed(2) : whole(value)
}
