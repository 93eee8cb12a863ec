/**
 * What is said of a task whose handler said nothing: how its last attempt ended, as far as that is
 * known.
 */
import type { Outcome } from '../store/index.ts'

export function withoutError(endedBy: Outcome['endedBy']): string {
  return endedBy === 'LeaseExpired' || endedBy === 'LeaseRevoked'
    ? `The lease of its last attempt was lost (${endedBy}): history() says why.`
    : 'It was stopped.'
}
