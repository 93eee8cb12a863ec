/**
 * Names that people give to jobs, effects, steps and queues.
 */
import { LIMITS } from '../kernel/index.ts'
import { InvalidDefinition } from './errors.ts'

export function assertName(name: unknown, whose: string): void {
  if (typeof name === 'string' && name !== '' && name.length <= LIMITS.nameChars) return
  throw new InvalidDefinition(
    `${whose} needs a name of 1 to ${LIMITS.nameChars} characters, not ${typeof name === 'string' ? `one of ${name.length}` : typeof name}.`,
  )
}
