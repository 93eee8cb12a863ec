/**
 * Checks what is true, or left out: false would mean what no call does.
 */
import { InvalidDefinition, shown } from '../definition/index.ts'

/** `of`: the call that it was given to. */
export function assertTrueOrAbsent(value: unknown, name: string, of: string): void {
  if (value === undefined || value === true) return
  throw new InvalidDefinition(`\`${name}\` of ${of} is true, or left out, not ${shown(value)}.`)
}
