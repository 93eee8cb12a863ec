/**
 * What a claim is, and what it must look like.
 */
import type { JobSpec, Queue, Task } from '../kernel/index.ts'
import { isLost, malformed } from '../kernel/index.ts'
import { BadRequest } from './errors.ts'

/** Tasks are claimed by channel: a queue, a type and, of a pipeline, a stage. */
export interface ChannelName {
  readonly queue: string
  readonly type: string
  readonly stage: string | null
}

export interface ClaimRequest {
  readonly worker: string
  /** The worker's own counter: asking again with the same number gets the same leases. */
  readonly request: number
  readonly channels: readonly ChannelName[]
  /** At most this many leases, for which the worker has places. */
  readonly max: number
  /**
   * At most this many more, which are claimed ahead: they wait in the worker, and their grants do not
   * carry the start. Absent: none.
   */
  readonly ahead?: number
  /** The work begins at once, so the grants carry the start. */
  readonly started: boolean
  /**
   * False: the worker runs a task now that may be what kills its workers (see `isSuspect`), and wants no
   * other such task beside it: the claim passes them over. Absent: true.
   */
  readonly suspects?: boolean
  /**
   * False: the worker runs such a task, and wants none beside it whose next loss would be its last (see
   * `isLastChance`). Absent: true. It says nothing if `suspects` is false.
   */
  readonly lastChances?: boolean
  /** Of the claiming process: kept with each lease, so that presence can judge it. Absent: unknown. */
  readonly session?: string | undefined
  /** No news led to it: nearly always there is nothing, and the store finds out by the least that it can ask. */
  readonly isPoll?: boolean
}

/** How many leases a claim may get in all. */
export function mostLeases({ max, ahead = 0 }: ClaimRequest): number {
  return max + ahead
}

/**
 * Whether a task may be claimed ahead. Not what holds a place in a limit or takes turns, because it
 * would do so while it waits in the worker; not what has a time to start by; not what resumes a commit,
 * which has begun. A store that comes to such a task grants nothing behind it either.
 */
export function mayBeClaimedAhead(task: Task, group: string | null, queue?: Queue): boolean {
  if (task.commit !== null || task.startBy !== null || group !== null) return false
  // A second loss costs a retry: a task must not pay for another one that kills its worker.
  if (isLost(task.leases.at(-1)?.endedBy)) return false
  if (task.policy.limits.length > 0) return false
  return queue === undefined || (queue.concurrency === null && queue.rate === null)
}

/**
 * Requests from here on belong to claims that travel with a submit; a claim of its own never has
 * such a number.
 */
export const FIRST_SUBMIT_CLAIM = 2 ** 40

export type PlainSpec = JobSpec & { readonly policy: NonNullable<JobSpec['policy']> }

/**
 * Whether a claim that travels with its submit may have a job: a plain one that is due at once and
 * takes no turns with others. It may yet be refused, and its form was not looked at.
 */
export function isForSubmitClaim(spec: Partial<JobSpec> | null | undefined): spec is PlainSpec {
  return (
    spec?.stages === null &&
    spec.policy?.limits?.length === 0 &&
    spec.group === null &&
    spec.held === false &&
    spec.delayMs === 0 &&
    spec.dueAt === null
  )
}

/** A claim is a series of grants, so it must have what a grant must have. */
export function assertClaim(claim: ClaimRequest): void {
  const { worker, request, started, session, channels, max, ahead = 0 } = claim
  const address = { job: '-', stage: 0, segment: 0 }
  const grant = { type: 'GrantLease', ...address, worker, request, started, session }
  const wrong = malformed(grant)
  if (wrong !== null) throw new BadRequest(`A claim is a grant. ${wrong.message}`)
  if (!Array.isArray(channels)) throw new BadRequest('A claim names a list of channels.')
  for (const count of [max, ahead]) {
    if (Number.isSafeInteger(count) && count >= 0) continue
    throw new BadRequest(`A claim is for a whole number of leases, not ${String(count)}.`)
  }
}
