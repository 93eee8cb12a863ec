/**
 * What a handler is told, made from what its worker was handed with the lease.
 */
import type { Claimed } from '../../store/index.ts'
import type { HandlerRequest } from '../handler/handler.ts'
import type { StageRequest } from '../handler/stage-context.ts'

export function requestOf(claimed: Claimed, store: string | null): HandlerRequest {
  const { job: id, type, attempt, lease, queue, priority, version, input, steps } = claimed
  const { schedule: from } = claimed
  const schedule = from === null ? null : { id: from.id, time: new Date(from.tick) }
  const job = { id, type, attempt, lease, queue, priority, schedule }
  const { submittedAt } = claimed
  return { job, store, submittedAt, version, input, steps, stage: stageOf(claimed) }
}

function stageOf(claimed: Claimed): StageRequest | null {
  const { stageName: name, stageVersion, segment, each, prior, ending } = claimed
  if (name === null) return null
  return { name, version: stageVersion ?? 1, segment, each, prior, ending }
}
