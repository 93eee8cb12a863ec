/**
 * Ids and idempotency keys: which job a submit with a known one is answered with.
 *
 * A key belongs to a job type. It is kept until its job is forgotten or, if it is `unique`,
 * only while its job is not final.
 */
import { sameContent, sameText } from './equal.ts'
import type { Job, JobSpec } from './model.ts'
import { inputOf } from './model.ts'

/** The holder still has the key. */
export function keepsKey(holder: Job, holderIsFinal: boolean): boolean {
  return !(holder.spec.unique && holderIsFinal)
}

/**
 * A submit that finds the key taken asks for the same thing. The version of the definition is no
 * difference: a client that repeats a submit after a deploy means the job that there is. What counts is the
 * input that the job will run with: one that was replaced is no longer what the caller is promised. What
 * an erased job was made of cannot be compared any more.
 */
export function asksForSame(spec: JobSpec, holder: Job): boolean {
  return spec.unique || holder.erased !== null || sameText(spec.input, inputOf(holder))
}

/**
 * A submit with a known id has the content of that job, or the job is erased and has none. Whether a client
 * made the properties of the input in another order is no difference, here and for keys.
 */
export function isSubmitOf(spec: JobSpec, known: Job): boolean {
  if (known.erased !== null || sameContent(spec, known.spec)) return true
  const { input } = known.spec
  return sameContent({ ...spec, input }, known.spec) && sameText(spec.input, input)
}
