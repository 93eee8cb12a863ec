/**
 * The input that a plain job has now: its own, or what an operator or its own run put in its place, with the
 * version of the definition that it was made under.
 */
import { versionedInput } from '../definition/index.ts'
import type { Job, Payload } from '../kernel/index.ts'
import { inputOf, inputVersionOf } from '../kernel/index.ts'

export function currentInput(job: Job): { readonly input: Payload; readonly version: number } {
  const version = inputVersionOf(job)
  const { input = null } = job.task ?? {}
  return input === null ? { input: inputOf(job), version } : versionedInput(input, version)
}
