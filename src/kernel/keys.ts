/**
 * Idempotency keys: which job a submit with a known key is answered with.
 *
 * A key belongs to a job type. It is kept until its job is forgotten or, if it is `unique`,
 * only while its job is not final.
 */
import type { Job, JobSpec } from './model.ts'
import { inputOf } from './model.ts'

/** The holder still has the key. */
export function keepsKey(holder: Job, holderIsFinal: boolean): boolean {
  return !(holder.spec.unique && holderIsFinal)
}

/**
 * A submit that finds the key taken asks for the same thing. The version of the definition is no
 * difference: whoever repeats a submit after a deploy means the job that there is. What counts is the
 * input that the job will run with: one that was replaced is no longer what anybody is promised.
 */
export function asksForSame(spec: JobSpec, holder: Job): boolean {
  return spec.unique || spec.input === inputOf(holder)
}
