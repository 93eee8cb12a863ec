/**
 * What a claim is, and what it must look like.
 */
import { malformed } from '../kernel/index.ts'
import { BadRequest } from './errors.ts'

/** Tasks are claimed by channel: a queue, a type and, of a pipeline, a stage. */
export interface ChannelName {
  readonly queue: string
  readonly type: string
  readonly stage: string | null
}

/** Jobs that are granted with their submit have request numbers from here on: no claim asks with one. */
export const FIRST_WITH_SUBMIT = 2 ** 40

export interface ClaimRequest {
  readonly worker: string
  /** The worker's own counter: asking again with the same number gets the same leases. */
  readonly request: number
  readonly channels: readonly ChannelName[]
  /** At most this many leases. */
  readonly max: number
  /** The work begins at once, so the grants carry the start. */
  readonly started: boolean
}

/** A claim is a series of grants, so it must have what a grant must have. */
export function assertClaim({ worker, request, started, channels, max }: ClaimRequest): void {
  const grant = { type: 'GrantLease', job: '-', stage: 0, segment: 0, worker, request, started }
  const wrong = malformed(grant)
  if (wrong !== null) throw new BadRequest(`A claim is a grant. ${wrong.message}`)
  if (!Array.isArray(channels)) throw new BadRequest('A claim names a list of channels.')
  if (!Number.isSafeInteger(max) || max < 0) {
    throw new BadRequest(`A claim is for a whole number of leases, not ${String(max)}.`)
  }
}
