/**
 * Ids that are derived, so that whoever carries out a promise twice makes the same job.
 */
import { LIMITS } from './limits.ts'
import type { CallerRef, ParentRef } from './model.ts'
import { effectKey, taskName } from './model.ts'
import { hash32 } from './retry.ts'

/** The id of the child that an effect of a parent's commit stands for. */
export function childId(parent: ParentRef): string {
  return bounded(effectKey(parent.job, parent.stage, parent.segment, parent.effect))
}

/** The id of the job that a wait of its caller stands for. No effect's key has a colon there. */
export function calleeId({ job, stage, segment, name, run }: CallerRef): string {
  return bounded(`${taskName(job, stage, segment)}:${name}:${run}`)
}

/** The id of the job that a schedule's tick stands for. */
export function tickId(schedule: string, tick: number): string {
  return bounded(`${schedule}@${tick}`)
}

/**
 * Children of children would outgrow the limit for names: a long id keeps its readable head
 * and gets 128 bits of hash for the rest.
 */
function bounded(id: string): string {
  if (id.length <= LIMITS.nameChars) return id
  const hash = [1, 2, 3, 4].map((seed) => hash32(id, seed).toString(16).padStart(8, '0')).join('')
  return `${id.slice(0, LIMITS.nameChars - hash.length - 1)}~${hash}`
}
