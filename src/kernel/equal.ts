/** Whether two JSON-like values, or the texts of two, say the same, whatever the order of their fields. */
import { inexactNumber, withTextsForInexact } from './inexact-number.ts'

export function sameContent(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  if (Array.isArray(a) !== Array.isArray(b)) return false
  const left = a as Record<string, unknown>
  const right = b as Record<string, unknown>
  const keys = Object.keys(left)
  if (keys.length !== Object.keys(right).length) return false
  return keys.every((key) => Object.hasOwn(right, key) && sameContent(left[key], right[key]))
}

/** Whether two JSON texts say the same. One that cannot be read says only what the same text says. */
export function sameText(a: string, b: string): boolean {
  if (a === b) return true
  try {
    if (!sameContent(JSON.parse(a), JSON.parse(b))) return false
    // Two ids that differ beyond 2 ** 53 are read as the same number.
    if (inexactNumber(a) === null && inexactNumber(b) === null) return true
    return sameContent(JSON.parse(withTextsForInexact(a)), JSON.parse(withTextsForInexact(b)))
  } catch {
    return false
  }
}
