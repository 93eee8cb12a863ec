/**
 * Checks a number that counts something.
 */
import { InvalidDefinition } from '../definition/index.ts'

export function assertWhole(value: number, what: string): void {
  if (Number.isSafeInteger(value) && value >= 1) return
  throw new InvalidDefinition(`${what} must be a whole number from 1, not ${value}.`)
}
