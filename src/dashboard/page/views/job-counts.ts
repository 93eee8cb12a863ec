/**
 * How many jobs a filter lets through, by state, as the store counts them anyway.
 */
import type { OperationInput } from '../../../protocol/index.ts'
import type { AnswerOf } from '../api.ts'
import { call, CallRefused } from '../api.ts'
import { may } from '../session.ts'
import type { AskedJobs } from './filter-text.ts'

/** By one property at a time. Null: the store keeps no counts by such a filter. */
export async function countsBy(
  filter: AskedJobs,
  ended: AbortSignal,
): Promise<AnswerOf<'counts'> | null> {
  const { state: _, ...others } = filter
  const names = Object.keys(others)
  const isKept = names.every((name) =>
    ['type', 'queue', 'tag', 'error', 'heldEffects'].includes(name),
  )
  if (!isKept || names.length > 1 || !may('counts')) return null
  try {
    return await call('counts', others as OperationInput<'counts'>, ended)
  } catch (error) {
    if (error instanceof CallRefused) return null
    throw error
  }
}
