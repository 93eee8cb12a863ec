/**
 * What `submitMany` takes: a list of jobs, or anything else that can be iterated over.
 */
import type { AnyJob, SubmitItem } from '../../definition/index.ts'
import type { ItemOptions } from './submitter.ts'

export type ManyItems<J extends AnyJob> =
  | readonly SubmitItem<J, ItemOptions>[]
  | Iterable<SubmitItem<J, ItemOptions>>
  | AsyncIterable<SubmitItem<J, ItemOptions>>

/** `Array.isArray` does not tell a list that may not be changed from other iterables. */
export function isList<J extends AnyJob>(
  jobs: ManyItems<J>,
): jobs is readonly SubmitItem<J, ItemOptions>[] {
  return Array.isArray(jobs)
}
